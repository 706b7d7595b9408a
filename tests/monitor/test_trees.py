"""Inputs that are followed to their end, against runs in which every row is known."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.monitor import TreeMonitor
from mead.monitor import trees as trees_module
from mead.queueing import Edge
from mead.values import Operator, Pipeline, Requirement

NAMES = ("parse", "match", "count", "tell")
GRAPH = Pipeline(
    "graph",
    [Operator(name, 0.001) for name in NAMES],
    [Edge("parse", "match"), Edge("parse", "count"), Edge("match", "match", 0.3), Edge("match", "tell", 0.5)],
)
"""A fork, a loop and a filter."""


@dataclass
class Batch:
    """What one micro-batch reports."""

    operator: str
    done_us: int
    read_us: list[int]
    written_us: dict[str, list[int]] = field(default_factory=dict)

    def tell(self, monitor: TreeMonitor) -> None:
        written_us = {name: np.array(stamps, dtype=np.int64) for name, stamps in self.written_us.items()}
        monitor.add(self.operator, self.done_us, np.array(self.read_us, dtype=np.int64), written_us)


def played(stamps_us: list[int], seed: int) -> tuple[list[Batch], dict[int, int]]:
    """All micro-batches of a run, and by stamp, when the last row that came of it was done."""
    rng, now_us = np.random.default_rng(seed), 1_000
    waiting: dict[str, deque[int]] = {name: deque() for name in NAMES}
    waiting["parse"].extend(stamps_us)
    batches: list[Batch] = []
    last_us: dict[int, int] = {}
    while any(waiting.values()):
        name = str(rng.choice([name for name, rows in waiting.items() if rows]))
        rows = [waiting[name].popleft() for _ in range(rng.integers(1, len(waiting[name]) + 1))]
        now_us += int(rng.integers(1, 1_000))
        batch = Batch(name, now_us, rows)
        last_us |= dict.fromkeys(rows, now_us)
        if name == "parse":
            batch.written_us[""] = [stamp for stamp in rows for _ in range(rng.integers(0, 3))]
            for reader in ("match", "count"):
                waiting[reader].extend(batch.written_us[""])
        elif name == "match":
            for reader, chance in (("match", 0.3), ("tell", 0.5)):
                batch.written_us[reader] = [stamp for stamp in rows if rng.random() < chance]
                waiting[reader].extend(batch.written_us[reader])
        batches.append(batch)
    return batches, last_us


def reported(batches: list[Batch], rng: np.random.Generator) -> list[Batch]:
    """In any order that keeps the order of each operator's own reports."""
    queues = {name: deque(batch for batch in batches if batch.operator == name) for name in NAMES}
    return [queues[batches[place].operator].popleft() for place in rng.permutation(len(batches))]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 500), min_size=1, max_size=30, unique=True), st.integers(0, 10**6))
def test_every_input_is_done_with_its_last_row_in_whatever_order_operators_report(
    stamps_us: list[int], seed: int
) -> None:
    batches, last_us = played(stamps_us, seed)
    monitor = TreeMonitor(GRAPH)
    for batch in reported(batches, np.random.default_rng(seed)):
        batch.tell(monitor)
    found = monitor.reading()
    assert found.completed == len(stamps_us), "also those that were filtered"
    assert found.response_sum_s == pytest.approx(sum(last_us[stamp] - stamp for stamp in stamps_us) / 1e6)
    assert monitor.reading().completed == 0


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 500), min_size=1, max_size=30, unique=True), st.integers(0, 10**6))
def test_no_input_is_done_before_all_reports_of_its_rows(stamps_us: list[int], seed: int) -> None:
    batches, _ = played(stamps_us, seed)
    monitor, rng = TreeMonitor(GRAPH), np.random.default_rng(seed)
    told = reported(batches, rng)
    known = told[: rng.integers(len(told))]
    for batch in known:
        batch.tell(monitor)
    missing = {stamp for batch in batches if batch not in known for stamp in batch.read_us}
    assert monitor.reading().completed == len(set(stamps_us) - missing)


def test_operators_on_no_judged_path_are_not_waited_for() -> None:
    judged = Pipeline(GRAPH.name, GRAPH.operators, GRAPH.edges, [Requirement("parse>match>tell", 1.0)])
    monitor = TreeMonitor(judged)
    Batch("parse", 2_000, [7], {"": [7]}).tell(monitor)
    Batch("match", 3_000, [7], {"tell": []}).tell(monitor)
    assert monitor.reading().response_sum_s == pytest.approx((3_000 - 7) / 1e6)
    Batch("count", 9_000, [7]).tell(monitor)
    assert monitor.reading().completed == 0


def test_inputs_whose_reports_are_lost_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees_module, "MOST_INPUTS", 10)
    monitor = TreeMonitor(GRAPH)
    for stamp in range(100):
        Batch("parse", 2_000, [stamp], {"": [stamp]}).tell(monitor)
    for stamp in range(100):
        Batch("match", 3_000, [stamp]).tell(monitor)
        Batch("count", 3_000, [stamp]).tell(monitor)
    assert monitor.reading().completed <= 10
