"""Whatever the schedule, a window gets each partition once and takes as many tasks as there are partitions."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preference.conftest import as_multiset

from mead.arrays import FloatArray
from mead.preference.kernels.skyline import skyline
from mead.preference.windows.messages import PaneResult
from mead.preference.windows.panes import Windows
from mead.preference.windows.window_directory import Merge, OrderedCollector, Update, WindowDirectory

Task = Update[FloatArray] | Merge[FloatArray]

SHAPES = [Windows(300, 100), Windows(500, 200), Windows(100, 100), Windows(600, 300)]


def merged(one: FloatArray, other: FloatArray) -> FloatArray:
    both = np.concatenate((one, other))
    return both[skyline(both)]


def executed(task: Task) -> FloatArray:
    if isinstance(task, Merge):
        return merged(task.one, task.other)
    return task.result if task.state is None else merged(task.state, task.result)


@given(
    st.sampled_from(SHAPES),
    st.lists(st.integers(1, 4), min_size=6, max_size=10),
    st.sampled_from([True, False]),
    st.integers(0, 10**6),
    st.integers(1, 4),
)
def test_every_window_is_the_skyline_of_its_panes(
    windows: Windows,
    partitions: list[int],
    merging: object,
    seed: int,
    workers: int,
) -> None:
    rng = np.random.default_rng(seed)
    whole: dict[int, FloatArray] = {}
    arriving: list[PaneResult[FloatArray]] = []
    for pane, count in enumerate(partitions):
        parts = [rng.integers(0, 6, (int(rng.integers(0, 7)), 3)).astype(float) for _ in range(count)]
        whole[pane] = np.concatenate(parts)
        forced = rng.random(count) < 0.4
        forced[rng.integers(count)] = False  # somebody knows the count
        arriving += [
            PaneResult(pane, 0 if closed else count, part[skyline(part)])
            for part, closed in zip(parts, forced, strict=True)
        ]
    arriving = [arriving[i] for i in rng.permutation(len(arriving))]
    directory: WindowDirectory[FloatArray] = WindowDirectory(windows, merging=bool(merging))
    running: list[Task] = []
    tasks: Counter[int] = Counter()
    finished: dict[int, FloatArray] = {}
    while True:
        nothing_left = not arriving and not running
        if arriving and rng.random() < 0.5:
            directory.add(arriving.pop())
        started = directory.find_tasks(workers - len(running))
        assert merging or all(isinstance(task, Update) for task in started)
        if nothing_left and not started:
            break
        running += started
        if running and rng.random() < 0.7:
            task = running.pop(int(rng.integers(len(running))))
            result = executed(task)
            directory.complete(task, result)
            tasks[task.window] += 1
            if isinstance(task, Update) and task.last:
                assert task.window not in finished
                finished[task.window] = result
    complete = [w for w in range(len(partitions)) if windows.panes(w).stop <= len(partitions)]
    assert sorted(finished) == complete
    for window in complete:
        rows = np.concatenate([whole[pane] for pane in windows.panes(window)])
        assert as_multiset(finished[window]) == as_multiset(rows[skyline(rows)])
        assert tasks[window] == sum(partitions[pane] for pane in windows.panes(window))


def test_a_window_is_updated_by_one_worker_at_a_time() -> None:
    directory: WindowDirectory[str] = WindowDirectory(Windows(100, 100), merging=False)
    for name in "abc":
        directory.add(PaneResult(0, 3, name))
    (first,) = directory.find_tasks(5)
    assert directory.find_tasks(5) == []
    directory.complete(first, "c")
    assert directory.find_tasks(5) == [Update(0, "c", "b", last=False)]


def test_idle_workers_merge_what_waits() -> None:
    directory: WindowDirectory[str] = WindowDirectory(Windows(100, 100))
    for name in "abc":
        directory.add(PaneResult(0, 3, name))
    tasks = directory.find_tasks(5)
    assert tasks == [Update(0, None, "c", last=False), Merge(0, "b", "a")]
    assert directory.pending == 0


def test_it_can_be_saved_between_tasks() -> None:
    directory: WindowDirectory[str] = WindowDirectory(Windows(200, 100))
    directory.add(PaneResult(0, 2, "a"))
    directory.add(PaneResult(1, 0, "b"))
    document = json.loads(json.dumps(directory.as_json(str)))
    again: WindowDirectory[str] = WindowDirectory.from_json(document, str)
    assert again.as_json(str) == document
    assert again.find_tasks(9) == directory.find_tasks(9)
    with pytest.raises(ValueError, match="tasks are running"):
        directory.as_json(str)


@given(st.permutations(range(8)))
def test_the_collector_keeps_the_order(order: list[int]) -> None:
    collector: OrderedCollector[int] = OrderedCollector()
    left = [pair for window in order for pair in collector.add(window, window)]
    assert left == [(window, window) for window in range(8)]
