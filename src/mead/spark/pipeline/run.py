"""One run on Spark: queries, controller and monitor started together, watched, and ended together.

The controller runs in a thread of its own. This thread watches over it and over the queries: whatever ends too early is
started again, and meanwhile the allocation in force stays in force. However a run ends, its result is not lost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from mead.clock import RunClock
from mead.cpu import ShareManager
from mead.loop import ControlLoop, Engine, Mode
from mead.policies import Policy
from mead.session.controller import Controller
from mead.session.negotiation import NegotiatedEngine
from mead.session.record import RunRecord
from mead.session.result import LiveResult
from mead.spark.cluster.executors import ExecutorNegotiator
from mead.spark.pipeline.end_requests import EndRequests
from mead.spark.pipeline.engine import OperatorState, SparkEngine
from mead.spark.pipeline.folder_lock import lock_folder
from mead.spark.pipeline.operators import Work
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.java_machine import spark_loss
from mead.spark.sources.inputs import Input
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.values import Knowledge, Round

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP_LIMIT_S = 180.0
DRAIN_LIMIT_S = 60.0
"""How long the tuples that have arrived by the end of a run may take to go through."""

LAST_ROUND_S = 30.0
"""How long we wait at the end for a round that is under way."""

WATCH_S = 0.25
"""How often we check on the queries and the controller."""


class SparkLostError(RuntimeError):
    """Spark was lost in the middle of a run."""

    def __init__(self, reason: str, result: LiveResult | None = None) -> None:
        super().__init__(reason)
        self.result = result
        """What the run had measured until then; None if it had not begun."""


def run_live(
    spark: SparkSession,
    knowledge: Knowledge,
    source: Input,
    work: Mapping[str, Work],
    folder: Path,
    shares: ShareManager,
    policy: Policy,
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

    The first request ends the run: tuples that have arrived then have a minute to go through. A second request ends
    that too. A caller that passes ``requests`` gets them back held, so that nothing interrupts what it does with the
    result. Raises KeyboardInterrupt if an end is asked for before the run has begun; SparkLostError, with the result,
    if Spark is lost, so that nobody takes half a run for a whole one; and OperatorError if another run is using the
    folder.

    ``on_round`` is called in this thread, so that a slow one does not delay the controller. ``on_restart`` is told what
    has failed, and why, while the run goes on. ``streams`` join the operators; without them, embedded logs do.
    """
    running = RunningPipeline(spark, knowledge.pipeline, source, work, folder, shares, streams, on_restart=on_restart)
    with lock_folder(folder), requests or EndRequests() as asked:
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
    """A run from the moment at which its arrivals begin to count."""

    running: RunningPipeline
    engine: SparkEngine
    loop: ControlLoop
    clock: RunClock
    controller: Controller
    record: RunRecord
    made: SimpleQueue[Round]
    """Rounds that the controller has finished and this thread has not looked at yet."""
    duration_s: float
    requests: EndRequests
    on_round: Callable[[Round, SparkEngine], None]
    loss: str = ""

    @classmethod
    def begun(
        cls,
        running: RunningPipeline,
        knowledge: Knowledge,
        policy: Policy,
        mode: Mode,
        kept_iats: int,
        duration_s: float,
        requests: EndRequests,
        on_round: Callable[[Round, SparkEngine], None],
    ) -> _Run:
        """Set up the control loop and start the clock of the run."""
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
        """Run until the time is over, an end is asked for or Spark is lost; then let what has arrived go through."""
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
        self.running.inputs[first].insist()  # what has come by now has to be known, so that it can go through
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
            demands_s=self.loop.estimates.demands_s,
            overheads_s=self.loop.estimates.overheads_s,
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
        """Keep the controller and the queries alive until the run ends."""
        self.controller.start()
        while self.clock.now_s() < self.duration_s and not self.requests.count:
            time.sleep(WATCH_S)
            self._take()
            self.running.revive()
            if self.controller.revive():
                self.running.report_restart("the controller ended before its time and is started again")

    @contextmanager
    def _while_spark_is_there(self) -> Iterator[None]:
        """If the block fails because Spark is gone, note why and do not raise: the result so far still counts."""
        try:
            yield
        except Exception:
            self.loss = spark_loss(self.running.spark.sparkContext)
            if not self.loss:
                raise

    def _take(self) -> None:
        """Record the rounds that the controller has finished, and report each to ``on_round``."""
        with suppress(Empty):
            while True:
                this = self.made.get_nowait()
                self.record.add(this)
                self.on_round(this, self.engine)

    def _control_ends(self) -> bool:
        """End the controller. Returns whether it has ended: whether nothing can observe the engine or give orders now.

        We do not wait forever for a round that hangs. Such a round may still observe the engine and give an order.
        Nobody else can observe then without taking its readings away, so what it has not recorded stays unknown.
        """
        ended = self.controller.end(LAST_ROUND_S)
        self._take()
        if not ended:
            self.running.report_restart(f"the controller's last round is not over after {LAST_ROUND_S:g} s: left alone")
        return ended

    def _drain(self, source: OperatorState, arrived: int, given_up: Callable[[], bool]) -> bool:
        """Have the source let in what has arrived, and nothing more. Returns whether all of it went through in time."""
        until_s = time.monotonic() + DRAIN_LIMIT_S
        while source.completed < arrived and time.monotonic() < until_s and not given_up():
            time.sleep(WATCH_S)
            self.running.revive()
            self.engine.observe(self.clock.now_s())
        drained = self.running.drain(until_s - time.monotonic(), given_up)
        return drained and source.completed >= arrived
