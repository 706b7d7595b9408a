"""Utilizations of micro-batches, and what the two levels make of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.preference.degrees import Controller, Degrees
from mead.preference.fuzzy import CODE, PAPER
from mead.preference.live.control import Measured, StageWork, TwoLevels
from mead.preference.live.query_spec import Working
from mead.preference.owner_table import Splitting
from mead.preference.threshold import Threshold, splitting_pid


def measured(busy_s: list[float], counts: tuple[int, ...] = (), interval_s: float = 0.5) -> Measured:
    work = StageWork(np.full(len(busy_s), 100.0), np.array(busy_s))
    return Measured(1.0, interval_s, work, StageWork(np.ones(1), np.array([0.9 * interval_s])), counts)


@given(st.lists(st.floats(0.001, 10.0), min_size=1, max_size=8), st.floats(0.1, 5.0))
def test_with_equal_tuples_the_utilization_is_bounded_as_in_proposition_1(
    busy_s: list[float], interval_s: float
) -> None:
    """With the same number of tuples everywhere, every worker counts by its own time of work."""
    work = StageWork(np.full(len(busy_s), 10.0), np.array(busy_s))
    load = work.load(interval_s)
    rho = load.pane_utilization
    assert rho >= float(np.sum(load.received)) / float(np.sum(load.capacity)) - 1e-9


@given(st.floats(0.01, 20.0), st.integers(1, 8))
def test_even_work_has_the_utilization_of_one_worker(ratio: float, workers: int) -> None:
    work = StageWork(np.full(workers, 50.0), np.full(workers, 2.0 * ratio))
    assert work.load(2.0).pane_utilization == pytest.approx(ratio)


def test_a_stage_without_work_is_idle() -> None:
    load = StageWork.none(3).load(1.0)
    assert (load.pane_utilization, load.window_utilization(0), load.idle_ratio) == (0.0, 0.0, 1.0)


def test_the_threshold_is_sampled_by_every_micro_batch_and_degrees_by_some() -> None:
    levels = TwoLevels(Working(most=10, control_s=1.0))
    threshold, degrees = Threshold(splitting_pid(0.9), warm=True).closed([100.0]), Degrees(2, 2)
    first, same = levels.after(measured([1.0, 1.0]), threshold, degrees)
    assert first.alpha == pytest.approx(1.3)
    assert same == degrees
    assert not levels.intervals
    _, changed = levels.after(measured([1.0, 1.0]), first, degrees)
    (seen,) = levels.intervals
    assert [seen.pane_utilization, seen.window_utilization] == pytest.approx([2.0, 0.9])
    controller = Controller(10)
    assert changed == controller.granted(degrees, controller.wanted(degrees, 2.0, float("nan"), 0.9))
    assert changed.panes > degrees.panes


def test_without_elasticity_degrees_stay() -> None:
    levels = TwoLevels(Working(elastic=False, control_s=0.5))
    assert levels.after(measured([3.0]), Threshold(None), Degrees(1, 1))[1] == Degrees(1, 1)
    assert len(levels.intervals) == 1


def test_without_splitting_the_controller_sees_none() -> None:
    adaptive, never = (
        TwoLevels(Working(splitting, most=12, control_s=0.5)) for splitting in Splitting if splitting.value < 2
    )
    seen, now = measured([0.45, 0.45, 0.45, 0.45], counts=(4, 4)), Degrees(4, 4)
    assert adaptive.after(seen, Threshold(None), now)[1].panes == 5, "acceptable and intensively split: a little more"
    assert never.after(seen, Threshold(None), now)[1].panes == 4


def test_the_controller_has_the_profile_that_was_asked_for() -> None:
    """Two partitions of a pane are some splitting to the paper, and none to the code."""
    seen, now = measured([0.45] * 20, counts=(2,)), Degrees(20, 2)
    changed = [
        TwoLevels(Working(most=40, control_s=0.5, profile=profile)).after(seen, Threshold(None), now)[1]
        for profile in (CODE, PAPER)
    ]
    assert changed == [Degrees(20, 2), Degrees(21, 2)]


def test_work_of_micro_batches_with_other_degrees_adds_up() -> None:
    total = StageWork(np.array([1.0]), np.array([0.5])).plus(StageWork(np.array([2.0, 3.0]), np.array([0.1, 0.2])))
    assert (total.received.tolist(), total.busy_s.tolist()) == ([3.0, 3.0], [0.6, 0.2])
