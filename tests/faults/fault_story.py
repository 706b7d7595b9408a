"""A run of the log analysis to which everything happens that can: what was done to it, and what it did."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from time import monotonic, sleep, time_ns
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceStreamReader
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.clock import WallClock
from mead.cpu import CpuUsage, detect, read_process
from mead.demo import matcher
from mead.loop import ControlLoop
from mead.policies import make_policy
from mead.policies.adaptive.policy import AdaptiveOptions
from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import read_number, write_number
from mead.spark.pipeline import engine as engine_module
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnBatches, Work
from mead.spark.pipeline.query import last_finished
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.spark.sources.trace import TraceReader
from mead.spark.telemetry.reports import BatchReport
from mead.values import Allocation, Knowledge, Round

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE_PER_S = 120
FIRST, STALL_S, LENGTH_S = 3 * RATE_PER_S, 4.0, 600
"""The stream stalls after a few seconds. It is longer than the story."""

JUMPS_S = {"forwards": 3.0, "backwards": -60.0, "and is right again": 0.0}
"""By so much the clock of the run is off, one after the other."""

CLOCK = "clock"
"""The file that says so, in microseconds."""

TIMES_S = [n / RATE_PER_S + STALL_S * (n >= FIRST) for n in range(LENGTH_S * RATE_PER_S)]

NOTICED = {
    "nothing is told": "Keep the allocation, because .* has completed nothing for .* s, with .* tuples waiting",
    "offsets are gone": "Keep the allocation, because .* reports offsets that cannot be read",
    "the clock was set back": "Keep the allocation, because tuples of .* are said to have arrived in the future",
    "CPU time runs backwards": "Keep the allocation, because busy_s of .* is said to be -",
}
"""What the loop says of absurd readings."""


def work(broken: Path) -> dict[str, Work]:
    """The matcher fails as long as a file is there."""
    match = matcher.make_matcher(tried=logs.TRIED)

    def fragile(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows and broken.exists():
            raise RuntimeError("the pattern server is away")
        return match(batch)

    return {**logs.work(), "matcher": OnBatches(fragile, matcher.OUTPUT_SCHEMA, counts="pattern")}


def clock(folder: Path) -> Callable[[], int]:
    """The wall clock, or as far off it as the file says. A function within: workers cannot import tests."""
    off = folder / CLOCK

    def now_us() -> int:
        return time_ns() // 1000 + read_number(off, missing=0)

    return now_us


class ClockedInput(TraceInput):
    """Workers go by the same clock as the driver."""

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        made = super().reader(tasks)
        assert made is not None
        assert isinstance(made[0], TraceReader)
        made[0].now_us = self.now_us
        return made


class Killed(Exception):  # noqa: N818 - not ours to handle
    """What ends the controller's thread."""


@dataclass
class Controller:
    """The loop in a thread that can be made to end, and started again."""

    engine: SparkEngine
    rounds: list[Round] = field(default_factory=list)
    kill: bool = False

    def __post_init__(self) -> None:
        chosen, knowledge = make_policy(AdaptiveOptions(interval_s=0.5)), Knowledge(self.engine.pipeline)
        self.loop = ControlLoop(self.engine, chosen, knowledge, WallClock(), record=self.record)
        self.start()

    def start(self) -> None:
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            self.loop.run(LENGTH_S)
        except Killed:
            return

    def record(self, this: Round) -> None:
        self.rounds.append(this)
        if self.kill:
            raise Killed

    def die(self) -> None:
        self.kill = True
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()
        self.kill = False


@dataclass
class Story:
    """What was done to the run, and what it did."""

    folder: Path
    rounds: dict[str, list[Round]] = field(default_factory=dict)
    """By fault: those in which it was there."""
    every: list[Round] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    after_kill: dict[str, int] = field(default_factory=dict)
    """Micro-batches that the operators have done after their workers were killed."""
    before_death: Allocation | None = None
    first_alive: Round | None = None
    """Of the controller that was started again."""
    compared: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By chapter: rows that the parser has written by its end, and how many the lines that it has done come to."""
    lines: int = 0
    """That were let in."""
    drained: bool = False


@dataclass
class Teller:
    """Does to a run what is to be told of it."""

    told: Story
    running: RunningPipeline
    engine: SparkEngine
    controller: Controller

    def wait(self, until: Callable[[], Any]) -> None:
        """And meanwhile look after the queries, as a run does."""
        limit_s = monotonic() + PATIENCE_S
        while not until():
            self.running.revive()
            assert monotonic() < limit_s, self.running.restarts
            sleep(0.05)

    def compare(self, chapter: str) -> None:
        """At a moment between two micro-batches: what is wrong for a while and right in the end would be missed."""
        checkpoint, parser = self.told.folder / "checkpoints" / "parser", self.told.folder / "streams" / "parser"

        def compared() -> bool:
            done, log = last_finished(checkpoint), StreamLog(parser)
            before, rows, after = log.last, log.end, log.last
            if done is None or not before == after == done.batch:
                return False
            lines = self.running.source.count_completed(done)
            self.told.compared[chapter] = (rows, logs.parsed(lines).num_rows)
            return True

        self.wait(compared)

    def batches(self, operator: str) -> int:
        return len((self.told.folder / "streams" / operator / "index").read_bytes().splitlines())

    def the_source_stalls(self) -> None:
        def quiet() -> list[Round]:
            seen = [(this, this.observation.operators["parser"]) for this in self.controller.rounds if this.observation]
            return [this for this, parser in seen if parser.arrived == 0]

        self.wait(lambda: len(quiet()) >= 4)
        self.told.rounds["the source stalls"] = quiet()
        rounds = len(self.controller.rounds)
        self.wait(lambda: len(self.controller.rounds) > rounds and self.controller.rounds[-1] not in quiet())

    def metrics_are_missing_or_absurd(self) -> None:
        """One after the other; what comes while nobody is told is told later."""
        fetch, held, backwards = self.engine.progress.fetch, list[BatchReport](), count()

        def hold() -> list[BatchReport]:
            held.extend(fetch())
            return []

        def without_offsets() -> list[BatchReport]:
            new = fetch()
            held.extend(new)
            return [replace(message, end_offset={}) for message in new]

        def tell_late() -> list[BatchReport]:
            return [held.pop(0) for _ in range(len(held))] + fetch()

        def clock_set_back() -> list[BatchReport]:
            return [replace(m, started_us=m.started_us - 10**8, done_us=m.done_us - 10**8) for m in fetch()]

        progress, shares = (self.engine.progress, "fetch"), (self.running.shares, "usage")
        self.during("offsets are gone", *progress, without_offsets)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine_module, "SILENT_S", 0.7)
            self.during("nothing is told", *progress, hold)
        self.during("all is told late", *progress, tell_late)
        self.during("the clock was set back", *progress, clock_set_back)
        self.during("CPU time is not measured", *shares, lambda _: None)
        self.during("CPU time runs backwards", *shares, lambda _: CpuUsage(-float(next(backwards)), 0, 0, 0.0))

    def during(self, fault: str, where: object, what: str, instead: Callable[..., Any]) -> None:
        """Until the loop has noticed, where it can, or has turned twice."""
        start, because = len(self.controller.rounds) + 1, NOTICED.get(fault)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(where, what, instead)
            if because is None:
                self.wait(lambda: len(self.controller.rounds) > start + 1)
            else:
                self.wait(lambda: any(re.match(because, said) for said in reasons(self.controller.rounds[start:])))
            self.told.rounds[fault] = self.controller.rounds[start:]

    def the_clock_jumps(self) -> None:
        """Every clock: of the source, of the engine, and the one by which Spark stamps its messages."""
        fetch, now_us = self.engine.progress.fetch, clock(self.told.folder)

        def jumped() -> list[BatchReport]:
            off_us = now_us() - time_ns() // 1000
            return [replace(m, started_us=m.started_us + off_us, done_us=m.done_us + off_us) for m in fetch()]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.engine.progress, "fetch", jumped)
            patch.setattr(engine_module, "time_ns", lambda: 1000 * now_us())
            for where, off_s in JUMPS_S.items():
                start = len(self.controller.rounds)
                write_number(self.told.folder / CLOCK, round(1e6 * off_s))
                self.wait(partial(self.noticed, where, start))
                self.told.rounds[f"the clock jumps {where}"] = self.controller.rounds[start:]

    def noticed(self, where: str, start: int) -> bool:
        """Whether what was skipped has come at once, or nothing comes any more, or the stream goes on."""
        seen = [this.observation.operators["parser"] for this in self.controller.rounds[start:] if this.observation]
        if where == "backwards":
            return len(seen) > 3 and all(parser.arrived == parser.completed == 0 for parser in seen[-3:])
        return any(parser.completed > JUMPS_S[where] * RATE_PER_S for parser in seen)

    def workers_are_killed(self, *, daemon: bool) -> None:
        """Of every operator, the stateful one included."""
        before = {operator: self.batches(operator) for operator in self.running.work}
        for operator in self.running.work:
            assert self.kill_workers(operator, daemon=daemon) > 0
        for operator, batches in before.items():
            self.wait(lambda operator=operator, batches=batches: self.batches(operator) > batches + 1)  # type: ignore[misc]
            kind = "daemon" if daemon else "worker"
            self.told.after_kill[f"{operator} {kind}"] = self.batches(operator) - batches

    def kill_workers(self, operator: str, *, daemon: bool) -> int:
        """kill -9; how many there were."""
        found = [one for pid in self.running.shares.processes(operator) if (one := read_process(pid)) is not None]
        inside = {one.pid for one in found}
        chosen = [one.pid for one in found if (one.parent not in inside) == daemon]
        for pid in chosen:
            os.kill(pid, signal.SIGKILL)
        return len(chosen)

    def a_task_fails_again_and_again(self, broken: Path) -> None:
        start, limit_s = len(self.controller.rounds), monotonic() + PATIENCE_S
        broken.touch()
        while self.running.queries["matcher"].running.isActive:
            assert monotonic() < limit_s, "the query does not give up"
            sleep(0.05)
        assert self.running.revive() == "matcher is down and will be started again"
        broken.unlink()
        before = self.batches("matcher")
        self.wait(lambda: self.batches("matcher") > before)
        self.told.rounds["a query is down"] = self.controller.rounds[start:]

    def the_controller_dies(self) -> None:
        self.controller.die()
        self.told.before_death, rounds = self.controller.loop.allocation, len(self.controller.rounds)
        self.controller.start()
        self.wait(lambda: len(self.controller.rounds) > rounds + 2)
        self.told.first_alive = self.controller.rounds[rounds]

    def all_goes_through(self) -> None:
        self.told.drained = self.running.drain(PATIENCE_S)
        last = self.running.queries["parser"].last
        assert last is not None
        self.told.lines = self.running.source.count_completed(last)
        self.controller.die()
        self.told.every, self.told.restarts = self.controller.rounds, list(self.running.restarts)
        self.engine.close()


def lived_through(spark: SparkSession, folder: Path) -> Story:
    """All faults, one after the other."""
    told, pipeline, broken = Story(folder), logs.pipeline(), folder / "broken"
    shares = detect().open([operator.name for operator in pipeline.operators])
    source = logs.source(folder, TIMES_S, ClockedInput, clock(folder))
    running = RunningPipeline(spark, pipeline, source, work(broken), folder, shares)
    try:
        running.start()
        running.warm_up(limit_s=PATIENCE_S)
        engine = SparkEngine(running, kept_iats=1000)
        running.begin()
        teller = Teller(told, running, engine, Controller(engine))
        chapters: dict[str, Callable[[], None]] = {
            "the source stalls": teller.the_source_stalls,
            "metrics are missing or absurd": teller.metrics_are_missing_or_absurd,
            "the clock jumps": teller.the_clock_jumps,
            "workers are killed": partial(teller.workers_are_killed, daemon=False),
            "daemons are killed": partial(teller.workers_are_killed, daemon=True),
            "a task fails again and again": partial(teller.a_task_fails_again_and_again, broken),
            "the controller dies": teller.the_controller_dies,
        }
        for chapter, happens in chapters.items():
            happens()
            teller.compare(chapter)
        teller.all_goes_through()
    finally:
        running.stop()
        shares.close()
    return told


def reasons(rounds: list[Round]) -> list[str]:
    return [str(this.plan.reason) for this in rounds if this.plan is not None]
