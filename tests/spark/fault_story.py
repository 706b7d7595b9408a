"""A run of the log analysis to which everything happens that can: what was done to it, and what it did."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.spark import log_pipeline as logs

from mead.applications.log_analysis import matcher
from mead.clock import WallClock
from mead.config.policies import AdaptiveOptions
from mead.execute.detect import detect
from mead.execute.shares import CpuUsage, ShareManager
from mead.knowledge.allocation import Allocation
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.round import Round
from mead.loop import ControlLoop
from mead.plan.registry import policy
from mead.spark import engine as engine_module
from mead.spark import running as running_module
from mead.spark.engine import SparkEngine
from mead.spark.operators import OnBatches, Work
from mead.spark.progress import Progress
from mead.spark.running import RunningPipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATE_PER_S = 120
FIRST, STALL_S, LENGTH_S = 3 * RATE_PER_S, 4.0, 600
"""The stream stalls after a few seconds. It is longer than the story."""

PATIENCE_S = 120.0


def times_s() -> list[float]:
    return [n / RATE_PER_S + STALL_S * (n >= FIRST) for n in range(LENGTH_S * RATE_PER_S)]


def work(broken: Path) -> dict[str, Work]:
    """The matcher fails as long as a file is there."""
    match = matcher.make_matcher(tried=logs.TRIED)

    def fragile(batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.num_rows and broken.exists():
            raise RuntimeError("the pattern server is away")
        return match(batch)

    return {**logs.work(), "matcher": OnBatches(fragile, matcher.OUTPUT_SCHEMA)}


NOTICED = {
    "nothing is told": "keep, because .* has completed nothing for .* s, with .* tuples waiting",
    "offsets are gone": "keep, because .* reports offsets that make no sense",
    "the clock was set back": "keep, because tuples of .* are said to have arrived in the future",
    "CPU time runs backwards": "keep, because busy_s of .* is said to be -",
}
"""What the loop says of absurd readings."""


class Killed(Exception):  # noqa: N818 - not ours to handle
    """What ends the controller's thread."""


@dataclass
class Controller:
    """The loop in a thread that can be made to end, and started again."""

    engine: SparkEngine
    rounds: list[Round] = field(default_factory=list)
    kill: bool = False

    def __post_init__(self) -> None:
        options = AdaptiveOptions(interval_s=0.5)
        self.loop = ControlLoop(
            self.engine, policy(options), Knowledge(self.engine.pipeline), WallClock(), record=self.record
        )
        self.start()

    def start(self) -> None:
        self.thread = Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        try:
            self.loop.run(600.0)
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
class SpoiltProgress:
    """Messages of queries, changed before anybody reads them."""

    fetched: Callable[[], list[Progress]]
    spoil: Callable[[list[Progress]], list[Progress]]

    def fetch(self) -> list[Progress]:
        return self.spoil(self.fetched())

    def close(self) -> None:
        raise NotImplementedError


@dataclass
class SpoiltShares:
    """The same, with absurd readings."""

    shares: ShareManager
    reading: Callable[[], CpuUsage | None]

    def usage(self, operator: str) -> CpuUsage | None:
        del operator
        return self.reading()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shares, name)


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
    lines: int = 0
    """That were let in."""
    drained: bool = False


def parents(processes: tuple[int, ...]) -> dict[int, int]:
    """By process, that which started it."""
    found = {}
    for pid in processes:
        try:
            found[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has just ended
            continue
    return found


def kill_workers(shares: ShareManager, operator: str, *, daemon: bool) -> int:
    """kill -9; how many there were."""
    by_process = parents(shares.processes(operator))
    chosen = [pid for pid, parent in by_process.items() if (parent not in by_process) == daemon]
    for pid in chosen:
        os.kill(pid, signal.SIGKILL)
    return len(chosen)


def batches(folder: Path, operator: str) -> int:
    return len((folder / "streams" / operator / "index").read_bytes().splitlines())


def goes_on(folder: Path, operator: str, before: int) -> bool:
    return batches(folder, operator) > before + 1


def wait(until: Callable[[], bool], what: str) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        assert monotonic() < limit_s, what
        sleep(0.05)


def lived_through(spark: SparkSession, folder: Path) -> Story:
    """All faults, one after the other."""
    patch = pytest.MonkeyPatch()
    patch.setattr(running_module, "LANDING_S", 1)
    patch.setattr(running_module, "WARM_BATCHES", 3)
    told, pipeline, broken = Story(folder), logs.pipeline(), folder / "broken"
    shares = detect().open([operator.name for operator in pipeline.operators])
    running = RunningPipeline(spark, pipeline, logs.source(folder, times_s()), work(broken), folder, shares)
    try:
        running.start()
        running.begin(limit_s=PATIENCE_S)
        engine = SparkEngine(running, kept_iats=1000)
        controller = Controller(engine)
        the_source_stalls(told, running, controller)
        metrics_are_missing_or_absurd(told, running, engine, controller)
        for daemon in (False, True):
            workers_are_killed(told, running, daemon=daemon)
        a_task_fails_again_and_again(told, running, broken, controller)
        the_controller_dies(told, controller)
        told.drained = running.drain(PATIENCE_S)
        progress = running.queries["parser"].running.lastProgress
        assert progress is not None
        told.lines = json.loads(progress.sources[0].endOffset)["count"]
        controller.die()
        told.every, told.restarts = controller.rounds, list(running.restarts)
        engine.close()
    finally:
        running.stop()
        shares.close()
        patch.undo()
    return told


def revived(running: RunningPipeline, until: Callable[[], bool]) -> None:
    """Wait, and meanwhile look after the queries as a run does."""

    def done() -> bool:
        running.revive()
        return until()

    wait(done, "the queries do not go on")


def the_source_stalls(told: Story, running: RunningPipeline, controller: Controller) -> None:
    def quiet() -> list[Round]:
        seen = [(this, this.observation.operators["parser"]) for this in controller.rounds if this.observation]
        return [this for this, parser in seen if parser.arrived == 0]

    revived(running, lambda: len(quiet()) >= 4)
    told.rounds["the source stalls"] = quiet()
    rounds = len(controller.rounds)
    revived(running, lambda: len(controller.rounds) > rounds and controller.rounds[-1] not in quiet())


def the_controller_dies(told: Story, controller: Controller) -> None:
    controller.die()
    told.before_death, rounds = controller.loop.allocation, len(controller.rounds)
    controller.start()
    wait(lambda: len(controller.rounds) > rounds + 2, "the controller does not go on")
    told.first_alive = controller.rounds[rounds]


def metrics_are_missing_or_absurd(
    told: Story, running: RunningPipeline, engine: SparkEngine, controller: Controller
) -> None:
    """One after the other, each for three rounds; what comes meanwhile is told to the engine later."""
    queue, shares, held = engine.progress, running.shares, list[Progress]()

    def during(name: str) -> None:
        """Until the loop has noticed, where it can."""
        start, because = len(controller.rounds) + 1, NOTICED.get(name, "")
        revived(running, lambda: any(re.match(because, r) for r in reasons(controller.rounds[start:])))
        told.rounds[name] = controller.rounds[start:]

    def hold(messages: list[Progress]) -> list[Progress]:
        held.extend(messages)
        return []

    def clock_set_back(messages: list[Progress]) -> list[Progress]:
        return [replace(m, started_us=m.started_us - 10**8, done_us=m.done_us - 10**8) for m in messages]

    def without_offsets(messages: list[Progress]) -> list[Progress]:
        held.extend(messages)
        return [replace(m, end_offset={}) for m in messages]

    during("all is well")
    engine.progress = SpoiltProgress(queue.fetch, without_offsets)  # type: ignore[assignment]
    during("offsets are gone")
    engine.progress = SpoiltProgress(queue.fetch, hold)  # type: ignore[assignment]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_module, "SILENT_S", 0.7)
        during("nothing is told")
    engine.progress = SpoiltProgress(lambda: [held.pop(0) for _ in range(len(held))] + queue.fetch(), list)  # type: ignore[assignment]
    sleep(1.0)
    engine.progress = SpoiltProgress(queue.fetch, clock_set_back)  # type: ignore[assignment]
    during("the clock was set back")
    engine.progress = queue
    backwards = (CpuUsage(-float(n), 0, 0, 0.0) for n in count())
    for name, reading in (
        ("CPU time is not measured", lambda: None),
        ("CPU time runs backwards", partial(next, backwards)),
    ):
        running.shares = SpoiltShares(shares, reading)
        during(name)
    running.shares = shares


def workers_are_killed(told: Story, running: RunningPipeline, *, daemon: bool) -> None:
    """Of every operator, the stateful one included."""
    before = {operator: batches(told.folder, operator) for operator in running.work}
    for operator in running.work:
        assert kill_workers(running.shares, operator, daemon=daemon) > 0
    kind = "daemon" if daemon else "worker"
    for operator in running.work:
        revived(running, partial(goes_on, told.folder, operator, before[operator]))
        told.after_kill[f"{operator} {kind}"] = batches(told.folder, operator) - before[operator]


def a_task_fails_again_and_again(told: Story, running: RunningPipeline, broken: Path, controller: Controller) -> None:
    start = len(controller.rounds)
    broken.touch()
    wait(lambda: not running.queries["matcher"].running.isActive, "the query does not give up")
    assert running.revive() == "matcher is down and will be started again"
    broken.unlink()
    before = batches(told.folder, "matcher")
    revived(running, lambda: batches(told.folder, "matcher") > before)
    told.rounds["a query is down"] = controller.rounds[start:]


def reasons(rounds: list[Round]) -> list[str]:
    return [this.plan.reason for this in rounds if this.plan is not None]
