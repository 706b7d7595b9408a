"""One run on Spark: queries, controller and monitor started together, watched, and ended together.

The controller runs in a thread of its own. This thread looks after it and after the queries: what ends before its time
is started again, and what is in force stays in force meanwhile. However a run ends, its result is not lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from mead.clock import RunClock
from mead.controller import Controller
from mead.execute.engine import Engine
from mead.execute.negotiator import NegotiatedEngine
from mead.execute.shares import CpuUsage, ShareManager
from mead.knowledge.allocation import Allocation
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.round import Round
from mead.loop import ControlLoop, Mode
from mead.monitor.run_record import RunRecord
from mead.monitor.sketch import ResponseSketch
from mead.plan.policy import Policy
from mead.spark.end_requests import EndRequests
from mead.spark.engine import EngineCpu, OperatorState, SparkEngine
from mead.spark.folder_lock import held
from mead.spark.inputs import Input
from mead.spark.java_machine import spark_loss
from mead.spark.negotiator import ExecutorNegotiator
from mead.spark.operators import Work
from mead.spark.rabbitmq.blocks import RabbitStreams
from mead.spark.running import RunningPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP_LIMIT_S = 180.0
DRAIN_LIMIT_S = 60.0
"""What has arrived at the end goes through, if it does so by then."""

LAST_ROUND_S = 30.0
"""A round that is under way at the end is waited for."""

WATCH_S = 0.25
"""So often queries and controller are looked at."""


@dataclass(frozen=True, eq=False)
class LiveResult:
    """What happened after the warm-up. Response times are of all that arrived, until it was done.

    So are ``tuples``. A micro-batch of the source takes all there is: with what had arrived when the end came, some go
    along that came just after it.
    """

    pipeline: Pipeline
    policy: str
    mode: Mode
    duration_s: float
    rounds: Sequence[Round] = field(repr=False)
    """The last ones, as many as are kept; all of them are in the history."""
    total_rounds: int
    failed_rounds: int
    changes: int
    """How often another allocation came into force."""
    timeline: Sequence[tuple[float, Allocation]] = field(repr=False)
    """When which allocation came into force."""
    cores: Mapping[str, float]
    """By operator, the time average of what it was given."""
    responses: Mapping[str, ResponseSketch] = field(repr=False)
    """By path."""
    parts: Mapping[str, Mapping[int, ResponseSketch]] = field(repr=False)
    """By path, and by the part of the run in which tuples arrived: as `mead.monitor.responses.PathMonitor` has them."""
    start: Allocation
    cpu: EngineCpu
    """Spark itself, and the driver's Python process: controller, monitor and display."""
    loop_s: float
    """CPU seconds of the control loop alone, all its phases."""
    used: Mapping[str, CpuUsage]
    """By the workers of every operator, and how long they were held back by their share."""
    demands_s: Mapping[str, float]
    """As learned."""
    overheads_s: Mapping[str, float]
    rows_in: Mapping[str, int]
    """By operator, how many rows its micro-batches have read."""
    rows_out: Mapping[str, int]
    """And how many they have written: what a parser cannot parse is the difference."""
    first: int
    """Arrivals of the source that came before: of the warm-up, of a run that went on, or of an old stream."""
    tuples: int
    """That arrived at the source."""
    restarts: Sequence[str]
    drained: bool
    """Whether everything that had arrived when the end came went through, as far as the source can tell what waits."""
    complaints: Mapping[str, int] = field(default_factory=dict)
    """What workers had to say, and how often."""
    interrupted: bool = False
    """Whether somebody has asked for an end."""
    loss: str = ""
    """Why Spark was there no more at the end; empty if it was."""

    @property
    def mean_cores(self) -> float:
        """Per operator: the MEAD paper's CPU percentage, divided by 100."""
        return sum(self.cores.values()) / len(self.cores)


class SparkLostError(RuntimeError):
    """Spark has gone in the middle of a run."""

    def __init__(self, reason: str, result: LiveResult | None = None) -> None:
        super().__init__(reason)
        self.result = result
        """What was seen until then; None if the run had not begun."""


def run_live(
    spark: SparkSession,
    knowledge: Knowledge,
    source: Input,
    work: Mapping[str, Work],
    folder: Path,
    shares: ShareManager,
    policy: Policy[Any],
    *,
    duration_s: float = inf,
    mode: Mode = Mode.ACT,
    kept_iats: int,
    streams: RabbitStreams | None = None,
    requests: EndRequests | None = None,
    on_round: Callable[[Round, SparkEngine], None] = lambda *_: None,
    on_wait: Callable[[str], None] = lambda _: None,
    on_restart: Callable[[str], None] = lambda _: None,
) -> LiveResult:
    """Run a pipeline under a policy until the time is over, or somebody asks for an end by Ctrl-C, SIGTERM or SIGHUP.

    The first request ends the run, and what has arrived goes through, for a minute at most; another one ends that, too.
    Whoever has ``requests`` of his own gets them back held, so that nothing interrupts what he does with the result.
    Raises KeyboardInterrupt if an end is asked for before the run has begun, SparkLostError, with the result, if Spark
    is lost, so that nobody takes half a run for a whole one, and OperatorError if another run is at work in the folder.

    ``on_round`` is called in this thread, so that what it takes does not slow the controller down. ``on_restart`` hears
    what has failed, and why, while the run goes on. ``streams`` join the operators, where embedded logs are not to.
    """
    running = RunningPipeline(spark, knowledge.pipeline, source, work, folder, shares, streams, on_restart=on_restart)
    with held(folder), requests or EndRequests() as asked:
        asked.hold()

        def wait(doing: str) -> None:
            asked.check()
            on_wait(doing)

        try:
            running.start(wait)
            running.begin(WARM_UP_LIMIT_S, wait)
            asked.check()
            run = _Run.begun(running, knowledge, policy, mode, kept_iats, duration_s, asked, on_round)
            result = run.result(on_wait)
        except Exception as error:
            if loss := spark_loss(spark.sparkContext):
                raise SparkLostError(f"{loss} before the run began") from error
            raise
        finally:
            running.stop()
        result = replace(result, interrupted=asked.count > 0)
        if result.loss:
            raise SparkLostError(result.loss, result)
        return result


@dataclass
class _Run:
    """From the moment at which arrivals take their course."""

    running: RunningPipeline
    engine: SparkEngine
    loop: ControlLoop
    clock: RunClock
    controller: Controller
    record: RunRecord
    made: SimpleQueue[Round]
    """Rounds that the controller has put down, and nobody has looked at yet."""
    duration_s: float
    requests: EndRequests
    on_round: Callable[[Round, SparkEngine], None]
    loss: str = ""

    @classmethod
    def begun(
        cls,
        running: RunningPipeline,
        knowledge: Knowledge,
        policy: Policy[Any],
        mode: Mode,
        kept_iats: int,
        duration_s: float,
        requests: EndRequests,
        on_round: Callable[[Round, SparkEngine], None],
    ) -> _Run:
        """Its clock begins now."""
        engine, clock = SparkEngine(running, kept_iats), RunClock()
        made: SimpleQueue[Round] = SimpleQueue()
        engine_of_loop: Engine = engine
        if getattr(policy, "negotiates", False) and not engine.executors.local:
            engine_of_loop = NegotiatedEngine(engine, ExecutorNegotiator(engine.executors), engine.allocation)
        loop = ControlLoop(engine_of_loop, policy, knowledge, clock, mode=mode, record=made.put, cpu_s=time.thread_time)
        controller = Controller(loop, clock, knowledge.pipeline.name, duration_s)
        record = RunRecord(loop.allocation)
        return cls(running, engine, loop, clock, controller, record, made, duration_s, requests, on_round)

    def result(self, on_wait: Callable[[str], None]) -> LiveResult:
        """Until the time is over, or somebody asks for an end, or Spark is lost; then what has arrived goes through."""
        with self._while_spark_is_there():
            self._watch()
        asked = self.requests.count
        if asked:
            on_wait("interrupted: ending in good order")
        ended_s = min(self.clock.now_s(), self.duration_s)
        engine, record, drained = self.engine, self.record, False
        cpu, used = engine.cpu, {name: engine.used(name) for name in engine.states}  # a last round may take its time
        controlled = not self._control_ends()
        first = self.running.pipeline.order[0]
        self.running.inputs[first].insist()  # what has come by now is to go through: it has to be known
        with self._while_spark_is_there():
            if not controlled:
                engine.observe(self.clock.now_s())  # what has come since the last round counts too
        source = engine.states[first]
        arrived = source.arrived
        with self._while_spark_is_there():
            if not controlled:
                on_wait("letting what has arrived go through")
                drained = self._drain(source, arrived, given_up=lambda: self.requests.count > asked)
                engine.observe(self.clock.now_s())
            engine.close()
        return LiveResult(
            pipeline=self.running.pipeline,
            policy=self.loop.policy.name,
            mode=self.loop.mode,
            duration_s=ended_s,
            rounds=tuple(record.last),
            total_rounds=record.rounds,
            failed_rounds=record.failed,
            changes=record.changes,
            timeline=tuple(record.timeline),
            cores={name: core_s / ended_s for name, core_s in record.core_s(ended_s).items()},
            responses={path: monitor.whole for path, monitor in engine.paths.items()},
            parts={path: monitor.parts for path, monitor in engine.paths.items()},
            start=record.start,
            cpu=cpu,
            loop_s=record.loop_s,
            used=used,
            demands_s={name: one.demand_s for name, one in self.loop.demands.items()},
            overheads_s={name: one.overhead_s for name, one in self.loop.overheads.items()},
            rows_in={name: state.rows_in for name, state in engine.states.items()},
            rows_out={name: state.rows_out for name, state in engine.states.items()},
            first=source.before,
            tuples=max(arrived, source.completed) - source.before,
            restarts=tuple(self.running.restarts),
            drained=drained,
            complaints=dict(self.running.complaints.counts),
            loss=self.loss,
        )

    def _watch(self) -> None:
        """Keep controller and queries alive."""
        self.controller.start()
        while self.clock.now_s() < self.duration_s and not self.requests.count:
            time.sleep(WATCH_S)
            self._take()
            self.running.revive()
            if self.controller.revive():
                self.running.restarted("the controller ended before its time and is started again")

    @contextmanager
    def _while_spark_is_there(self) -> Iterator[None]:
        """What fails because Spark is gone is no fault of its own: the run has ended, and its result counts."""
        try:
            yield
        except Exception:
            self.loss = spark_loss(self.running.spark.sparkContext)
            if not self.loss:
                raise

    def _take(self) -> None:
        """What the controller has put down."""
        with suppress(Empty):
            while True:
                this = self.made.get_nowait()
                self.record.add(this)
                self.on_round(this, self.engine)

    def _control_ends(self) -> bool:
        """Whether nothing is looked at or ordered any more.

        A round that hangs is not waited for without end. It may still look at the engine and order something, so that
        nobody else can look without taking its readings away: what it has not put down is not known.
        """
        ended = self.controller.end(LAST_ROUND_S)
        self._take()
        if not ended:
            self.running.restarted(f"the controller's last round is not over after {LAST_ROUND_S:g} s: left alone")
        return ended

    def _drain(self, source: OperatorState, arrived: int, given_up: Callable[[], bool]) -> bool:
        """Have the source let in what has arrived, and then nothing more; whether all of it went through in time."""
        until_s = time.monotonic() + DRAIN_LIMIT_S
        while source.completed < arrived and time.monotonic() < until_s and not given_up():
            time.sleep(WATCH_S)
            self.running.revive()
            self.engine.observe(self.clock.now_s())
        drained = self.running.drain(until_s - time.monotonic(), given_up)
        return drained and source.completed >= arrived
