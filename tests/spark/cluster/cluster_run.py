"""The log analysis on a cluster of two executors: a program of its own, for a process has one Spark master at most."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from tests.spark.hurried import hurry
from tests.waiting import PATIENCE_S

from mead.clock import RunClock
from mead.cpu import PROCESSES, detect
from mead.demo import counter, matcher, parser
from mead.loop import ControlLoop
from mead.policies.drs.policy import DRS, DRSOptions
from mead.queueing import Edge
from mead.session import Observer, Session
from mead.session.negotiation import NegotiatedEngine
from mead.session.record import RunRecord
from mead.spark.cluster import executors as executors_module
from mead.spark.cluster.executors import HOLD_S, ExecutorNegotiator, Executors, SlidingMaximum
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.end_requests import EndRequests
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnBatches, OnKeys, Work
from mead.spark.pipeline.query_builder import STREAMS
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.pipeline.wiring import RESULTS
from mead.spark.runtime.spark_session import start_session
from mead.spark.sources.inputs import TraceInput
from mead.values import Allocation, Batches, Knowledge, Operator, Pipeline, Resources, Round

MASTER = "local-cluster[2,1,1024]"
ROWS, ROWS_PER_S = 600, 100
GROWN_S = 120
"""How long an executor may take to come."""

LONG_ROWS = 4 * GROWN_S * ROWS_PER_S
"""They arrive for longer than a busy machine takes for the first micro-batch and for that executor."""

COME = "s ago has taken effect"
WORK: dict[str, Work] = {
    "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
    "counter": OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=counter.KEYS, state=counter.STATE_SCHEMA),
    "matcher": OnBatches(matcher.make_matcher(), matcher.OUTPUT_SCHEMA),
}


def operator(name: str, replicas: int = 1) -> Operator:
    return Operator(name, 0.0005, batches=Batches(0.1), max_replicas=replicas)


LOG_ANALYSIS = Pipeline(
    "log-analysis",
    [operator(name) for name in WORK],
    [Edge("parser", "counter"), Edge("parser", "matcher")],
)
ONE = Pipeline("one", [operator("parser", replicas=2)])


def wait(reached: Callable[[], Any], what: str, limit_s: float = PATIENCE_S) -> None:
    until_s = time.monotonic() + limit_s
    while not reached():
        if time.monotonic() > until_s:
            raise TimeoutError(what)
        time.sleep(0.1)


def processes(program: str) -> list[int]:
    """Of this test, with this in their command line."""
    found = []
    for folder in PROCESSES.iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_text(errors="replace")
                environment = (folder / "environ").read_text(errors="replace")
            except OSError:
                continue
            if program in words and f"MEAD_TEST={os.getpid()}" in environment:
                found.append(int(folder.name))
    return found


def source(folder: Path, rows: int = ROWS) -> TraceInput:
    folder.mkdir()
    np.save(folder / "arrivals.npy", np.arange(rows) * (1_000_000 // ROWS_PER_S))
    return TraceInput(folder / "arrivals.npy", 1.0, None, "mead.demo.log_lines:log_lines", "line string")


def done(running: RunningPipeline, name: str) -> int:
    progress = running.queries[name].running.lastProgress
    return json.loads(progress.sources[0].endOffset)["count"] if progress else 0


def drained(running: RunningPipeline) -> None:
    """Everything has gone through. On a busy machine a query may have to be started again."""
    wait(lambda: running.revive() == "" and done(running, "parser") == ROWS, "the source")
    wait(lambda: running.revive() == "" and running.drain(60), "what is on its way")


def log_analysis(spark: Any, folder: Path) -> dict[str, Any]:
    """With an executor killed half-way."""
    executors, detection = Executors(spark), detect()
    with closing(detection.open(list(WORK))) as shares:
        running = RunningPipeline(spark, LOG_ANALYSIS, source(folder), WORK, folder, shares)
        running.start()
        try:
            wait(lambda: done(running, "parser") > ROWS // 3, "the first third")
            os.kill(processes("CoarseGrainedExecutorBackend")[0], signal.SIGKILL)
            drained(running)
            usages = {name: shares.usage(name) for name in WORK}
            executors.order(2)
            wait(lambda: len(executors.running) == 2, "a new executor")
        finally:
            running.stop()
        totals = spark.read.parquet(str(folder / RESULTS / "counter")).groupBy("component", "level").max("count")
        return {
            "totals": sum(row[2] for row in totals.collect()),
            "parsed": StreamLog(folder / STREAMS / "parser").end,
            "matched": spark.read.parquet(str(folder / RESULTS / "matcher")).count(),
            "matched_in_log": StreamLog(folder / STREAMS / "matcher").end,
            "cpu_s": {name: usage.cpu_s for name, usage in usages.items() if usage},
            "restarts": list(running.restarts),
        }


def _with(engine: SparkEngine, replicas: int) -> int:
    """How many executors there are under a plan of so many replicas."""
    engine.apply(Allocation.of(parser=Resources(1.0, replicas)))
    wait(lambda: len(engine.executors.running) == replicas, f"{replicas} executors")
    return len(engine.executors.running)


def _replaced(engine: SparkEngine) -> tuple[str, str]:
    """The last executor, which is killed, and the one that comes for it."""
    (last,) = engine.executors.running
    for pid in processes("CoarseGrainedExecutorBackend"):
        with suppress(ProcessLookupError):  # one that was let go is just ending
            os.kill(pid, signal.SIGKILL)
    wait(lambda: engine.executors.running not in {(), (last,)}, "an executor for the one that was killed")
    return last, engine.executors.running[0]


def plan(spark: Any, folder: Path) -> dict[str, Any]:
    """Executors by the plan: from two to one and back, while rows arrive. What is not wanted goes at once.

    The one that is left is killed: it is wanted, and another has to come.
    """
    executors_module.HOLD_S = 0.0
    with closing(detect().open(["parser"])) as shares:
        running = RunningPipeline(spark, ONE, source(folder), WORK, folder, shares)
        running.start()
        try:
            engine = SparkEngine(running, 1000)
            numbers = [len(engine.executors.running), _with(engine, 1)]
            replaced = _replaced(engine)
            numbers.append(_with(engine, 2))
            drained(running)
            engine.close()
        finally:
            running.stop()
    return {
        "executors": numbers,
        "replaced": replaced,
        "parsed": StreamLog(folder / STREAMS / "parser").end,
        "restarts": list(running.restarts),
    }


def negotiation(spark: Any) -> dict[str, int]:
    """Give one back, ask for three more, and look what came of it, at once and later."""
    executors = Executors(spark)
    negotiator = ExecutorNegotiator(executors)
    held = negotiator.held
    negotiator.release(1)
    wait(lambda: negotiator.held == held - 1, "the end of an executor")
    at_once = negotiator.request(3)
    wait(lambda: negotiator.held == held, "an executor")
    # The engine follows what is in force, two tasks, and has done so for longer than it keeps what nobody wants.
    executors._highest = SlidingMaximum(HOLD_S, lambda: time.monotonic() + 2 * HOLD_S)
    executors.follow(held)
    return {"held": held, "at_once": at_once, "wanted": executors._ordered, "held_at_last": negotiator.held}


class EndAtOneReplica(Observer):
    """Asks for the end of a run once the parser has one replica, however long a busy machine takes for that."""

    def __init__(self, requests: EndRequests) -> None:
        self.requests = requests

    def round(self, this: Round) -> None:
        if this.in_force is not None and this.in_force["parser"].replicas == 1:
            self.requests.count = 1


def controlled(spark: Any, folder: Path) -> dict[str, Any]:
    """The loop itself, under DRS with one processor to place: it gives one back, and its executor goes at once.

    Without a negotiator executors follow the tasks, and one that is wanted no more is kept for a minute.
    """
    executors_module.HOLD_S = HOLD_S
    policy = DRSOptions(interval_s=1.0, k_max=1, t_ra_s=0.0, window=1)
    requests = EndRequests()
    with closing(detect().open(["parser"])) as shares:
        result = run_pipeline(
            Session(ONE, policy, observers=[EndAtOneReplica(requests)]),
            spark,
            Knowledge(ONE),
            source(folder, LONG_ROWS),
            WORK,
            folder,
            shares,
            duration_s=LONG_ROWS / ROWS_PER_S,
            requests=requests,
        )
    wait(lambda: len(Executors(spark).running) == 1, "the end of an executor")
    return {
        "replicas": [allocation["parser"].replicas for _, allocation in result.timeline],
        "reasons": _reasons(result.rounds),
        "failed_rounds": result.failed_rounds,
        "rows": result.first + result.tuples,
        "drained": result.drained,
        "parsed": StreamLog(folder / STREAMS / "parser").end,
        "restarts": list(result.restarts),
    }


def grown(spark: Any, folder: Path) -> dict[str, Any]:
    """The loop itself, from one executor on, under DRS with two processors to place.

    The second one is ordered, takes its time to start, and is put to use when it has come.
    """
    Executors(spark).order(1)
    wait(lambda: len(Executors(spark).running) == 1, "one executor alone")
    start = Allocation.of(parser=Resources(1.0, 1))
    record = RunRecord(start)
    with closing(detect().open(["parser"])) as shares:
        running = RunningPipeline(spark, ONE, source(folder, LONG_ROWS), WORK, folder, shares)
        running.start()
        try:
            wait(lambda: done(running, "parser") > 0, "the first micro-batch")
            clock = RunClock()
            engine = SparkEngine(running, 1000)
            negotiated = NegotiatedEngine(engine, ExecutorNegotiator(engine.executors), start)
            policy = DRS(DRSOptions(interval_s=1.0, k_max=2, t_ra_s=0.0, window=1))
            loop = ControlLoop(negotiated, policy, Knowledge(ONE), clock, record=record.add)
            loop.allocation = start
            negotiated.apply(start)
            while clock.now_s() < GROWN_S and not any(COME in reason for reason in _reasons(record.last)):
                loop.clock.wait_until(clock.now_s() + policy.interval_s)
                loop.record(loop.round())
            executors = len(engine.executors.running)
            engine.close()
        finally:
            running.stop()
    return {
        "replicas": [allocation["parser"].replicas for _, allocation in record.timeline],
        "executors": executors,
        "reasons": _reasons(record.last),
        "errors": [this.error for this in record.last if this.error],
    }


def _reasons(rounds: Iterable[Round]) -> list[str]:
    return [str(this.plan.reason) for this in rounds if this.plan]


def main(folder: Path) -> None:
    """Print what came of it."""
    hurry()
    os.environ["MEAD_TEST"] = str(os.getpid())  # executors inherit it
    began_s = time.monotonic()
    spark = start_session("cluster test", master=MASTER)
    try:
        found = {
            "log_analysis": log_analysis(spark, folder / "a"),
            "negotiation": negotiation(spark),
            "plan": plan(spark, folder / "b"),
            "controlled": controlled(spark, folder / "c"),
            "grown": grown(spark, folder / "d"),
        }
    finally:
        spark.stop()
    wait(lambda: not processes("CoarseGrainedExecutorBackend"), "the end of the executors")
    wait(lambda: not processes("-m\0mead.spark.worker_daemon"), "the end of their workers")
    print(json.dumps(found | {"seconds": time.monotonic() - began_s}))  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(Path(sys.argv[1]))
