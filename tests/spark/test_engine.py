"""What the engine makes of what queries and the system around it say, and what it orders; no Spark needed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mead.execute.shares import CpuUsage
from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.pipeline import Operator, Pipeline
from mead.models.network.graph import Edge
from mead.spark import engine as engine_module
from mead.spark.engine import SparkEngine, java_cpu_s
from mead.spark.probe import Stamps
from mead.spark.progress import Done, Progress
from mead.spark.python_workers import PROCESSES
from mead.spark.wiring import Wiring

CHAIN = Pipeline(
    "chain", [Operator(name, 0.001, max_replicas=4) for name in ("parser", "matcher")], [Edge("parser", "matcher")]
)


@dataclass
class Stream:
    """By offsets, of which ``end`` is the last; nobody knows it before something was read, as of a broker."""

    end: int = 0

    def completed(self, done: Done) -> int:
        return int(done.end_offset["offset"])

    def arrived(self, last: Done | None) -> int | None:
        return None if last is None else self.end


@dataclass
class Running:
    """As much of a running pipeline as the engine sees."""

    pipeline: Pipeline = CHAIN
    inputs: Mapping[str, Stream] = field(default_factory=lambda: {o.name: Stream() for o in CHAIN.operators})
    ordered: dict[str, int] = field(default_factory=lambda: {o.name: o.max_replicas for o in CHAIN.operators})
    stuck: str = ""
    """The operator that takes no order."""
    spark: Any = None

    @property
    def queries(self) -> Mapping[str, Any]:
        return {o.name: SimpleNamespace(last=None) for o in self.pipeline.operators}

    @property
    def wiring(self) -> Wiring:
        return Wiring(self.pipeline)

    @property
    def shares(self) -> Running:
        return self

    def set_share(self, operator: str, share: float) -> None:
        """Every one is taken."""

    def usage(self, operator: str) -> CpuUsage | None:
        """Nothing is measured."""

    def order_tasks(self, query: str, tasks: int) -> None:
        if query == self.stuck:
            raise OSError("no space left on device")
        self.ordered[query] = tasks

    def stamps(self, progress: Progress) -> Stamps:
        return Stamps.of(progress.started_us - np.arange(progress.rows))


@dataclass
class Messages:
    """Of queries, as they are fetched."""

    waiting: list[Progress] = field(default_factory=list)

    def fetch(self) -> list[Progress]:
        fetched, self.waiting = self.waiting, []
        return fetched


def micro_batch(query: str, batch: int, rows: int, offset: int) -> Progress:
    now_us = time.time_ns() // 1000
    return Progress(query, "run", batch, rows, now_us - 400_000, now_us, 0.4, {"offset": offset}, None, {})


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Messages:
    """What queries say. Beside them nothing of Spark is there."""
    said = Messages()
    monkeypatch.setattr(engine_module, "ProgressQueue", lambda _: said)
    monkeypatch.setattr(engine_module, "Executors", lambda _: SimpleNamespace(follow=lambda _: None))
    monkeypatch.setattr(engine_module, "java_pid", lambda _: os.getpid())
    return said


def engine_of(running: Any) -> SparkEngine:
    running.spark = SimpleNamespace(sparkContext=None)
    return SparkEngine(running, kept_iats=100)


def test_what_an_old_stream_had_before_it_was_read_has_not_arrived_now(messages: Messages) -> None:
    running = Running()
    engine = engine_of(running)
    assert engine.observe(1.0).operators["parser"].arrived == 0
    running.inputs["parser"].end = 1_000_500
    messages.waiting = [micro_batch("parser", 0, 300, 1_000_300), micro_batch("parser", 1, 100, 1_000_400)]
    reading = engine.observe(2.0).operators["parser"]
    assert (reading.arrived, reading.completed, reading.backlog) == (500, 400, 100)
    running.inputs["parser"].end = 1_000_510
    reading = engine.observe(3.0).operators["parser"]
    assert (reading.arrived, reading.completed, reading.backlog) == (10, 0, 110)
    state = engine.states["parser"]
    assert (state.before, state.arrived - state.before) == (1_000_000, 510)


def test_what_arrived_before_the_first_micro_batch_was_done_is_counted_once(
    messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running()
    monkeypatch.setattr(Stream, "arrived", lambda self, _: self.end)  # as an embedded log
    engine = engine_of(running)
    running.inputs["matcher"].end = 50
    assert engine.observe(1.0).operators["matcher"].arrived == 50
    messages.waiting = [micro_batch("matcher", 0, 40, 40)]
    reading = engine.observe(2.0).operators["matcher"]
    assert (reading.arrived, reading.completed, reading.backlog) == (0, 40, 10)
    assert engine.states["matcher"].before == 0


@pytest.mark.usefixtures("messages")
def test_what_an_order_that_failed_half_way_has_changed_is_changed_back() -> None:
    running = Running(stuck="matcher")
    engine, before = engine_of(running), CHAIN.most
    with pytest.raises(OSError, match="no space"):
        engine.apply(Allocation.of(parser=Resources(1.0, 1), matcher=Resources(1.0, 1)))
    assert running.ordered == {"parser": 1, "matcher": 4}
    running.stuck = ""
    engine.apply(before)
    assert running.ordered == {"parser": 4, "matcher": 4}


def test_cpu_time_of_a_process_is_not_measured_where_the_system_does_not_show_it(tmp_path: Path) -> None:
    assert java_cpu_s(os.getpid(), tmp_path) is None


def test_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    if not PROCESSES.is_dir():
        pytest.skip("no processes are shown as files here")
    before, read = os.times(), java_cpu_s(os.getpid())
    after = os.times()
    assert read is not None
    assert before.user + before.system - 0.05 <= read <= after.user + after.system + 0.05
