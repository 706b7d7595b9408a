from __future__ import annotations

import pytest

from mead.policies.two_level import merge_observations
from mead.simulator import Simulation
from mead.testing.readings import bursty, log_analysis
from mead.workload import Trace


def test_looks_at_every_second_add_up_to_one_look_at_the_whole() -> None:
    pipeline, trace = log_analysis(bound_s=0.2, percent=95.0), Trace.from_iats_s(bursty())
    often, once = (Simulation(pipeline, trace, seed=1) for _ in range(2))
    looks = []
    for second in range(1, 21):
        often.advance(float(second))
        looks.append(often.observe(float(second)))
    once.advance(20.0)
    whole, sum_of_looks = once.observe(20.0), merge_observations(looks)
    assert sum_of_looks.time_s == whole.time_s
    assert sum_of_looks.interval_s == pytest.approx(whole.interval_s)
    assert sum_of_looks.allocation == whole.allocation
    for name, reading in whole.operators.items():
        added = sum_of_looks.operators[name]
        assert (added.arrived, added.completed, added.backlog) == (reading.arrived, reading.completed, reading.backlog)
        assert added.busy_s == pytest.approx(reading.busy_s)
        assert added.services.count == reading.services.count
        assert added.iats.sum_s == pytest.approx(reading.iats.sum_s)
    for path, reading_of_path in whole.paths.items():
        added_of_path = sum_of_looks.paths[path]
        assert added_of_path.completed == reading_of_path.completed
        assert (added_of_path.late, added_of_path.beyond) == (reading_of_path.late, reading_of_path.beyond)
        assert added_of_path.response_sum_s == pytest.approx(reading_of_path.response_sum_s)
