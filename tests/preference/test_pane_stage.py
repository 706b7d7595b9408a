"""Emitter and workers under random schedules: tuples, punctuations, workers that come and go."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.preference.pane_worker import Insert, PaneWorker, sent

from mead.preference.control.threshold import Threshold
from mead.preference.windows.messages import Message, Order, PaneResult
from mead.preference.windows.owner_table import OwnerTable, Splitting
from mead.preference.windows.pane_emitter import PaneEmitter
from mead.preference.windows.panes import Windows

WORKERS = 5
Held = frozenset[int]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("tuple"), st.integers(0, 3)),
        st.tuples(st.just("tuple"), st.integers(0, 3)),
        st.tuples(st.just("progress"), st.integers(1, 25)),
        st.tuples(st.just("add"), st.integers(0, WORKERS - 1)),
        st.tuples(st.just("remove"), st.integers(0, WORKERS - 1)),
        st.tuples(st.just("queues"), st.integers(0, 10**6)),
        st.tuples(st.just("save"), st.just(0)),
    ),
    max_size=120,
)


class Stage:
    """All messages are read at once; what varies are the lengths of the queues that the emitter sees."""

    def __init__(self, splitting: Splitting) -> None:
        self.emitter = PaneEmitter(OwnerTable(WORKERS, splitting), Threshold(None, warm=True).after_closing([2.0]))
        self.emitter.add([0])
        self.workers: list[PaneWorker[int, Held]] = [
            PaneWorker(empty=frozenset, insert=lambda held, row: held | {row}) for _ in range(WORKERS)
        ]
        self.results: dict[int, list[PaneResult[Held]]] = defaultdict(list)
        self.sent: dict[int, set[int]] = defaultdict(set)
        self.queues = np.zeros(WORKERS, dtype=np.int64)
        self.rows = 0

    def deliver(self, orders: Iterable[Order]) -> None:
        for order in orders:
            self.receive(order.worker, order.message)

    def receive(self, worker: int, message: Message | Insert[int]) -> None:
        for result in self.workers[worker].receive(message):
            self.results[result.pane].append(result)

    def step(self, kind: str, value: int) -> None:
        emitter = self.emitter
        if kind == "tuple":
            pane = emitter.next_pane + value
            for worker, message in sent(emitter, pane, self.rows, self.queues):
                self.receive(worker, message)
            self.sent[pane].add(self.rows)
            self.rows += 1
        elif kind == "progress":
            self.deliver(emitter.close_before(emitter.next_pane + value).orders)
        elif kind == "add":
            emitter.add([value])
        elif kind == "remove" and value in emitter.active and len(emitter.active) > 1:
            self.deliver(emitter.remove([value], self.queues).orders)
        elif kind == "queues":
            self.queues[:] = np.random.default_rng(value).integers(0, 9, WORKERS)
        elif kind == "save":
            self.emitter = PaneEmitter.from_json(json.loads(json.dumps(emitter.as_json())))


@given(steps, st.sampled_from(list(Splitting)))
def test_counts_are_right_whatever_happens(schedule: list[tuple[str, int]], splitting: Splitting) -> None:
    stage = Stage(splitting)
    for step in schedule:
        stage.step(*step)
    stage.step("progress", 30)
    for pane in range(stage.emitter.next_pane):
        results = stage.results[pane]
        known = {result.count for result in results if result.count > 0}
        assert known == {len(results)}, "all known counts equal the number of results, and one is known"
        rows = [row for result in results for row in result.result]
        assert sorted(rows) == sorted(stage.sent[pane]), "every tuple is in exactly one partition"


@given(steps)
def test_the_table_and_the_workers_agree(schedule: list[tuple[str, int]]) -> None:
    stage = Stage(Splitting.ADAPTIVE)
    for step in schedule:
        stage.step(*step)
        for pane in stage.emitter.table.open_panes():
            for worker in range(WORKERS):
                held = stage.workers[worker]._results.get(pane)
                assert (held is not None) == (worker in stage.emitter.table.holders(pane))
                assert len(held or ()) == stage.emitter.table.size(pane, worker)


def test_a_pane_goes_on_where_it_is_until_the_threshold() -> None:
    table = OwnerTable(4, Splitting.ADAPTIVE)
    table.activate([0, 1, 2])
    queues = np.array([5, 1, 3, 0])
    assert table.assign(np.full(5, 9), queues, threshold=2.0).tolist() == [1, 1, 1, 2, 2]
    assert table.count(9) == 2


def test_above_the_threshold_everywhere_the_shortest_queue_gets_it() -> None:
    table = OwnerTable(2, Splitting.ADAPTIVE)
    table.activate([0, 1])
    queues = np.zeros(2, dtype=np.int64)
    workers = table.assign(np.zeros(100, dtype=np.int64), queues, threshold=3.0)
    assert np.bincount(workers).tolist() == [50, 50]
    assert table.count(0) == 2


def test_equal_queues_take_turns() -> None:
    table = OwnerTable(4, Splitting.ADAPTIVE)
    table.activate([0, 1, 3])
    assert [table.least_loaded(np.zeros(4, dtype=np.int64)) for _ in range(4)] == [0, 1, 3, 0]


def test_baselines_never_split_or_always() -> None:
    panes = np.repeat(np.arange(6), 30)
    for splitting, count in ((Splitting.NEVER, 1), (Splitting.EVEN, 3)):
        table = OwnerTable(3, splitting)
        table.activate([0, 1, 2])
        workers = table.assign(panes, np.zeros(3, dtype=np.int64), threshold=1.0)
        assert np.bincount(workers).tolist() == [60, 60, 60]
        assert {table.count(pane) for pane in range(6)} == {count}


def test_many_open_panes_need_no_room_in_advance() -> None:
    table = OwnerTable(2, Splitting.ADAPTIVE)
    table.activate([0, 1])
    table.assign(np.array([3, 1000, 40]), np.zeros(2, dtype=np.int64), threshold=9.0)
    assert [pane for pane in table.open_panes()] == [3, 40, 1000]  # noqa: C416


def test_the_last_worker_stays() -> None:
    emitter = PaneEmitter(OwnerTable(2, Splitting.ADAPTIVE), Threshold())
    emitter.add([1])
    with pytest.raises(ValueError, match="last worker"):
        emitter.remove([1], np.zeros(2, dtype=np.int64))
    assert emitter.active == [1]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 300))
def test_windows_and_panes_name_each_other(length: int, slide: int, pane: int) -> None:
    windows = Windows(100 * max(length, slide), 100 * min(length, slide))
    containing = [window for window in range(pane + 1) if pane in windows.panes(window)]
    assert list(windows.of_pane(pane)) == containing


def test_windows_that_slide_beyond_themselves_are_refused() -> None:
    with pytest.raises(ValueError, match="at most the window"):
        Windows(length_ms=100, slide_ms=200)
