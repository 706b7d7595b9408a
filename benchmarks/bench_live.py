"""Benchmark the live engine on Spark: policies in real time, cost of monitor and loop, highest sustained rate.

Run it with ``make bench BENCHMARKS=benchmarks/bench_live.py``, or as a script with ``--part NAME``:

- ``policies``: a short form of ``python -m experiments live``, with one requirement and two policies, a minute each. It
  uses the Bellcore trace if that lies beside the project, and generated arrivals otherwise.
- ``monitor``: the same light stream without monitor, with the monitor, and with the whole control loop.
- ``worker``: the part of the monitor that runs in Python workers, measured without Spark.
- ``attach``: a query of another program under control.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from experiments.comparison import PolicyContender
from experiments.live.comparison import BATCHES, LiveComparison, generated_arrivals, runs_of
from experiments.live.rows import live_table
from experiments.workloads import DEMAND_S, PATH, Workload
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from rich.console import Console

import mead
from mead.cpu import closing_shares, detect, measure_actuation_delay_s
from mead.demo import counter, matcher, parser
from mead.demo.calibration import calibrate
from mead.history import IN_FOLDER, History
from mead.session import LiveResult, Session
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.build import live_pipeline
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.in_place import InPlaceOperator, InPlaceReader
from mead.spark.pipeline.operators import OnBatches, OnKeys, Work
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP, RunningPipeline
from mead.spark.runtime.java_machine import java_cpu_s, java_pid
from mead.spark.runtime.quiet_start import start_quietly
from mead.spark.runtime.spark_session import start_session
from mead.spark.sources.inputs import TraceInput
from mead.spark.telemetry.probe import STAMP
from mead.values import Knowledge, Pipeline, Requirement
from mead.workload import Poisson, read_trace

if TYPE_CHECKING:
    from benchmarks.common import best_s, table
    from pyspark.sql import SparkSession
    from rich.table import Table
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, table

BELLCORE = Path(__file__).parents[2] / "shared" / "data" / "bc-paug89.parquet"
RUN_S, SPARE_S = 60.0, 10.0
MONITOR_RATE_PER_S, MONITOR_S, MONITOR_ROUNDS = 1000.0, 10.0, 4
LOOP_POLICIES = ("adaptive", "mg1@interval_s=15")
LOOP_S, LOOP_WARM_UP_S = 60.0, 15.0
"""Before that, a short run of each policy compiles and loads what it needs, as it would in a run of hours."""

WORKER_ROWS = (200, 1_000, 10_000)
ATTACH_RATE_PER_S, ATTACH_DEMAND_S, ATTACH_BOUND_S, ATTACH_S = 100, 0.004, 3.0, 45.0
RATES_PER_S = (1_000, 10_000, 40_000, 80_000, 160_000, 320_000)
LOAD_S = 15.0
LIGHT_TRIED = 1
"""Patterns that the matcher tries, where operators are to be light."""


def bellcore(duration_s: float) -> Workload:
    """The recorded arrivals, or generated ones of the same rate; its title says which."""
    if BELLCORE.exists():
        trace = read_trace(BELLCORE).between(0.0, duration_s)
        return Workload("live", f"arrivals of {BELLCORE.name}", DEMAND_S, trace)
    arrivals, said = generated_arrivals(duration_s)
    return Workload("live", said, DEMAND_S, arrivals)


def policies(spark: SparkSession) -> Table:
    """Full shares, and ours."""
    workload = bellcore(RUN_S + SPARE_S)
    with tempfile.TemporaryDirectory() as folder:
        comparison = LiveComparison(
            spark,
            detect().open,
            workload,
            workload.trace(1),
            RUN_S,
            calibrate().tried(DEMAND_S),
            Path(folder),
            measure_actuation_delay_s(detect().open),
        )
        contenders = [PolicyContender.of(name) for name in ("static", "adaptive")]
        runs = runs_of([Requirement(PATH, 0.75)], contenders)
        done = [row for rows in comparison.calibrated(DEMAND_S).rows(runs) for row in rows]
        return live_table(done, workload.title)


@dataclass(frozen=True)
class Light:
    """Log analysis with hardly any work per tuple, under Poisson arrivals."""

    pipeline: Pipeline
    source: TraceInput
    work: dict[str, Work]

    @classmethod
    def of(cls, folder: Path, rate_per_s: float, duration_s: float, chosen: Sequence[str] = ()) -> Light:
        """A core for each operator that wants one; for those whose share is ``chosen``, the usual levels."""
        trace = Poisson(rate_per_s=rate_per_s, duration_s=duration_s).generate(np.random.default_rng(1))
        np.save(folder / "arrivals.npy", trace.timestamps_us - trace.timestamps_us[0])
        held = Workload("light", "light", 1e-4, trace).pipeline(Requirement(PATH, 1.0))
        operators = [o if o.name in chosen else replace(o, shares=(1.0,)) for o in held.operators]
        return cls(
            live_pipeline(Pipeline(held.name, operators, held.edges, held.requirements), BATCHES),
            TraceInput(folder / "arrivals.npy", 1.0, folder / WARM_UP, "mead.demo.log_lines:log_lines", "line string"),
            {
                "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
                "counter": OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=counter.KEYS, state=counter.STATE_SCHEMA),
                "matcher": OnBatches(matcher.make_matcher(tried=LIGHT_TRIED), matcher.OUTPUT_SCHEMA),
            },
        )

    @property
    def names(self) -> list[str]:
        """Names of its operators."""
        return [operator.name for operator in self.pipeline.operators]


@contextmanager
def light_pipeline(spark: SparkSession, rate_per_s: float, duration_s: float) -> Iterator[RunningPipeline]:
    """A pipeline that runs and is warm."""
    with tempfile.TemporaryDirectory() as name:
        light = Light.of(Path(name), rate_per_s, duration_s)
        with closing(detect().open(light.names)) as shares:
            running = RunningPipeline(spark, light.pipeline, light.source, light.work, Path(name), shares)
            try:
                running.start()
                running.warm_up(120.0)
                running.begin()
                yield running
            finally:
                running.stop()


def light_run(spark: SparkSession, policy: str, duration_s: float) -> LiveResult:
    """Run the same stream under the control loop, which chooses the matcher's share, as ``mead run`` does."""
    options = PolicyContender.of(policy).options
    with tempfile.TemporaryDirectory() as name:
        light = Light.of(Path(name), MONITOR_RATE_PER_S, duration_s + SPARE_S, chosen=["matcher"])
        with closing_shares(detect().open(light.names)) as shares:
            return run_pipeline(
                Session(light.pipeline, options),
                spark,
                Knowledge(light.pipeline, measure_actuation_delay_s(detect().open)),
                light.source,
                light.work,
                Path(name),
                shares,
                duration_s=duration_s,
            )


def monitor(spark: SparkSession) -> Table:
    """Measure the same stream without a monitor, with one, both in turn, and with monitor and controller."""
    result = table(
        f"The same stream of {MONITOR_RATE_PER_S:,.0f} tuples/s; in each, workers note when their rows arrived",
        "observer",
        "Java, cores",
        "driver, cores",
        "of it the loop",
        "micro-batch of the parser, ms",
    )
    seen: dict[str, list[tuple[float, float, float]]] = {"none": [], "the monitor": []}
    duration_s = 2 * MONITOR_ROUNDS * (MONITOR_S + 2.0) + 30.0
    with light_pipeline(spark, MONITOR_RATE_PER_S, duration_s) as running:
        for _ in range(MONITOR_ROUNDS):
            seen["none"].append(_watched(spark, running, lambda _: None))
            engine = SparkEngine(running, 50_000)
            began_s = time.monotonic() - 1e-3
            seen["the monitor"].append(
                _watched(spark, running, lambda now_s: engine.observe(now_s - began_s))  # noqa: B023
            )
            engine.close()
    for name, values in seen.items():
        java, driver, batch_ms = (statistics.median(column) for column in zip(*values, strict=True))
        result.add_row(name, f"{java:.3f}", f"{driver:.4f}", "", f"{batch_ms:.0f}")
    for policy in LOOP_POLICIES:
        light_run(spark, policy, LOOP_WARM_UP_S)
        done = light_run(spark, policy, LOOP_S)
        result.add_row(
            f"monitor and controller, {policy}",
            f"{_measured(done.cpu.java_s) / done.duration_s:.3f}",
            f"{done.cpu.driver_s / done.duration_s:.4f}",
            f"{done.loop_s / done.duration_s:.4f}",
            f"{_batch_ms(done, 'parser'):.0f}",
        )
    return result


def _batch_ms(done: LiveResult, operator: str) -> float:
    """How long a micro-batch of the operator took, by the median of the rounds."""
    readings = [this.observation.operators[operator] for this in done.rounds if this.observation is not None]
    return statistics.median(1e3 * one.serving_s / one.batches for one in readings if one.batches)


def worker(_: SparkSession) -> Table:
    """What a worker does for the monitor in each micro-batch: stamps are collected, summed up and noted."""
    result = table(
        "A worker's part in watching, without Spark",
        "rows of a micro-batch",
        "with, CPU us",
        "without, CPU us",
        "difference",
        "cores at 5 micro-batches/s",
    )
    for rows in WORKER_ROWS:
        with tempfile.TemporaryDirectory() as name:
            given = pa.record_batch({STAMP: pa.array(np.arange(rows)), "line": pa.array(["a line of a log"] * rows)})
            log = StreamLog(Path(name))
            reading = InPlaceReader(
                InPlaceOperator(Given(given), lambda batch: batch, log, given.schema, Path(name), every_stamp=True)
            )
            with_s, without_s = (
                best_s(work, 200)
                for work in (
                    lambda: list(reading.read(InputPartition(0))),  # noqa: B023 - called at once
                    lambda: log.write([given], given.schema).row(),  # noqa: B023
                )
            )
        extra_s = with_s - without_s
        result.add_row(
            f"{rows:,}", *(f"{1e6 * one:,.0f}" for one in (with_s, without_s, extra_s)), f"{5 * extra_s:.4f}"
        )
    return result


class Given(DataSourceStreamReader):
    """An input that costs nothing to read."""

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Always the same."""
        del partition
        yield self.rows


def attach(spark: SparkSession) -> Table:
    """A query that is not ours, whose workers are given what they need: what a round costs, and what comes of it."""

    def score(value: int) -> int:
        until_s = time.thread_time() + ATTACH_DEMAND_S
        while time.thread_time() < until_s:
            pass
        return value

    rows = spark.readStream.format("rate").option("rowsPerSecond", ATTACH_RATE_PER_S).load()
    scored = rows.select(sql.udf(score, "long", useArrow=False)("value").alias("score"))
    query = scored.writeStream.format("noop").queryName("scores").start()
    while len(query.recentProgress) < 3:  # the first starts the Python workers and takes seconds
        time.sleep(0.1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / IN_FOLDER
        with mead.attach(query, requirement=f"mean <= {ATTACH_BOUND_S:g} s", mode="act", history=file):
            time.sleep(ATTACH_S)
        query.stop()
        with History.read(file) as history:
            (past,) = history.runs()
            done, total = history.rounds(past.number), history.path_totals(past.number)
    given = [this.in_force.cores for this in done if this.in_force is not None]
    rounds_ms = [1e3 * sum(this.phase_s.values()) for this in done]
    (path,) = total.values()
    title = f"An attached query, {ATTACH_RATE_PER_S}/s of {1e3 * ATTACH_DEMAND_S:g} ms, {past.policy}, "
    result = table(f"{title}mean <= {ATTACH_BOUND_S:g} s, {ATTACH_S:g} s", "", "")
    result.add_row("CPU of a round, ms: median", f"{statistics.median(rounds_ms):.1f}")
    result.add_row("CPU of a round, ms: most", f"{max(rounds_ms):.1f}")
    result.add_row("cores: at first", f"{given[0]:.2f}")
    result.add_row("cores: mean", f"{statistics.fmean(given):.2f}")
    result.add_row("cores: at last", f"{given[-1]:.2f}")
    result.add_row("mean response, s", f"{path.mean_s or nan:.2f}")
    return result


def _watched(
    spark: SparkSession, running: RunningPipeline, each_second: Callable[[float], object]
) -> tuple[float, float, float]:
    """Cores of Java and of this process, and how long a micro-batch takes, over some seconds."""
    query = running.queries["parser"].running
    pid, last = java_pid(spark.sparkContext), query.lastProgress
    first = last.batchId if last else -1
    start_s, java_s, own_s = time.monotonic(), _measured(java_cpu_s(pid)), time.process_time()
    while time.monotonic() < start_s + MONITOR_S:
        time.sleep(1.0)
        each_second(time.monotonic())
    passed_s, own_s = time.monotonic() - start_s, time.process_time() - own_s
    java_s = _measured(java_cpu_s(pid)) - java_s
    took_ms = [one.durationMs["triggerExecution"] for one in query.recentProgress if one.batchId > first]
    return java_s / passed_s, own_s / passed_s, statistics.median(took_ms)


def _measured(cpu_s: float | None) -> float:
    """The number for a table; NaN if nothing was measured."""
    return nan if cpu_s is None else cpu_s


def load(spark: SparkSession) -> Table:
    """Rising rates, each with queries of its own."""
    result = table(
        f"Highest rate that is sustained, light operators, {LOAD_S:g} s each",
        "tuples/s",
        "done/s",
        "waiting at the end, s of arrivals",
        "Java, cores",
        "parser",
        "counter",
        "matcher",
        "mean response, s",
    )
    for rate_per_s in RATES_PER_S:
        with light_pipeline(spark, rate_per_s, LOAD_S + SPARE_S) as running:
            engine = SparkEngine(running, 50_000)
            done, backlog = 0, 0
            for second in range(1, int(LOAD_S) + 1):
                time.sleep(1.0)
                readings = engine.observe(float(second)).operators
                done, backlog = done + readings["matcher"].completed, max(one.backlog for one in readings.values())
            waiting = backlog / rate_per_s
            cores = [engine.used(name).cpu_s / LOAD_S for name in ("parser", "counter", "matcher")]
            result.add_row(
                f"{rate_per_s:,}",
                f"{done / LOAD_S:,.0f}",
                f"{waiting:.2f}",
                f"{_measured(engine.cpu.java_s) / LOAD_S:.2f}",
                *(f"{one:.2f}" for one in cores),
                f"{engine.paths[PATH].whole.mean_s or 0.0:.2f}",
            )
            engine.close()
        if waiting > LOAD_S / 3:
            break
    return result


PARTS = {"policies": policies, "monitor": monitor, "worker": worker, "attach": attach, "load": load}


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", choices=PARTS, action="append", help="only this one; may be repeated")
    chosen = options.parse_args().part or PARTS
    console = Console(width=120)
    if detect().kind == "none":
        console.print(f"CPU shares cannot be set here: {detect()}")
        return
    with start_quietly():
        spark = start_session("bench_live")
    try:
        for part in chosen:
            console.print(PARTS[part](spark))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
