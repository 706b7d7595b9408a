"""One run on Spark: queries and session started together, watched, and ended together.

The session runs the controller in a thread of its own. This thread watches both the controller and the queries, and
restarts what ends too early; meanwhile the allocation in force stays in force. A run that ends early still has a
result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from mead.cpu import ShareManager
from mead.loop import Engine
from mead.session import LiveResult, NegotiatedEngine, Session
from mead.spark.cluster.capacity import find_capacity
from mead.spark.cluster.executors import ExecutorNegotiator
from mead.spark.pipeline.end_requests import EndRequests
from mead.spark.pipeline.engine import OperatorState, SparkEngine
from mead.spark.pipeline.operators import Work
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.java_machine import spark_loss
from mead.spark.sources.inputs import Input
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.values import Knowledge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP_LIMIT_S = 180.0
DRAIN_LIMIT_S = 60.0
"""Longest time for the tuples that have arrived by the end of a run to go through."""

LAST_ROUND_S = 30.0
"""Longest wait at the end for a round that is under way."""

WATCH_S = 0.25
"""Time between two checks of the queries and the controller."""


class SparkLostError(RuntimeError):
    """Spark was lost in the middle of a run."""

    def __init__(self, reason: str, result: LiveResult | None = None) -> None:
        super().__init__(reason)
        self.result = result
        """The result up to the loss; None if the run had not begun."""


def run_pipeline(
    session: Session,
    spark: SparkSession,
    knowledge: Knowledge,
    source: Input,
    work: Mapping[str, Work],
    folder: Path,
    shares: ShareManager,
    *,
    duration_s: float = inf,
    streams: RabbitStreams | None = None,
    requests: EndRequests | None = None,
    start_over: bool = False,
) -> LiveResult:
    """Run a session on Spark for ``duration_s``, or until Ctrl-C, SIGTERM or SIGHUP asks for its end.

    The first request ends the run: tuples that have arrived by then have a minute to go through. A second request ends
    that too. ``requests`` passed by the caller are still held afterwards, so that no signal interrupts the writing of a
    report. ``streams`` join the operators; without them, embedded logs do. No other run may use the
    folder: callers hold its lock, and have checked its files (`check_folder`). ``start_over`` sets them aside.

    Raises KeyboardInterrupt if an end is requested before the run has begun, SparkLostError with the result if Spark
    is lost, and OperatorError, before anything in the folder is changed, if an operator cannot work.
    """
    pipeline, knowledge = knowledge.pipeline, replace(knowledge, capacity=find_capacity(spark.sparkContext))
    follows = session.options is not None and session.options.follows_inputs
    running = RunningPipeline(
        spark, pipeline, source, work, folder, shares, streams, knowledge.start, follows, on_restart=session.warn
    )
    with requests or EndRequests() as asked:
        asked.hold()

        def wait(doing: str) -> None:
            asked.check()
            session.wait(doing)

        try:
            running.start(wait, start_over=start_over)
            running.warm_up(WARM_UP_LIMIT_S, wait)
            asked.check()
            run = _Run(session, running, knowledge, duration_s, asked)
            running.begin()  # after the engine has begun to count
            result = run.result()
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

    session: Session
    running: RunningPipeline
    knowledge: Knowledge
    duration_s: float
    requests: EndRequests
    engine: SparkEngine = field(init=False)
    loss: str = ""

    def __post_init__(self) -> None:
        self.engine = SparkEngine(self.running, self.session.kept_iats)

    def result(self) -> LiveResult:
        """Run until the time is over, an end is requested or Spark is lost; then let arrived tuples go through."""
        with self._while_spark_is_there():
            self._control()
        session, engine, asked, drained = self.session, self.engine, self.requests.count, False
        if asked:
            session.wait("interrupted: ending in good order")
        ended_s = min(session.clock.now_s(), self.duration_s)
        cpu, used = engine.cpu, {name: engine.used(name) for name in engine.states}  # a last round may take its time
        ended = session.end(LAST_ROUND_S)
        cpu = replace(cpu, driver_s=engine.cpu.driver_s)  # the last round counts, as it does in loop_s
        if not ended:
            self.running.report_restart(f"the controller's last round is not over after {LAST_ROUND_S:g} s: left alone")
        first = self.running.pipeline.order[0]
        self.running.inputs[first].insist()  # tuples that have arrived by now have to be known, so that they go through
        with self._while_spark_is_there():
            if ended:
                engine.observe(session.clock.now_s())  # tuples since the last round count too
        source = engine.states[first]
        arrived = source.arrived
        with self._while_spark_is_there():
            if ended:
                session.wait("letting what has arrived go through")
                drained = self._drain(source, arrived, given_up=lambda: self.requests.count > asked)
                engine.observe(session.clock.now_s())
            engine.close()
        record, estimates = session.record, session.loop.estimates
        return LiveResult(
            pipeline=self.running.pipeline,
            policy=session.policy.name,
            mode=session.mode,
            duration_s=ended_s,
            rounds=tuple(record.last),
            total_rounds=record.rounds,
            failed_rounds=record.failed,
            changes=record.changes,
            timeline=tuple(record.timeline),
            cores={name: core_s / ended_s for name, core_s in record.core_s(ended_s).items()},
            cost=record.cost_s(self.running.pipeline, ended_s) / ended_s,
            responses={path: monitor.whole for path, monitor in engine.paths.items()},
            parts={path: monitor.parts for path, monitor in engine.paths.items()},
            start=record.start,
            cpu=cpu,
            loop_s=record.loop_s,
            used=used,
            demands_s=estimates.demands_s,
            overheads_s=estimates.overheads_s,
            rows_in={name: state.rows_in for name, state in engine.states.items()},
            rows_out={name: state.rows_out for name, state in engine.states.items()},
            counts=self.running.counts(),
            first=source.before,
            tuples=max(arrived, source.completed) - source.before,
            restarts=tuple(self.running.restarts),
            drained=drained,
            complaints=dict(self.running.complaints.counts),
            loss=self.loss,
            failure=self.loss or ("" if drained else self._failure(waited=ended and self.requests.count == asked)),
            number=session.number,
        )

    def _control(self) -> None:
        """Begin the session, and keep the controller and the queries alive until the run ends."""
        engine: Engine = self.engine
        if getattr(self.session.policy, "negotiates", False) and not self.engine.executors.local:
            engine = NegotiatedEngine(engine, ExecutorNegotiator(self.engine.executors), self.engine.allocation)
        self.session.begin(engine, self.knowledge, self.duration_s, responses=self.engine.paths)
        self.session.watch(self._over, self.running.report_restart)

    def _over(self) -> bool:
        if self.session.clock.now_s() >= self.duration_s or self.requests.count:
            return True
        time.sleep(WATCH_S)
        self.running.revive()
        return False

    def _failure(self, *, waited: bool) -> str:
        """Return which operator does not work; empty if tuples are left because there were too many of them.

        Unless they had the whole time to go through, an operator that has completed nothing is no failure.
        """
        if failing := self.running.failing:
            return f"{failing} failed to the end of the run: {self.running.queries[failing].failed_because}"
        for name, state in self.engine.states.items() if waited else ():
            waiting = state.arrived - state.completed
            if not state.rows_in and (waiting or self.running.wiring.is_first(name)):
                return f"{name} has completed nothing" + (f", and {waiting:,} tuples wait for it" if waiting else "")
        return ""

    @contextmanager
    def _while_spark_is_there(self) -> Iterator[None]:
        """If the block fails because Spark is gone, note why and do not raise: the result so far still counts."""
        try:
            yield
        except Exception:
            self.loss = spark_loss(self.running.spark.sparkContext)
            if not self.loss:
                raise

    def _drain(self, source: OperatorState, arrived: int, given_up: Callable[[], bool]) -> bool:
        """Let the source admit the arrived tuples and no others. Returns whether all of them went through in time."""
        until_s = time.monotonic() + DRAIN_LIMIT_S
        while source.completed < arrived and time.monotonic() < until_s and not given_up():
            time.sleep(WATCH_S)
            self.running.revive()
            self.engine.observe(self.session.clock.now_s())
        drained = self.running.drain(until_s - time.monotonic(), given_up)
        return drained and source.completed >= arrived
