"""One run on Spark: queries, controller and monitor started together, watched, and ended together.

The controller runs in a thread of its own. This thread looks after it and after the queries: what ends before its time
is started again, and what is in force stays in force meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from mead.clock import RunClock, Stopped
from mead.execute.negotiator import NegotiatedEngine
from mead.execute.shares import CpuUsage, ShareManager
from mead.knowledge.allocation import Allocation
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.round import Round
from mead.loop import ControlLoop, Engine, Mode
from mead.monitor.run_record import RunRecord
from mead.monitor.sketch import ResponseSketch
from mead.plan.drs import DRS
from mead.plan.policy import Policy
from mead.spark.engine import EngineCpu, SparkEngine
from mead.spark.inputs import Input
from mead.spark.negotiator import ExecutorNegotiator
from mead.spark.operators import Work
from mead.spark.running import RunningPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WARM_UP_LIMIT_S = 180.0
DRAIN_LIMIT_S = 60.0
LAST_ROUND_S = 30.0
"""A round that is under way at the end is waited for."""

WATCH_S = 0.25
"""So often queries and controller are looked at."""


@dataclass(frozen=True, eq=False)
class LiveResult:
    """What happened after the warm-up. Response times are of all that arrived, until it was done."""

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
    first: int
    """Arrivals of the source that came before: of the warm-up, of a run that went on, or of an old stream."""
    tuples: int
    """That arrived at the source."""
    restarts: Sequence[str]
    drained: bool
    """Whether everything that had arrived went through before the end."""
    interrupted: bool = False
    """Whether somebody ended it before its time."""

    @property
    def mean_cores(self) -> float:
        """Per operator: the MEAD paper's CPU percentage, divided by 100."""
        return sum(self.cores.values()) / len(self.cores)


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
    on_round: Callable[[Round, SparkEngine], None] = lambda *_: None,
    on_wait: Callable[[str], None] = lambda _: None,
    on_restart: Callable[[str], None] = lambda _: None,
) -> LiveResult:
    """Run a pipeline under a policy until the time is over, or somebody interrupts it.

    ``on_round`` is called in this thread, so that what it takes does not slow the controller down. ``on_restart`` hears
    what has failed, and why, while the run goes on.
    """
    running = RunningPipeline(spark, knowledge.pipeline, source, work, folder, shares, on_restart=on_restart)
    try:
        on_wait("starting the queries")
        running.start()
        running.begin(WARM_UP_LIMIT_S, on_wait)
        engine, clock = SparkEngine(running, kept_iats), RunClock()
        made: SimpleQueue[Round] = SimpleQueue()
        engine_of_loop: Engine = engine
        if isinstance(policy, DRS) and engine.executors.supported:
            # It places processors: to have fewer than it asked for is something that it can deal with.
            engine_of_loop = NegotiatedEngine(engine, ExecutorNegotiator(engine.executors), engine.allocation)
        loop = ControlLoop(engine_of_loop, policy, knowledge, clock, mode=mode, record=made.put, cpu_s=time.thread_time)
        record = RunRecord(loop.allocation)
        source_state = engine.states[knowledge.pipeline.order[0]]
        watch = _Watch(loop, clock, running, duration_s, _take(made, record, lambda this: on_round(this, engine)))
        interrupted = False
        try:
            watch.until_the_end()
        except KeyboardInterrupt:
            interrupted = True
            on_wait("interrupted: ending in good order")
        ended_s = min(clock.now_s(), duration_s)
        cpu, used = engine.cpu, {name: engine.used(name) for name in engine.states}  # a last round may take its time
        watch.end()
        engine.observe(clock.now_s())  # what has come since the last round counts too
        tuples = source_state.arrived - source_state.before
        on_wait("letting what has arrived go through")
        drained = running.drain(DRAIN_LIMIT_S)
        engine.observe(clock.now_s())
        engine.close()
        return LiveResult(
            pipeline=knowledge.pipeline,
            policy=policy.name,
            mode=mode,
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
            demands_s={name: one.demand_s for name, one in loop.demands.items()},
            overheads_s={name: one.overhead_s for name, one in loop.overheads.items()},
            first=source_state.before,
            tuples=tuples,
            restarts=tuple(running.restarts),
            drained=drained,
            interrupted=interrupted,
        )
    finally:
        running.stop()


@dataclass
class _Watch:
    """Keeps controller and queries alive until the time is over."""

    loop: ControlLoop
    clock: RunClock
    running: RunningPipeline
    duration_s: float
    take: Callable[[], None]
    controller: Thread | None = None

    def until_the_end(self) -> None:
        """Look after both."""
        self._start()
        while self.clock.now_s() < self.duration_s:
            time.sleep(WATCH_S)
            self.take()
            self.running.revive()
            early = self.clock.now_s() < self.duration_s - self.loop.policy.interval_s
            if early and self.controller is not None and not self.controller.is_alive():
                self.running.restarted("the controller ended before its time and is started again")
                self._start()

    def end(self) -> None:
        """Nothing is ordered any more when this returns."""
        self.clock.stop()
        if self.controller is not None:
            self.controller.join(LAST_ROUND_S)
        self.take()

    def _start(self) -> None:
        self.controller = Thread(target=self._control, name="mead-controller", daemon=True)
        self.controller.start()

    def _control(self) -> None:
        with suppress(Stopped):
            self.loop.run(self.duration_s)


def _take(made: SimpleQueue[Round], record: RunRecord, show: Callable[[Round], None]) -> Callable[[], None]:
    """Fetch the rounds that the controller has put down."""

    def take() -> None:
        while True:
            try:
                this = made.get_nowait()
            except Empty:
                return
            record.add(this)
            show(this)

    return take
