"""Measure load-aware grouping: unequal replicas with a queue each in virtual time, and unequal workers on Spark.

On Spark the work of a row is to wait, as for the answer of a service, so that other load on the machine counts little.
The service of one worker answers more slowly than those of the others.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from mead.config import GroupingKind
from mead.cpu import DryRunShares
from mead.policies.baselines.static import StaticOptions
from mead.session import LiveResult, Session
from mead.simulator import Conditions, Grouping, Simulation
from mead.spark.pipeline.operators import OnBatches
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.spark.runtime.quiet_start import start_quietly
from mead.spark.runtime.spark_session import start_session, stop_session
from mead.spark.sources.inputs import TraceInput
from mead.spark.sources.trace import SPARE_S
from mead.values import Batches, Knowledge, Operator, Pipeline
from mead.workload import Poisson

if TYPE_CHECKING:
    from benchmarks.common import table
    from pyspark.sql import SparkSession
else:  # run as a script, whose folder is where its imports come from
    from common import table

DEMAND_S, DURATION_S = 0.002, 600.0
SPEEDS = {"equal": (1.0, 1.0, 1.0, 1.0), "two of half the speed": (1.0, 1.0, 0.5, 0.5)}
LOADS = (0.3, 0.5, 0.7, 0.85)

WORKERS, LIVE_S = 3, 20.0
SLOWER, RATES_PER_S = (1, 4), (300.0,)
"""How many times slower one of three workers is. With equal parts it then takes 0.8 of the time for its rows alone."""


def virtual_time() -> list[Table]:
    """Mean and 95th percentile of the response time, by load and grouping."""
    pipeline = Pipeline("pool", [Operator("worker", DEMAND_S, 1.0, (1.0,), max_replicas=4)])
    tables = []
    for title, speeds in SPEEDS.items():
        shown = table(
            f"four replicas, {title}: mean (p95) in ms", "grouping, loads measured", *(f"load {n}" for n in LOADS)
        )
        for kind in get_args(GroupingKind):
            measured = kind in {"least_utilised", "weighted_random"}
            for interval_s in (1.0, 30.0) if measured else (1.0,):
                cells = []
                for load in LOADS:
                    arrivals = Poisson(rate_per_s=load * sum(speeds) / DEMAND_S, duration_s=DURATION_S)
                    conditions = Conditions(groupings={"worker": Grouping(kind, speeds, interval_s)})
                    simulation = Simulation(
                        pipeline, arrivals.generate(np.random.default_rng(1)), 1, conditions=conditions
                    )
                    simulation.drain()
                    ms = 1000 * simulation.responses("worker").response_s
                    cells.append(f"{ms.mean():,.1f} ({np.percentile(ms, 95):,.0f})")
                every = f", every {interval_s:g} s" if measured else ""
                shown.add_row(f"{kind}{every}", *cells)
        tables.append(shown)
    return tables


def on_spark() -> list[Table]:
    """Response times of one operator with three workers, by grouping, rate and speed of one worker."""
    cases = [(slower, rate_per_s) for slower in SLOWER for rate_per_s in RATES_PER_S]
    headings = [f"{rate:g}/s, one worker {slower} x" if slower > 1 else f"{rate:g}/s, equal" for slower, rate in cases]
    shown = table(f"{WORKERS} workers on Spark, 2 ms a row: mean (p95) in s", "grouping", *headings)
    with start_quietly():
        spark = start_session("bench_grouping", master=f"local[{WORKERS + 1}]")
    try:
        for kind in ("round_robin", "least_utilised"):
            cells = []
            for slower, rate_per_s in cases:
                with tempfile.TemporaryDirectory() as folder:
                    result = live_run(spark, Path(folder), slower, rate_per_s, load_aware=kind == "least_utilised")
                times = result.responses["worker"]
                cells.append(f"{times.mean_s or 0.0:.2f} ({times.percentile_s(95) or 0.0:.2f})")
            shown.add_row(kind, *cells)
    finally:
        stop_session(spark)
    return [shown]


def live_run(spark: SparkSession, folder: Path, slower: int, rate_per_s: float, *, load_aware: bool) -> LiveResult:
    """Run one operator whose first worker is slower than the others."""
    pipeline = Pipeline(
        "pool", [Operator("worker", DEMAND_S, batches=Batches(0.1), shares=(0.1,), max_replicas=WORKERS)]
    )
    trace = Poisson(rate_per_s=rate_per_s, duration_s=LIVE_S + SPARE_S).generate(np.random.default_rng(1))
    np.save(folder / "arrivals.npy", trace.timestamps_us - trace.timestamps_us[0])
    work = OnBatches(make_waiter(folder / "slow", slower), "id bigint, arrival_us bigint", load_aware=load_aware)
    with closing(DryRunShares(["worker"])) as shares, Session(pipeline, StaticOptions()) as session:
        return run_pipeline(
            session,
            spark,
            Knowledge(pipeline, 0.0),
            TraceInput(folder / "arrivals.npy", warm_up=folder / WARM_UP),
            {"worker": work},
            folder,
            shares,
            duration_s=LIVE_S,
        )


def make_waiter(slow: Path, slower: int) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Make a function that waits for every row: longer in the worker whose number is in the file ``slow``."""
    demand_s = DEMAND_S

    def wait(batch: pa.RecordBatch) -> pa.RecordBatch:
        import os
        import time
        from contextlib import suppress

        if batch.num_rows:
            with suppress(FileExistsError), slow.open("x") as file:  # the first worker that comes
                file.write(str(os.getpid()))
            is_slow = slow.read_text() == str(os.getpid())
            time.sleep(demand_s * batch.num_rows * (slower if is_slow else 1))
        return batch.select(["id", "arrival_us"])

    return wait


PARTS: dict[str, Callable[[], list[Table]]] = {"virtual": virtual_time, "spark": on_spark}


def main() -> None:
    """Measure the chosen parts."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part", choices=PARTS, action="append", help="only this one; may be repeated")
    for part in options.parse_args().part or PARTS:
        for shown in PARTS[part]():
            Console(width=120).print(shown)


if __name__ == "__main__":
    main()
