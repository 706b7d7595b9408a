"""However a run ends, its result is there, and nothing else of it. The end of Java is in tests/cli/test_live.py."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares, closing_shares, detect
from mead.demo.parser import OUTPUT_SCHEMA, parse
from mead.policies import NotReady, Policy
from mead.policies.baselines.static import Static, StaticOptions
from mead.session import LiveResult, Observer, Session
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import BatchFunction, OnBatches
from mead.spark.pipeline.query import last_finished
from mead.spark.pipeline.run import run_pipeline
from mead.spark.runtime.workers import find_processes
from mead.values import Allocation, Batches, Knowledge, Observation, Operator, Pipeline, Requirement, Round

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.skipif(detect().kind == "none", reason=f"CPU shares cannot be set here: {detect()}")

ONE = Pipeline(
    "one", [Operator("parser", 0.0001, batches=Batches(0.1, trigger_s=0.2))], (), [Requirement("parser", 5.0)]
)
RATE_PER_S = 100
LONG_S = 600.0


@dataclass
class Ending:
    """A run, and how its observer ends it: after a round, or while the run waits."""

    spark: SparkSession
    folder: Path
    group: str = ""
    waits: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def run(
        self,
        *,
        duration_s: float = LONG_S,
        on_round: Callable[[], None] = lambda: None,
        on_wait: Callable[[str], None] = lambda _: None,
        pause_s: float = 0.0,
        chosen: Policy | None = None,
        work: BatchFunction | None = None,
    ) -> LiveResult:
        """With an operator that takes so long for every batch once arrivals take their course, or works like this."""
        begun = self.folder / "begun"

        def slow(batch: pa.RecordBatch) -> pa.RecordBatch:
            if batch.num_rows and begun.exists():
                time.sleep(pause_s)
            return parse(batch)

        waits, warnings = self.waits, self.warnings

        class Told(Observer):
            def round(self, this: Round) -> None:
                del this
                begun.touch()
                on_round()

            def wait(self, doing: str) -> None:
                waits.append(doing)
                on_wait(doing)

            def warn(self, what: str) -> None:
                warnings.append(what)

        source = logs.source(self.folder, [n / RATE_PER_S for n in range(round(LONG_S * RATE_PER_S))])
        with closing_shares(detect().open(["parser"])) as shares:
            self.group = shares.group("parser")
            return run_pipeline(
                Session(ONE, chosen or StaticOptions(), observers=[Told()]),
                self.spark,
                Knowledge(ONE),
                source,
                {"parser": OnBatches(work or slow, OUTPUT_SCHEMA)},
                self.folder,
                shares,
                duration_s=duration_s,
            )

    def assert_all_went_through(self, result: LiveResult) -> None:
        """Once, and all of it is in every figure."""
        done = last_finished(self.folder / "checkpoints" / "parser")
        assert done is not None
        lines, first = done.end_offset["count"], result.first
        expected = logs.parsed(lines)["id"].to_pylist()
        assert sorted(logs.results(self.folder, "parser")["id"].to_pylist()) == expected
        assert result.drained
        assert result.tuples == lines - first
        assert result.tuples == round(result.responses["parser"].total) == result.rows_in["parser"]
        assert result.rows_out["parser"] == len(expected) - logs.parsed(first).num_rows, "malformed lines are dropped"

    def assert_nothing_is_left(self) -> None:
        """Processes take a moment to end."""
        assert self.group
        assert not any(Path(folder).parent.exists() for folder in self.group.split(os.pathsep))
        assert "parser" not in [query.name for query in self.spark.streams.active]
        until_s = time.monotonic() + PATIENCE_S
        while (left := list(find_processes(self.group))) and time.monotonic() < until_s:
            time.sleep(0.05)
        assert left == []


@pytest.fixture
def ending(spark: SparkSession, tmp_path: Path) -> Ending:
    return Ending(spark, tmp_path)


def ask(which: signal.Signals) -> None:
    os.kill(os.getpid(), which)


class BusyAtTheEnd(Static):
    """A policy whose third round waits for the end of the run, and then computes for a second."""

    def __init__(self) -> None:
        super().__init__(StaticOptions())
        self.rounds, self.began, self.released = 0, Event(), Event()

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation | NotReady:
        self.rounds += 1
        if self.rounds == 3:
            self.began.set()
            self.released.wait(PATIENCE_S)
            until_s = time.thread_time() + 1.0
            while time.thread_time() < until_s:
                pass
        return super().analyze(observation, knowledge)


def test_sigterm_ends_a_run_when_what_has_arrived_went_through(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what waits for the first operator, which is at work on its last micro-batch for a while."""
    monkeypatch.setattr("mead.spark.pipeline.run.LAST_ROUND_S", PATIENCE_S)
    before, rounds_us, busy = signal.getsignal(signal.SIGTERM), list[int](), BusyAtTheEnd()

    def ended() -> None:
        rounds_us.append(time.time_ns() // 1000)
        if len(rounds_us) == 2:  # since the first it takes its time
            assert busy.began.wait(PATIENCE_S)
            ask(signal.SIGTERM)

    def release(what: str) -> None:
        if what.startswith("interrupted"):
            busy.released.set()

    result = ending.run(on_round=ended, on_wait=release, pause_s=2.0, chosen=busy)
    assert 1.0 < result.loop_s <= result.cpu.driver_s, "the loop is a part of the driver, its last round included"
    assert (result.interrupted, result.loss) == (True, "")
    assert result.total_rounds >= 2
    assert result.duration_s < LONG_S
    ending.assert_all_went_through(result)
    last_us = max(logs.results(ending.folder, "parser")["arrival_us"].to_pylist())
    assert last_us > rounds_us[1] - 10 * 1_000_000 / RATE_PER_S, "up to the request; a few lines are malformed"
    assert "interrupted: ending in good order" in ending.waits
    assert signal.getsignal(signal.SIGTERM) == before
    ending.assert_nothing_is_left()


def test_rows_that_an_operator_has_written_are_those_that_its_followers_have_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    """None of the warm-up is under way when counting begins, though the counter reads only now and then."""
    whole = logs.pipeline()
    rarely = [replace(o, batches=Batches(0.1, trigger_s=1.0)) if o.name == "counter" else o for o in whole.operators]
    pipeline = Pipeline(whole.name, rarely, whole.edges, whole.requirements)
    source = logs.source(tmp_path, [n / RATE_PER_S for n in range(round(LONG_S * RATE_PER_S))])
    result = run_pipeline(
        Session(pipeline, StaticOptions()),
        spark,
        Knowledge(pipeline),
        source,
        logs.work(),
        tmp_path,
        DryRunShares([operator.name for operator in pipeline.operators]),
        duration_s=1.0,
    )
    done = last_finished(tmp_path / "checkpoints" / "parser")
    assert done is not None
    lines, first = done.end_offset["count"], result.first
    assert result.drained
    assert result.rows_in["parser"] == result.tuples == lines - first > 0
    assert result.rows_out["parser"] == logs.parsed(lines).num_rows - logs.parsed(first).num_rows
    assert result.rows_in == {
        "parser": result.tuples,
        "counter": result.rows_out["parser"],
        "matcher": result.rows_out["parser"],
    }
    of_the_run = [match for match in logs.expected_matches(lines) if match[0] >= first]
    assert result.rows_out["matcher"] == len(of_the_run)
    assert result.counts == {"matcher": logs.expected_counts(lines)}, "those of the warm-up, too"


class Deadly(Static):
    """A policy that kills the thread in which it is asked, once."""

    def __init__(self) -> None:
        super().__init__(StaticOptions())
        self.rounds = 0

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation | NotReady:
        self.rounds += 1
        if self.rounds == 2:
            raise SystemExit  # no error, which the loop would survive
        return super().analyze(observation, knowledge)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_controller_that_is_killed_is_started_again_and_every_tuple_counts_once(ending: Ending) -> None:
    shown = list[int]()

    def watched() -> None:
        shown.append(len(shown))
        if len(shown) == 3:
            ask(signal.SIGTERM)

    deadly = Deadly()
    result = ending.run(on_round=watched, chosen=deadly)
    assert result.restarts == ("the controller ended before its time and is started again",)
    assert (result.total_rounds, result.failed_rounds) == (len(shown), 0)
    assert deadly.rounds >= 3, "it is asked again"
    for this in result.rounds:
        assert this.in_force == ONE.most
        assert this.plan is not None
        assert this.plan.reason.facts
    ending.assert_all_went_through(result)
    ending.assert_nothing_is_left()


class Hanging(Static):
    """A policy that does not come to an end in its second round, until it is released."""

    def __init__(self) -> None:
        super().__init__(StaticOptions())
        self.rounds, self.hangs, self.released = 0, Event(), Event()

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation | NotReady:
        self.rounds += 1
        if self.rounds == 2:
            self.hangs.set()
            self.released.wait(PATIENCE_S)
        return super().analyze(observation, knowledge)


def test_a_round_that_hangs_at_the_end_is_left_alone(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at the engine beside it, and nobody says that all went through."""
    monkeypatch.setattr("mead.spark.pipeline.run.LAST_ROUND_S", 0.5)
    looked, observe, hanging = list[str](), SparkEngine.observe, Hanging()

    def noted(engine: SparkEngine, time_s: float) -> Observation:
        looked.append(current_thread().name)
        return observe(engine, time_s)

    def ended() -> None:
        assert hanging.hangs.wait(PATIENCE_S)
        ask(signal.SIGTERM)

    monkeypatch.setattr(SparkEngine, "observe", noted)
    try:
        result = ending.run(on_round=ended, chosen=hanging)
    finally:
        hanging.released.set()
    assert result.restarts == ("the controller's last round is not over after 0.5 s: left alone",)
    assert (result.drained, result.failure) == (False, "")
    assert result.total_rounds == 1
    assert len(looked) == 2
    assert main_thread().name not in looked
    ending.assert_nothing_is_left()


def test_ctrl_c_while_what_has_arrived_goes_through_loses_no_result(ending: Ending) -> None:
    def impatient(what: str) -> None:
        if what.startswith("letting"):
            ask(signal.SIGINT)

    result = ending.run(duration_s=3.0, on_wait=impatient, pause_s=2.0)
    assert (result.interrupted, result.drained, result.loss, result.failure) == (True, False, "", "")
    assert result.duration_s == 3.0, "its time was over"
    assert result.tuples > RATE_PER_S
    assert result.total_rounds >= 1
    ending.assert_nothing_is_left()


@pytest.mark.parametrize("fault", ["fails", "hangs"])
def test_a_run_whose_operator_never_worked_says_so(ending: Ending, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr("mead.spark.pipeline.run.WARM_UP_LIMIT_S", 1.0)
    monkeypatch.setattr("mead.spark.pipeline.run.DRAIN_LIMIT_S", 1.0)
    hanging = ending.folder / "hanging"

    def broken(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows and fault == "hangs":
            hanging.touch()
            time.sleep(PATIENCE_S)
        if batch.num_rows:
            raise RuntimeError("the pattern server is away")
        return parse(batch)

    def ended() -> None:
        if ending.warnings or hanging.exists():
            ask(signal.SIGTERM)

    result = ending.run(on_round=ended, work=broken)
    assert (result.drained, result.interrupted, result.loss) == (False, True, "")
    cause = "RuntimeError: the pattern server is away"
    said = {"fails": f"parser failed to the end of the run: {cause}", "hangs": "parser has completed nothing"}
    assert result.failure == said[fault]
    assert ending.warnings == ([f"parser failed and is started again: {cause}"] if fault == "fails" else [])
    ending.assert_nothing_is_left()


def test_whoever_asks_for_an_end_before_the_beginning_gets_it(ending: Ending) -> None:
    def early(what: str) -> None:
        if "warms up" in what:
            ask(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        ending.run(on_wait=early)
    assert ending.waits[-1].startswith("parser warms up")
    ending.assert_nothing_is_left()
