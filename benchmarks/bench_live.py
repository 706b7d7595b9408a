"""The live engine on Spark: policies in real time, what monitoring costs, and the highest rate that is sustained.

Run it with ``make bench BENCHMARKS=benchmarks/bench_live.py``, or as a script with ``--part policies|monitor|load``.
The part ``policies`` is a short form of ``mead evaluate live``: one requirement, two policies, a minute each. Where the
Bellcore trace lies beside the project, its arrivals are used, and generated ones elsewhere.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from mead.applications.log_analysis import counter, matcher, parser
from mead.applications.log_analysis.calibration import calibrate
from mead.evaluate.comparison import PolicyContender
from mead.evaluate.live.comparison import BATCHES, LiveComparison, generated_arrivals, runs_of
from mead.evaluate.live.rows import live_table
from mead.evaluate.workloads import DEMAND_S, PATH, Workload
from mead.execute.detect import detect
from mead.execute.share_probe import actuation_delay_s
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.requirement import Requirement
from mead.spark.build import live_pipeline
from mead.spark.engine import SparkEngine
from mead.spark.inputs import TraceInput
from mead.spark.java_machine import java_cpu_s, java_pid
from mead.spark.operators import OnBatches, OnStream, Work
from mead.spark.quiet_start import quiet_start
from mead.spark.running import WARM_UP, RunningPipeline
from mead.spark.session import started
from mead.workload.files import read_trace
from mead.workload.generators.poisson import Poisson

if TYPE_CHECKING:
    from benchmarks.common import table
    from pyspark.sql import SparkSession
    from rich.table import Table
else:  # run as a script, whose folder is where its imports come from
    from common import table

BELLCORE = Path(__file__).parents[2] / "shared" / "data" / "bc-paug89.parquet"
RUN_S, SPARE_S = 60.0, 10.0
MONITOR_RATE_PER_S, MONITOR_S, MONITOR_ROUNDS = 1000.0, 10.0, 4
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
            actuation_delay_s(detect().open),
        )
        contenders = [PolicyContender.of(name) for name in ("static", "adaptive")]
        runs = runs_of([Requirement(PATH, 0.75)], contenders)
        done = [row for rows in comparison.calibrated(DEMAND_S).rows(runs) for row in rows]
        return live_table(done, workload.title)


@contextmanager
def light_pipeline(spark: SparkSession, rate_per_s: float, duration_s: float) -> Iterator[RunningPipeline]:
    """Log analysis with hardly any work per tuple, a core for each operator that wants one; warm, Poisson arrivals."""
    trace = Poisson(rate_per_s=rate_per_s, duration_s=duration_s).generate(np.random.default_rng(1))
    held = Workload("light", "light", 1e-4, trace).pipeline(Requirement(PATH, 1.0))
    operators = [replace(operator, shares=(1.0,)) for operator in held.operators]
    pipeline = live_pipeline(Pipeline(held.name, operators, held.edges, held.requirements), BATCHES)
    with tempfile.TemporaryDirectory() as name, closing(detect().open([o.name for o in pipeline.operators])) as shares:
        folder = Path(name)
        np.save(folder / "arrivals.npy", trace.timestamps_us - trace.timestamps_us[0])
        source = TraceInput(
            folder / "arrivals.npy", 1.0, folder / WARM_UP, "mead.workload.log_lines:log_lines", "line string"
        )
        work: dict[str, Work] = {
            "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
            "counter": OnStream(counter.count),
            "matcher": OnBatches(matcher.make_matcher(tried=LIGHT_TRIED), matcher.OUTPUT_SCHEMA),
        }
        running = RunningPipeline(spark, pipeline, source, work, folder, shares)
        try:
            running.start()
            running.begin(120.0)
            yield running
        finally:
            running.stop()


def monitor(spark: SparkSession) -> Table:
    """The same stream with and without anybody who looks, in turn."""
    result = table(
        f"The Workload Monitor at {MONITOR_RATE_PER_S:,.0f} tuples/s, {MONITOR_ROUNDS} rounds in turn",
        "",
        "Java, cores",
        "driver, cores",
        "micro-batch of the parser, ms",
    )
    seen: dict[str, list[tuple[float, float, float]]] = {"without": [], "with": []}
    duration_s = 2 * MONITOR_ROUNDS * (MONITOR_S + 2.0) + 30.0
    with light_pipeline(spark, MONITOR_RATE_PER_S, duration_s) as running:
        for _ in range(MONITOR_ROUNDS):
            seen["without"].append(_watched(spark, running, lambda _: None))
            engine = SparkEngine(running, 50_000)
            began_s = time.monotonic() - 1e-3
            seen["with"].append(_watched(spark, running, lambda now_s: engine.observe(now_s - began_s)))  # noqa: B023
            engine.close()
    for name, values in seen.items():
        java, driver, batch_ms = (statistics.median(column) for column in zip(*values, strict=True))
        result.add_row(name, f"{java:.3f}", f"{driver:.4f}", f"{batch_ms:.0f}")
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
    """As it stands in a table: no number where there is none."""
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


PARTS = {"policies": policies, "monitor": monitor, "load": load}


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", choices=PARTS, action="append", help="only this one; may be repeated")
    chosen = options.parse_args().part or PARTS
    console = Console(width=120)
    if detect().kind == "none":
        console.print(f"CPU shares cannot be set here: {detect()}")
        return
    with quiet_start():
        spark = started("bench_live")
    try:
        for part in chosen:
            console.print(PARTS[part](spark))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
