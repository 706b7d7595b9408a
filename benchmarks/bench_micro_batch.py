"""What a micro-batch costs around its work, out of the box and with each part of the fast profile off and on.

Run it with ``make bench BENCHMARKS=benchmarks/bench_micro_batch.py``, or as a script. One query, a Python source with
ten rows per batch, ``mapInArrow``, no sink, batches back to back. Every variant is a Spark application of its own. All
of them are started first and then measured in turn, round after round, so that other work on the machine meets all
alike: trust the ratios more than the milliseconds. CPU is that of the whole application, Java and Python.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mead.spark.fast_profile import FastProfile

if TYPE_CHECKING:
    import pyarrow as pa
    from benchmarks.common import table
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
else:  # run as a script, whose folder is where its imports come from
    from common import table

ROUNDS = 3
SECONDS = 4.0
WARM_UP_SECONDS = 10.0
LIMIT_SECONDS = 300.0
"""No further round is begun after that, on a busy machine."""

SKIPPED_BATCHES = 5
"""The first batches of a query plan, compile and start workers."""

PARTS = [field.name for field in fields(FastProfile)]
ON = FastProfile()
OFF = FastProfile(**dict.fromkeys(PARTS, False))
VARIANTS = {
    "out of the box": OFF,
    **{f"all but {part}": replace(ON, **{part: False}) for part in PARTS},
    "all": ON,
}


@dataclass(frozen=True)
class Measured:
    """One variant in one round, per micro-batch."""

    wall_ms: float
    cpu_ms: float
    commits_ms: float
    planning_ms: float
    running_ms: float


def cpu_s() -> float:
    """CPU seconds of this process and of all that descend from it, Java and the Python workers among them."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            values = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        pid = int(status.parent.name)
        parents[pid], ticks[pid] = int(values[1]), sum(map(int, values[11:15]))
    family = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    return sum(ticks[pid] for pid in family) / os.sysconf("SC_CLK_TCK")


def register_source(spark: SparkSession) -> None:  # noqa: C901 - classes made here travel to the workers by value
    """A source with ten new rows whenever it is asked, until the file of its option ``end`` exists."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Rows(InputPartition):
        def __init__(self, first: int, last: int) -> None:
            self.first, self.last = first, last

    class Reader(DataSourceStreamReader):
        def __init__(self, end: str) -> None:
            self.end, self.rows = end, 0

        def initialOffset(self) -> dict[str, int]:
            return {"rows": 0}

        def latestOffset(self) -> dict[str, int]:  # type: ignore[override]
            if not os.path.exists(self.end):  # noqa: PTH110 - as cheap as can be
                self.rows += 10
            return {"rows": self.rows}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Rows]:
            return [Rows(start["rows"], end["rows"])]

        def read(self, partition: Rows) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
            import pyarrow as pa

            yield pa.RecordBatch.from_pydict({"row": pa.array(range(partition.first, partition.last), pa.int64())})

    class Endless(DataSource):
        @classmethod
        def name(cls) -> str:
            return "endless"

        def schema(self) -> str:
            return "row long"

        def streamReader(self, schema: Any) -> Reader:
            del schema
            return Reader(self.options["end"])

    spark.dataSource.register(Endless)


def await_batch(query: StreamingQuery, batch: int) -> int:
    """Wait until this batch is done; the number of the last one that is."""
    while True:
        progress = query.lastProgress
        if progress is not None and progress.batchId >= batch:
            return int(progress.batchId)
        if not query.isActive:
            raise RuntimeError(f"the query ended: {query.exception()}")
        time.sleep(0.01)


def measure(spark: SparkSession, seconds: float) -> Measured:
    """Run a fresh query for a while, from the end of one batch to the end of another."""

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    with tempfile.TemporaryDirectory() as folder:
        end = Path(folder) / "end"
        stream = spark.readStream.format("endless").option("end", str(end)).load().mapInArrow(same, "row long")
        query = stream.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint").start()
        first = await_batch(query, SKIPPED_BATCHES)
        started_s, cpu_started_s = time.perf_counter(), cpu_s()
        time.sleep(seconds)
        last = await_batch(query, await_batch(query, first + 1) + 1)
        wall_ms, cpu_ms = 1e3 * (time.perf_counter() - started_s), 1e3 * (cpu_s() - cpu_started_s)
        durations = [progress.durationMs for progress in query.recentProgress if first < progress.batchId <= last]
        end.touch()  # a query that is stopped within a batch leaves error messages
        query.processAllAvailable()
        query.stop()

    def median_ms(*names: str) -> float:
        return statistics.median(sum(duration.get(name, 0) for name in names) for duration in durations)

    return Measured(
        wall_ms / (last - first),
        cpu_ms / (last - first),
        median_ms("walCommit", "commitOffsets"),
        median_ms("queryPlanning"),
        median_ms("addBatch"),
    )


def application(orders: Connection, profile: FastProfile) -> None:
    """A Spark application that measures for as many seconds as it is told, until it is told 0."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.log.level", "ERROR")
    )
    spark = profile.start(builder)
    register_source(spark)
    while seconds := orders.recv():
        orders.send(measure(spark, seconds))
    spark.stop()


def measured() -> dict[str, list[Measured]]:
    """Every variant in every round."""
    spawn = multiprocessing.get_context("spawn")
    started_s = time.monotonic()
    orders: dict[str, Connection] = {}
    processes = []
    for name, profile in VARIANTS.items():
        orders[name], theirs = spawn.Pipe()
        processes.append(spawn.Process(target=application, args=(theirs, profile)))
        processes[-1].start()
        theirs.close()

    def one_round(seconds: float) -> dict[str, Measured]:
        results = {}
        for name, one in orders.items():
            one.send(seconds)
            results[name] = one.recv()
        return results

    try:
        one_round(WARM_UP_SECONDS)
        rounds = [one_round(SECONDS)]
        while len(rounds) < ROUNDS and time.monotonic() < started_s + LIMIT_SECONDS:
            rounds.append(one_round(SECONDS))
        for one in orders.values():
            one.send(0)
    finally:
        for process in processes:
            process.join(20)
            process.terminate()
    return {name: [results[name] for results in rounds] for name in VARIANTS}


def main() -> None:
    """Print the table."""
    rounds = measured()
    results = {
        name: Measured(*(statistics.median(getattr(one, field.name) for one in ones) for field in fields(Measured)))
        for name, ones in rounds.items()
    }
    stock = results["out of the box"]
    result = table(
        f"One micro-batch, median of {len(rounds['all'])} rounds",
        "fast profile",
        "wall ms",
        "of stock",
        "CPU ms",
        "of stock",
        "commits ms",
        "planning ms",
        "running ms",
    )
    for name, one in results.items():
        result.add_row(
            name.replace("_", " "),
            f"{one.wall_ms:.0f}",
            f"{one.wall_ms / stock.wall_ms:.0%}",
            f"{one.cpu_ms:.0f}",
            f"{one.cpu_ms / stock.cpu_ms:.0%}",
            f"{one.commits_ms:.0f}",
            f"{one.planning_ms:.0f}",
            f"{one.running_ms:.0f}",
        )
    Console(width=120).print(result)


if __name__ == "__main__":
    main()
