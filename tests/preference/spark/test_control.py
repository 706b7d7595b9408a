"""Utilizations of micro-batches, and what the two levels make of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.preference.control.degrees import DegreeController, Degrees
from mead.preference.control.fuzzy import CODE, PAPER
from mead.preference.control.threshold import Threshold, splitting_pid
from mead.preference.spark.control import Measurement, Sample, StageWork, Timing, TwoLevelControl
from mead.preference.spark.query_spec import ExecutionOptions
from mead.preference.windows.owner_table import Splitting

SAMPLE_S = 0.5


def measured(
    busy_s: list[float], counts: tuple[int, ...] = (), ended_s: float = 1.0, arrived_s: float = SAMPLE_S
) -> Measurement:
    """Of a micro-batch that did nothing but its work, which took no time but that of the cores."""
    work, timing = StageWork(np.full(len(busy_s), 100.0), np.array(busy_s)), Timing(ended_s, arrived_s, 0.0)
    return Measurement(timing, work, StageWork(np.ones(1), np.array([0.9 * arrived_s])), counts)


@given(st.lists(st.floats(0.001, 10.0), min_size=1, max_size=8), st.floats(0.1, 5.0))
def test_with_equal_tuples_the_utilization_is_bounded_as_in_proposition_1(
    busy_s: list[float], interval_s: float
) -> None:
    """With the same number of tuples everywhere, every worker counts by its own time of work."""
    work = StageWork(np.full(len(busy_s), 10.0), np.array(busy_s))
    load = work.load(interval_s, len(busy_s))
    rho = load.pane_utilization
    assert rho >= float(np.sum(load.received)) / float(np.sum(load.capacity)) - 1e-9


@given(st.floats(0.01, 20.0), st.integers(1, 8))
def test_even_work_has_the_utilization_of_one_worker(ratio: float, workers: int) -> None:
    work = StageWork(np.full(workers, 50.0), np.full(workers, 2.0 * ratio))
    assert work.load(2.0, workers).pane_utilization == pytest.approx(ratio)


def test_a_stage_without_work_is_idle() -> None:
    load = StageWork.none(3).load(1.0, slots=2)
    assert (load.pane_utilization, load.window_utilization(0), load.idle_ratio) == (0.0, 0.0, 1.0)


def test_the_pane_stage_has_the_time_that_all_else_leaves() -> None:
    """A tenth of a second for the windows, and as much for the rest; at 1 the micro-batch just keeps up."""
    timing = Timing(ended_s=9.0, arrived_s=1.0, took_s=1.0)
    panes, windows = StageWork(np.array([9.0]), np.array([0.8])), StageWork(np.array([1.0]), np.array([0.1]))
    seen = Measurement(timing, panes, windows, ())
    assert seen.pane_utilization(slots=1) == pytest.approx(1.0)
    late = replace(seen, timing=replace(timing, took_s=3.0))
    assert late.pane_utilization(slots=1) == pytest.approx(8.0), "there is no time left; a tenth is taken for some"


def test_more_tasks_than_cores_have_a_part_of_one_each() -> None:
    two, four = (measured([0.25] * tasks) for tasks in (2, 4))
    assert [seen.pane_utilization(slots=2) for seen in (two, four)] == pytest.approx([0.5, 1.0])
    assert measured([0.5, 0.0, 0.0, 0.0]).pane_utilization(slots=2) < 1, "who has nothing to do takes no core"


def test_a_sample_of_the_pid_is_as_long_as_a_pane() -> None:
    """The second half of a pane costs more than the first: neither is a sample by itself."""
    levels = TwoLevelControl(ExecutionOptions(most=10, control_s=9.0), sample_s=1.0)
    threshold, degrees = Threshold(splitting_pid(0.9), warm=True).after_closing([100.0]), Degrees(1, 1)
    threshold, _ = levels.after(measured([0.2]), threshold, degrees)
    assert threshold.alpha == 1.0
    threshold, _ = levels.after(measured([0.7]), threshold, degrees)
    assert threshold.state.last == pytest.approx(0.9)
    assert threshold.alpha == pytest.approx(1.0)


def test_workers_that_take_turns_need_the_time_of_both() -> None:
    """Whole panes to one worker after the other: at the end of a micro-batch everybody waits for the one that works."""
    sample, timing = Sample(), Timing(1.0, SAMPLE_S, 0.0)
    for busy_s in ([0.6, 0.0], [0.0, 0.6]):
        work = StageWork(np.array(busy_s), np.array(busy_s))
        sample.add(Measurement(timing, work, StageWork.none(1), ()), slots=2)
    assert sample.utilization == pytest.approx(1.2)


def test_who_is_behind_decides_by_the_clock_and_not_by_the_stream() -> None:
    levels = TwoLevelControl(ExecutionOptions(most=10, control_s=2.5), SAMPLE_S)
    now, threshold = Degrees(1, 1), Threshold(None)
    assert levels.after(measured([2.0], ended_s=2.0), threshold, now)[1] == now
    assert levels.after(measured([2.0], ended_s=4.0), threshold, now)[1].panes == 2, "after one second of the stream"


def test_the_threshold_is_sampled_by_every_micro_batch_and_degrees_by_some() -> None:
    levels = TwoLevelControl(ExecutionOptions(most=10, control_s=1.0), SAMPLE_S)
    threshold, degrees = Threshold(splitting_pid(0.9), warm=True).after_closing([100.0]), Degrees(2, 2)
    first, same = levels.after(measured([1.0, 1.0]), threshold, degrees)
    assert first.alpha == pytest.approx(1.3)
    assert same == degrees
    assert not levels.intervals
    _, changed = levels.after(measured([1.0, 1.0], ended_s=1.5), first, degrees)
    (seen,) = levels.intervals
    assert [seen.pane_utilization, seen.window_utilization] == pytest.approx([2.0, 0.9])
    controller = DegreeController(10)
    assert changed == controller.grant(degrees, controller.propose(degrees, 2.0, float("nan"), 0.9))
    assert changed.panes > degrees.panes


def test_without_elasticity_degrees_stay() -> None:
    levels = TwoLevelControl(ExecutionOptions(elastic=False, control_s=0.5), SAMPLE_S)
    assert levels.after(measured([3.0]), Threshold(None), Degrees(1, 1))[1] == Degrees(1, 1)
    assert len(levels.intervals) == 1


def test_without_splitting_the_controller_sees_none() -> None:
    adaptive, never = (
        TwoLevelControl(ExecutionOptions(splitting, most=12, control_s=0.5), SAMPLE_S)
        for splitting in Splitting
        if splitting.value < 2
    )
    seen, now = measured([0.45, 0.45, 0.45, 0.45], counts=(4, 4)), Degrees(4, 4)
    assert adaptive.after(seen, Threshold(None), now)[1].panes == 5, "acceptable and intensively split: a little more"
    assert never.after(seen, Threshold(None), now)[1].panes == 4


def test_the_controller_has_the_profile_that_was_asked_for() -> None:
    """Two partitions of a pane are some splitting to the paper, and none to the code."""
    seen, now = measured([0.45] * 20, counts=(2,)), Degrees(20, 2)
    changed = [
        TwoLevelControl(ExecutionOptions(most=40, control_s=0.5, profile=profile), SAMPLE_S).after(
            seen, Threshold(None), now
        )[1]
        for profile in (CODE, PAPER)
    ]
    assert changed == [Degrees(20, 2), Degrees(21, 2)]


def test_work_of_micro_batches_with_other_degrees_adds_up() -> None:
    total = StageWork(np.array([1.0]), np.array([0.5])).plus(StageWork(np.array([2.0, 3.0]), np.array([0.1, 0.2])))
    assert (total.received.tolist(), total.busy_s.tolist()) == ([3.0, 3.0], [0.6, 0.2])
