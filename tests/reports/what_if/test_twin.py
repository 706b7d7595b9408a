"""A live run once more in virtual time, against the recursion of a gated server worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.live_results import at_share, live_result

from mead.arrays import FloatArray
from mead.queueing import Edge
from mead.reports.runs import LiveReport
from mead.reports.what_if.twin import FullShare, learned_pipeline, replay_run
from mead.values import Batches, Operator, Pipeline, Requirement

OVERHEAD_S, DEMAND_S = 0.1, 0.01
PATH = "parser>matcher"
ONE = Pipeline(
    "one",
    [Operator("matcher", 1.0, scv=0.0, shares=(0.5, 1.0), batches=Batches(9.0))],
    requirements=[Requirement("matcher", 0.2)],
)
LEARNED = {"demands_s": {"matcher": DEMAND_S}, "overheads_s": {"matcher": OVERHEAD_S}}
BY_HAND_S = [0.0, 0.05, 0.06, 0.15, 2.0]


def saved(folder: Path, times_s: list[float]) -> Path:
    np.save(folder / "arrivals.npy", np.round(1e6 * np.array(times_s)).astype(np.int64))
    return folder / "arrivals.npy"


def gated(arrived_s: FloatArray, overhead_s: float, demand_s: float) -> FloatArray:
    """When tuples are done by a server that takes all that has come, S(n) = a + n d, and then what came meanwhile."""
    done_s, free_s, first = np.empty_like(arrived_s), 0.0, 0
    while first < arrived_s.size:
        start_s = max(free_s, arrived_s[first])
        end = int(np.searchsorted(arrived_s, start_s, side="right"))
        free_s = start_s + overhead_s + (end - first) * demand_s
        done_s[first:end] = free_s
        first = end
    return done_s


def test_a_twin_has_what_the_run_has_learned_and_the_shares_that_it_had(tmp_path: Path) -> None:
    result = live_result(ONE, 3.0, {}, tuples=5, **LEARNED)
    times_s = replay_run(result, saved(tmp_path, BY_HAND_S), [(0.0, ONE.most), (1.0, at_share(ONE, 0.5))])
    # One tuple until 0.11, the next two until 0.23, the fourth until 0.34. At half a core 10 ms of work take 20 ms.
    assert sorted(times_s["matcher"]) == pytest.approx(sorted([0.11, 0.18, 0.17, 0.19, 0.12]))


def test_what_came_before_the_run_is_left_out(tmp_path: Path) -> None:
    warm_up_s = [0.0, 0.01, 0.02]
    file = saved(tmp_path, [*warm_up_s, *(7.0 + time_s for time_s in BY_HAND_S)])
    result = live_result(ONE, 3.0, {}, first=3, tuples=4, **LEARNED)
    assert sorted(replay_run(result, file, [])["matcher"]) == pytest.approx(sorted([0.11, 0.18, 0.17, 0.19]))


@given(st.lists(st.integers(0, 2_000_000), min_size=2, max_size=80, unique=True))
def test_a_twin_of_two_operators_is_two_recursions(tmp_path_factory: pytest.TempPathFactory, us: list[int]) -> None:
    two = Pipeline(
        "two",
        [Operator(name, 1.0, scv=0.0, batches=Batches(1.0)) for name in ("parser", "matcher")],
        [Edge("parser", "matcher")],
    )
    result = live_result(
        two,
        3.0,
        {},
        tuples=len(us),
        demands_s={"parser": 0.004, "matcher": DEMAND_S},
        overheads_s={"parser": 0.05, "matcher": OVERHEAD_S},
    )
    arrived_s = np.sort(us) / 1e6
    file = saved(tmp_path_factory.mktemp("run"), arrived_s.tolist())
    arrived_s = arrived_s - arrived_s[0]
    expected_s = gated(gated(arrived_s, 0.05, 0.004), OVERHEAD_S, DEMAND_S) - arrived_s
    np.testing.assert_allclose(np.sort(replay_run(result, file, [])[PATH]), np.sort(expected_s), atol=1e-5)


def test_what_was_learned_takes_the_place_of_what_was_declared() -> None:
    (operator,) = learned_pipeline(live_result(ONE, 1.0, {}, **LEARNED)).operators
    assert operator.demand_s == DEMAND_S
    assert operator.batches == Batches(OVERHEAD_S)


def test_full_shares_are_replayed_beside_what_was_given(tmp_path: Path) -> None:
    result = live_result(ONE, 3.0, {"matcher": [(0.0, 0.3), (1.0, 0.5)]}, start=at_share(ONE, 0.5), tuples=4, **LEARNED)
    full = FullShare.of(LiveReport.of(result), saved(tmp_path, BY_HAND_S))
    mean_s = (0.11 + 0.18 + 0.17 + 0.19) / 4
    assert full.responses_s == pytest.approx((mean_s,))
    assert (full.cores, full.given) == (1.0, 0.5)
    assert "this run gave 0.50, 50% less" in str(full)
    assert "mean of matcher <= 0.2 s: 0.40 s here, 0.16 s with full shares" in str(full)
    document = full.as_json()
    assert document["cpu_share_mean"] == 1.0
    assert document["responses_s"] == pytest.approx({"mean of matcher <= 0.2 s": mean_s})


def test_a_path_that_nothing_left_is_not_compared(tmp_path: Path) -> None:
    result = live_result(ONE, 3.0, {}, tuples=4, **LEARNED)
    full = FullShare.of(LiveReport.of(result), saved(tmp_path, BY_HAND_S))
    assert str(full).endswith("0% less. ")
