from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import MAP
from mead.workload.generators.segments import Segment, joined, map_segments, poisson_segment

HALF = Segment(np.array([0.0, 0.25]), 0.5)


def test_segments_follow_each_other_in_time() -> None:
    whole = joined([HALF, HALF, HALF])
    assert whole.times_s.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert whole.duration_s == 1.5


def test_a_duration_is_open_at_its_end() -> None:
    assert joined([HALF, HALF], duration_s=0.75).times_s.tolist() == [0.0, 0.25, 0.5]


def test_a_count_stops_an_endless_stream() -> None:
    def endless() -> object:
        while True:
            yield HALF

    assert joined(endless(), count=5).times_s.size == 5  # type: ignore[arg-type]


@given(st.floats(0, 50), st.floats(0.01, 100), st.integers(0, 5))
def test_a_poisson_segment_is_in_order_and_within_its_duration(rate: float, duration: float, seed: int) -> None:
    times, length = poisson_segment(rate, duration, np.random.default_rng(seed))
    assert length == duration
    assert (np.diff(times) >= 0).all()
    assert ((times >= 0) & (times <= duration)).all()


def test_poisson_arrivals_are_uniform_in_time() -> None:
    times = poisson_segment(1_000.0, 100.0, np.random.default_rng(1)).times_s
    per_tenth = np.histogram(times, 10, (0, 100))[0]
    assert (np.abs(per_tenth - 10_000) < 4 * np.sqrt(10_000)).all()


def test_a_map_without_an_arrival_in_a_whole_block_still_gets_on() -> None:
    # A million hidden transitions for each arrival: most blocks of transitions are empty.
    rare = MAP([[-1e6, 1e6 - 1], [1e6, -1e6]], [[1.0, 0.0], [0.0, 0.0]])
    times = joined(map_segments(rare, rare.time_stationary, np.random.default_rng(1)), duration_s=4.0).times_s
    assert 1 <= times.size < 20
    assert rare.rate_per_s == pytest.approx(0.5, rel=1e-6)
