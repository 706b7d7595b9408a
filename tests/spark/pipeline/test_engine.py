"""What the engine makes of what queries and the system around it say, and what it orders; no Spark needed."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mead.cpu import CpuUsage, DryRunShares, ShareManager
from mead.queueing import Edge
from mead.spark.pipeline import engine as engine_module
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.running import BatchRows
from mead.spark.pipeline.wiring import Wiring
from mead.spark.sources.tap import Tap
from mead.spark.telemetry.probe import OBSERVATION, Stamps
from mead.spark.telemetry.reports import BatchReport, FinishedBatch
from mead.spark.telemetry.tree_samples import TreeSample
from mead.values import Allocation, Batches, Operator, Pipeline, Resources

NAMES = ("parser", "matcher")
CHAIN = Pipeline("chain", [Operator(name, 0.001, max_replicas=4) for name in NAMES], [Edge(*NAMES)])


@dataclass
class Stream:
    """By offsets, of which ``end`` is the last; nobody knows it before something was read, as of a broker."""

    end: int = 0

    def count_completed(self, done: FinishedBatch) -> int:
        return int(done.end_offset["offset"])

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        return None if last is None else self.end

    def tap(self) -> Tap | None:
        return None


@dataclass
class Running:
    """As much of a running pipeline as the engine sees."""

    pipeline: Pipeline = CHAIN
    inputs: Mapping[str, Stream] = field(default_factory=lambda: {o.name: Stream() for o in CHAIN.operators})
    ordered: dict[str, int] = field(default_factory=lambda: {o.name: o.max_replicas for o in CHAIN.operators})
    stuck: str = ""
    """The operator that takes no order."""
    first_allocation: Allocation = CHAIN.most
    follows: bool = True
    spark: Any = None
    shares: ShareManager = field(default_factory=lambda: DryRunShares(NAMES))

    @property
    def queries(self) -> Mapping[str, Any]:
        return {o.name: SimpleNamespace(last=None) for o in self.pipeline.operators}

    @property
    def wiring(self) -> Wiring:
        return Wiring(self.pipeline)

    def order_tasks(self, query: str, tasks: int) -> None:
        if query == self.stuck:
            raise OSError("no space left on device")
        self.ordered[query] = tasks

    def rows(self, progress: BatchReport) -> BatchRows:
        """One in ten is dropped. One input is followed: the one of the last row."""
        if progress.observed:
            return BatchRows(Stamps.from_observation(progress.observed), 0, TreeSample())
        stamps_us = progress.started_us - np.arange(progress.rows)
        written = progress.rows - progress.rows // 10
        followed = TreeSample(stamps_us[:1], {"": stamps_us[:1]})
        return BatchRows(Stamps.of(stamps_us), written, followed)


class Groups(DryRunShares):
    """Groups of which it is known who is in them, and what was used there."""

    def __init__(self) -> None:
        super().__init__(NAMES)
        self.members: dict[str, tuple[int, ...]] = dict.fromkeys(NAMES, (4711,))
        self.cpu_s, self.unreadable = 0.0, ""

    def group(self, operator: str) -> str:
        return f"/groups/{operator}"

    def processes(self, operator: str) -> tuple[int, ...]:
        return self.members[operator]

    def usage(self, operator: str) -> CpuUsage:  # type: ignore[override]
        if operator == self.unreadable:
            raise OSError("cpuacct.usage: no such device")
        return CpuUsage(self.cpu_s, 0, 0, 0.0)


@dataclass
class Messages:
    """Of queries, as they are fetched."""

    waiting: list[BatchReport] = field(default_factory=list)

    def fetch(self) -> list[BatchReport]:
        fetched, self.waiting = self.waiting, []
        return fetched


def micro_batch(query: str, batch: int, rows: int, offset: int) -> BatchReport:
    now_us = time.time_ns() // 1000
    return BatchReport(query, "run", batch, rows, now_us - 400_000, now_us, 0.4, {"offset": offset}, None, {})


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Messages:
    """What queries say. Beside them nothing of Spark is there."""
    said = Messages()
    monkeypatch.setattr(engine_module, "ReportQueue", lambda _: said)
    monkeypatch.setattr(engine_module, "Executors", lambda _: SimpleNamespace(follow=lambda _: None, local=True))
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
    monkeypatch.setattr(Stream, "count_arrived", lambda self, _: self.end)  # as an embedded log
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


@pytest.mark.usefixtures("messages")
def test_cpu_time_of_java_is_not_measured_where_the_system_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "java_cpu_s", lambda _: None)
    assert engine_of(Running()).cpu.java_s is None


def test_workers_that_are_not_in_their_group_are_named_and_what_it_has_used_is_not_theirs(messages: Messages) -> None:
    groups = Groups()
    engine = engine_of(Running(shares=groups))
    groups.cpu_s, messages.waiting = 0.1, [micro_batch("matcher", 0, 10, 10)]
    seen = engine.observe(1.0)
    assert seen.missing == ""
    assert seen.operators["matcher"].busy_s == pytest.approx(0.1)
    groups.members["matcher"], messages.waiting = (), [micro_batch("matcher", 1, 10, 20)]
    seen = engine.observe(2.0)
    assert seen.missing == "no worker of matcher is in its control group, so its share is not enforced"
    assert seen.operators["matcher"].busy_s == 0.4, "time at work stands for CPU time"
    seen = engine.observe(3.0)
    assert seen.missing == "", "who does nothing needs no workers"
    groups.members["matcher"], groups.cpu_s, messages.waiting = (4712,), 0.3, [micro_batch("matcher", 2, 10, 30)]
    seen = engine.observe(4.0)
    assert seen.missing == ""
    assert seen.operators["matcher"].busy_s == pytest.approx(0.2)


def test_on_a_cluster_nobody_is_expected_in_a_group_of_this_machine(
    messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = SimpleNamespace(follow=lambda _: None, local=False)
    monkeypatch.setattr(engine_module, "Executors", lambda _: cluster)
    groups = Groups()
    groups.members = dict.fromkeys(NAMES, ())
    engine = engine_of(Running(shares=groups))
    messages.waiting = [micro_batch("parser", 0, 10, 10)]
    seen = engine.observe(1.0)
    assert (seen.missing, seen.operators["parser"].busy_s) == ("", 0.4)


def test_rows_in_and_out_of_an_operator_are_added_up(messages: Messages) -> None:
    engine = engine_of(Running())
    for batch, rows in enumerate((30, 50)):
        messages.waiting = [micro_batch("parser", batch, rows, 100 + 30 + 50 * batch)]
        engine.observe(1.0 + batch)
    state = engine.states["parser"]
    assert (state.rows_in, state.rows_out) == (80, 72)


def unstamped(query: str, batch: int, rows: int, offset: int) -> BatchReport:
    """A micro-batch in which the time of arrival is null in all rows, as Spark tells it."""
    aggregates = {"rows": rows, "stamped": 0, "mean_us": None, "at_ranks_us": None, "all_us": None}
    return replace(micro_batch(query, batch, rows, offset), observed={OBSERVATION: aggregates})


def test_an_input_is_complete_when_every_operator_has_read_what_came_of_it(messages: Messages) -> None:
    engine = engine_of(Running())
    first = micro_batch("parser", 0, 10, 10)
    messages.waiting = [first]
    seen = engine.observe(1.0).inputs
    assert seen is not None
    assert seen.completed == 0
    messages.waiting = [replace(micro_batch("matcher", 0, 10, 10), started_us=first.started_us)]
    done_us = messages.waiting[0].done_us
    seen = engine.observe(2.0).inputs
    assert seen is not None
    assert seen.completed == 1
    assert seen.response_sum_s == pytest.approx((done_us - first.started_us) / 1e6)


def test_rows_without_a_time_of_arrival_are_a_fault_that_takes_no_other_reading_along(messages: Messages) -> None:
    engine = engine_of(Running())
    messages.waiting = [unstamped("parser", 0, 30, 30), micro_batch("matcher", 0, 20, 20)]
    seen = engine.observe(1.0)
    assert seen.missing == "tuples of parser have no time of arrival"
    assert (seen.operators["parser"].completed, seen.operators["matcher"].completed) == (30, 20)
    assert seen.paths["parser>matcher"].completed == 20
    messages.waiting = [micro_batch("parser", 1, 10, 40)]
    assert engine.observe(2.0).missing == ""


def test_a_message_that_cannot_be_used_is_a_fault_that_takes_no_other_reading_along(messages: Messages) -> None:
    engine = engine_of(Running())
    nonsense = replace(micro_batch("parser", 0, 30, 30), observed={OBSERVATION: {"rows": "many"}})
    messages.waiting = [nonsense, micro_batch("matcher", 0, 20, 20)]
    seen = engine.observe(1.0)
    assert seen.missing.startswith("a report of parser cannot be used (")
    assert seen.paths["parser>matcher"].completed == 20


def test_a_round_that_fails_leaves_its_interval_to_the_next(messages: Messages) -> None:
    """Whatever was counted is counted in the interval in which it came."""
    running = Running(shares=(groups := Groups()))
    engine = engine_of(running)
    engine.observe(1.0)
    running.inputs["parser"].end, groups.cpu_s, groups.unreadable = 60, 0.2, "matcher"
    messages.waiting = [micro_batch("parser", 0, 50, 50), micro_batch("matcher", 0, 40, 40)]
    with pytest.raises(OSError, match="no such device"):
        engine.observe(2.0)
    groups.cpu_s, groups.unreadable = 0.3, ""
    messages.waiting = [micro_batch("parser", 1, 10, 60)]
    seen = engine.observe(3.0)
    assert seen.interval_s == 2.0
    parser, matcher = seen.operators["parser"], seen.operators["matcher"]
    assert (parser.arrived, parser.completed, parser.batches, matcher.completed) == (60, 60, 2, 40)
    assert [parser.busy_s, matcher.busy_s] == pytest.approx([0.3, 0.3])
    assert seen.paths["parser>matcher"].completed == 40
    assert engine.observe(4.0).interval_s == 1.0


@pytest.mark.parametrize(
    ("trigger_s", "took_s", "quiet_s", "silent_s"),
    [(None, 0.4, 29.0, 32.0), (60.0, 0.4, 89.0, 92.0), (None, 45.0, 74.0, 77.0)],
    ids=["without a trigger", "a minute apart", "a long micro-batch"],
)
def test_an_operator_is_silent_when_it_is_so_beyond_its_trigger_and_its_last_micro_batch(
    messages: Messages, trigger_s: float | None, took_s: float, quiet_s: float, silent_s: float
) -> None:
    operators = [replace(operator, batches=Batches(0.1, trigger_s)) for operator in CHAIN.operators]
    running = Running(pipeline=Pipeline("chain", operators, CHAIN.edges))
    engine = engine_of(running)
    running.inputs["parser"].end = 100
    messages.waiting = [replace(micro_batch("parser", 0, 10, 10), took_s=took_s)]
    assert engine.observe(100.0).missing == ""
    assert engine.observe(100.0 + quiet_s).missing == ""
    said = f"parser has completed nothing for {silent_s:.0f} s, with 90 tuples waiting"
    assert engine.observe(100.0 + silent_s).missing == said
