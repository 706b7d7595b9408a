"""What is made of what somebody else's query says; no Spark needed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mead.spark.attach import engine as attached_engine
from mead.spark.attach.engine import AttachedEngine
from mead.spark.telemetry.probe import OBSERVATION, RANKS
from mead.spark.telemetry.reports import BatchReport
from mead.values import Batches, Operator, Pipeline

SLOW = Pipeline("slow", [Operator("slow", 0.001, batches=Batches(0.1))])
NO_STAMPS = {"stamped": 0, "mean_us": None, "at_ranks_us": None, "all_us": None}


class Workers:
    """One, whose CPU time is known, or whose process cannot be looked at."""

    def __init__(self) -> None:
        self.cpu_s, self.broken = 0.0, False

    def find(self) -> tuple[int, ...]:
        if self.broken:
            raise PermissionError("/proc/4711/stat")
        return (4711,)


class Said:
    """What the query says, as it is fetched."""

    def __init__(self) -> None:
        self.waiting = list[BatchReport]()

    def fetch(self) -> list[BatchReport]:
        fetched, self.waiting = self.waiting, []
        return fetched


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Workers:
    found = Workers()
    monkeypatch.setattr(attached_engine, "PythonWorkers", SimpleNamespace(of=lambda *_: found))
    return found


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    queue = Said()
    monkeypatch.setattr(attached_engine, "ReportQueue", SimpleNamespace(for_query=lambda *_: queue))
    return queue


@pytest.fixture
def engine(workers: Workers, said: Said) -> AttachedEngine:
    del workers, said
    plan = SimpleNamespace(explainInternal=lambda _: "ArrowEvalPython")
    idle = {"isTriggerActive": False, "isDataAvailable": False}
    query: Any = SimpleNamespace(runId="run", lastProgress=None, status=idle, _jsq=plan)
    context: Any = None
    return AttachedEngine(query, context, 1, SLOW, kept_iats=100, shares=None)


def micro_batch(number: int, rows: int, stamps: Mapping[str, Any] | None = None) -> BatchReport:
    """Of rows that came just before it, unless it is said otherwise."""
    now_us = time.time_ns() // 1000
    at_ranks_us = (now_us - 500_000 + 1000 * RANKS).tolist()
    exact = {"stamped": rows, "mean_us": float(np.mean(at_ranks_us)), "at_ranks_us": at_ranks_us, "all_us": None}
    observed = {OBSERVATION: {"rows": rows, **(stamps or exact)}}
    return BatchReport("slow", "run", number, rows, now_us - 400_000, now_us, 0.4, {}, None, observed)


def test_a_round_that_fails_leaves_its_interval_to_the_next(
    engine: AttachedEngine, workers: Workers, said: Said
) -> None:
    engine.observe(1.0)
    workers.cpu_s, workers.broken, said.waiting = 0.2, True, [micro_batch(0, 50)]
    with pytest.raises(PermissionError):
        engine.observe(2.0)
    workers.cpu_s, workers.broken, said.waiting = 0.3, False, [micro_batch(1, 10)]
    seen = engine.observe(3.0)
    reading = seen.operators["slow"]
    assert (seen.interval_s, reading.arrived, reading.completed, reading.batches) == (2.0, 60, 60, 2)
    assert reading.busy_s == pytest.approx(0.3)
    assert seen.paths["slow"].completed == 60
    assert engine.observe(4.0).interval_s == 1.0


def test_rows_without_a_time_of_arrival_are_a_fault_that_takes_no_other_reading_along(
    engine: AttachedEngine, said: Said
) -> None:
    said.waiting = [micro_batch(0, 50, NO_STAMPS), micro_batch(1, 10)]
    seen = engine.observe(1.0)
    assert seen.missing == "tuples of slow have no time of arrival"
    assert seen.operators["slow"].completed == 60
    assert seen.paths["slow"].completed == 10
    said.waiting = [micro_batch(2, 10)]
    assert engine.observe(2.0).missing == ""


def test_a_message_that_cannot_be_used_is_a_fault_that_takes_no_other_reading_along(
    engine: AttachedEngine, said: Said
) -> None:
    said.waiting = [micro_batch(0, 50, {"stamped": "many"}), micro_batch(1, 10)]
    seen = engine.observe(1.0)
    assert seen.missing.startswith("a report of the query cannot be used (TypeError")
    assert seen.paths["slow"].completed == 10
