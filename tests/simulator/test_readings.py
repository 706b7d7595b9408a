from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import Edge
from mead.simulator import Simulation
from mead.values import Allocation, Operator, Pipeline, Requirement, Resources
from mead.workload import Trace

FORK = Pipeline(
    "fork",
    [Operator("a", 0.1, scv=0.0), Operator("b", 0.5, scv=0.0), Operator("c", 1.0, scv=0.0)],
    [Edge("a", "b"), Edge("a", "c")],
    [Requirement("a>c", bound_s=1.5)],
)


def test_an_observation_tells_what_happened_since_the_one_before() -> None:
    simulation = Simulation(FORK, Trace.from_timestamps_s([0.0, 0.2, 5.0, 5.1]), seed=1)
    first = simulation.observe(1.0)
    assert (first.time_s, first.interval_s) == (1.0, 1.0)
    assert first.allocation == FORK.most
    arrived, completed, backlog = zip(
        *((r.arrived, r.completed, r.backlog) for r in first.operators.values()), strict=True
    )
    assert (arrived, completed, backlog) == ((2, 2, 2), (2, 1, 0), (0, 1, 2))
    assert [r.busy_s for r in first.operators.values()] == pytest.approx([0.2, 0.9, 0.9])
    assert first.paths["a>b"].mean_s == pytest.approx(0.6)
    assert first.paths["a>c"].completed == 0
    assert first.paths["a>c"].mean_s is None
    second = simulation.observe(4.0)
    assert second.interval_s == 3.0
    assert [r.arrived for r in second.operators.values()] == [0, 0, 0]
    assert [r.busy_s for r in second.operators.values()] == pytest.approx([0.0, 0.1, 1.1])
    assert second.paths["a>c"].completed == 2
    assert second.paths["a>c"].response_sum_s == pytest.approx(1.1 + 1.9)
    assert second.paths["a>c"].late == 1
    assert second.paths["a>b"].late == 0  # nothing is required there
    assert not second.missing


def test_cpu_time_follows_the_share_and_the_replicas() -> None:
    pipeline = Pipeline("one", [Operator("a", 10.0, scv=0.0)])
    simulation = Simulation(
        pipeline, Trace.from_timestamps_s([0.0, 0.0, 0.0]), seed=1, allocation=Allocation.of(a=Resources(0.5, 2))
    )
    assert simulation.observe(4.0).operators["a"].busy_s == pytest.approx(4.0)
    simulation.apply(Allocation.of(a=Resources(1.0, 3)))
    assert simulation.observe(6.0).operators["a"].busy_s == pytest.approx(6.0)


def test_iats_are_the_last_ones_and_no_more_than_are_kept() -> None:
    trace = Trace.from_timestamps_s([0.0, 1.0, 3.0, 6.0, 10.0])
    simulation = Simulation(FORK, trace, seed=1, kept_iats=2)
    assert simulation.observe().iats_s.tolist() == []
    assert simulation.observe(0.5).iats_s.tolist() == []
    assert simulation.observe(1.0).iats_s.tolist() == [1.0]
    assert simulation.observe(9.0).iats_s.tolist() == [2.0, 3.0]
    assert simulation.observe(90.0).iats_s.tolist() == [3.0, 4.0]


def test_counts_are_of_whole_bins_since_the_start() -> None:
    simulation = Simulation(FORK, Trace.from_timestamps_s([0.0, 0.05, 0.1, 0.29, 0.3]), seed=1)
    assert simulation.observe(0.05).counts.tolist() == []
    assert simulation.observe(0.3).counts.tolist() == [2, 1, 1]
    assert simulation.observe(0.35).counts.tolist() == [2, 1, 1]
    assert simulation.observe(0.6).counts.tolist() == [2, 1, 1, 1, 0, 0]


@given(
    st.lists(st.integers(0, 40_000_000), min_size=2, max_size=60),
    st.lists(st.integers(0, 20_000), min_size=1, max_size=8),
)
def test_counts_are_those_of_the_last_ten_minutes_however_often_one_looks(stamps: list[int], looks: list[int]) -> None:
    trace = Trace.from_timestamps_us(np.array(stamps) * 50, sort=True)  # up to 2,000 s
    simulation = Simulation(FORK, trace, seed=1)
    per_bin = np.bincount((trace.timestamps_us - trace.timestamps_us[0]) // 100_000, minlength=20_000)
    for look in sorted(looks):
        assert simulation.observe(look / 10).counts.tolist() == per_bin[max(0, look - 6_000) : look].tolist()


@pytest.mark.parametrize(
    ("requirements", "late"),
    [
        ([], 0),
        ([Requirement("a>b", 0.6)], 3),
        ([Requirement("a>b", 2.1)], 1),
        ([Requirement("a>b", 0.6), Requirement("a>b", 2.1, percent=95)], 1),
        ([Requirement("a>b", 1.1, percent=50), Requirement("a>b", 2.1, percent=95)], 2),
    ],
)
def test_a_tuple_is_late_by_the_percentile_or_else_by_the_mean(requirements: list[Requirement], late: int) -> None:
    operators = [Operator("a", 1e-9, scv=0.0), Operator("b", 1.0, scv=0.0)]
    pipeline = Pipeline("line", operators, [Edge("a", "b")], requirements)
    simulation = Simulation(pipeline, Trace.from_timestamps_s([0.0, 0.0, 0.0, 9.0]), seed=1)
    simulation.advance(5.0)
    assert sorted(simulation.responses("a>b").response_s.round(3)) == [1.0, 2.0, 3.0]

    assert simulation.observe().paths["a>b"].late == late


def test_what_was_observed_stays_as_it_was() -> None:
    simulation = Simulation(FORK, Trace.from_timestamps_s(np.arange(100) * 0.5), seed=1)
    before = simulation.observe(10.0)
    iats, counts = before.iats_s.tolist(), before.counts.tolist()
    simulation.observe(40.0)
    assert (before.iats_s.tolist(), before.counts.tolist()) == (iats, counts)
    with pytest.raises(ValueError, match="read-only"):
        before.counts[0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        before.iats_s[0] = 9.0
