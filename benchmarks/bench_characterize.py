"""Benchmark `mead characterize`: time and memory for a million to a hundred million arrivals.

Run it with ``make bench BENCHMARKS=benchmarks/bench_characterize.py``, or as a script; sizes in millions may be named.
Each size is a trace of its own in one Parquet file, and a Spark application of its own on two cores. The seconds are
those of the job, without the start of Spark, which is shown beside them. Memory is the highest that was seen at any
moment, each page counted once: of the Python workers, which do the work; of Java, whose heap grows as far as it is
allowed before it is cleaned; and of the driver's Python. Beside it the same statistics by NumPy with all the trace in
memory, in a process of its own, as long as that has room.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from mead.queueing import Characteristics, acf, hurst, idc, lags_of, scv, spans_of
from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.trace_statistics import characterize
from mead.workload import read_trace

if TYPE_CHECKING:
    from benchmarks.common import quiet_spark, table
else:  # run as a script, whose folder is where its imports come from
    from common import quiet_spark, table

MILLION = 1_000_000
SIZES = (1, 10, 100)
LARGEST_IN_MEMORY = 10
"""In millions of arrivals. NumPy takes about 75 bytes for each, most of them for the Fourier transform."""

POLL_S = 0.2


def write_arrivals(path: Path, millions: int) -> None:
    """Bursts and lulls of a thousand arrivals, a million at a time."""
    rng = np.random.default_rng(1)
    last_us = 0
    schema = pa.schema([("timestamp_us", pa.int64())])
    encoding = {"timestamp_us": "DELTA_BINARY_PACKED"}
    with pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=False, column_encoding=encoding) as file:
        for _ in range(millions):
            mean_us = 3000 * np.repeat(rng.choice([0.2, 1.8], MILLION // 1000), 1000)
            stamps_us = last_us + np.cumsum(np.rint(rng.standard_exponential(MILLION) * mean_us).astype(np.int64))
            last_us = int(stamps_us[-1])
            file.write_table(pa.table({"timestamp_us": stamps_us}))


@dataclass
class Memory:
    """The highest that was seen, in MB."""

    workers: float = 0.0
    java: float = 0.0
    driver: float = 0.0
    _ended: Event = field(default_factory=Event)

    def watch(self) -> None:
        """Watch until told to stop."""
        while not self._ended.wait(POLL_S):
            now = {"workers": 0.0, "java": 0.0, "driver": 0.0}
            for pid in family(os.getpid()):
                with suppress(OSError):  # it has just ended
                    name = Path(f"/proc/{pid}/comm").read_text().strip()
                    who = "driver" if pid == os.getpid() else "java" if name == "java" else "workers"
                    now[who] += proportional_mb(pid)
            self.workers = max(self.workers, now["workers"])
            self.java = max(self.java, now["java"])
            self.driver = max(self.driver, now["driver"])

    def end(self) -> None:
        """No more watching."""
        self._ended.set()


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    with suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in children.read_text().split():
                yield from family(int(child))


def proportional_mb(pid: int) -> float:
    """Pages that several processes share count as a part for each."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


@dataclass(frozen=True)
class BySpark:
    """What Spark took."""

    start_s: float
    seconds: float
    workers_mb: float
    java_mb: float
    driver_mb: float
    found: Characteristics


def by_spark(path: Path) -> BySpark:
    """Characterize the trace in a fresh Spark application."""
    started_s = time.perf_counter()
    spark = FastProfile().start(quiet_spark())
    ready_s = time.perf_counter()
    memory = Memory()
    watcher = Thread(target=memory.watch)
    watcher.start()
    found = characterize(spark, path)
    seconds = time.perf_counter() - ready_s
    memory.end()
    watcher.join()
    spark.stop()
    return BySpark(ready_s - started_s, seconds, memory.workers, memory.java, memory.driver, found)


@dataclass(frozen=True)
class InMemory:
    """What NumPy took, with the file read."""

    seconds: float
    peak_mb: float
    scv: float
    acf: list[float]
    idc: list[float]
    hurst: float


def in_memory(path: Path) -> InMemory:
    """Characterize the trace with NumPy, in a fresh process."""
    started_s = time.perf_counter()
    trace = read_trace(path)
    iats_s = trace.iats_s
    estimate = hurst(iats_s)
    if estimate is None:
        raise RuntimeError("these arrivals should have a Hurst parameter")
    correlations = acf(iats_s, lags_of(iats_s.size)).tolist()
    dispersions = idc(iats_s, spans_of(iats_s.size, trace.duration_s)).tolist()
    variation = scv(iats_s)
    seconds = time.perf_counter() - started_s
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return InMemory(seconds, peak_mb, variation, correlations, dispersions, estimate.value)


def farthest(found: Characteristics, known: InMemory) -> float:
    """The largest relative difference of any number."""
    if found.hurst is None:
        raise RuntimeError("these arrivals should have a Hurst parameter")
    ours = np.array([found.scv, *found.acf.values(), *found.idc.values(), found.hurst.value], dtype=np.float64)
    theirs = np.array([known.scv, *known.acf, *known.idc, known.hurst])
    return float(np.abs(ours / theirs - 1).max())


def alone(work: Callable[[Path], BySpark | InMemory], path: Path) -> BySpark | InMemory:
    """Run some work in a process that has done nothing before."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_send, args=(theirs, work, path))
    process.start()
    theirs.close()
    try:
        result: BySpark | InMemory = ours.recv()
    finally:
        process.join()
    return result


def _send(connection: Connection, work: Callable[[Path], BySpark | InMemory], path: Path) -> None:
    connection.send(work(path))


def main() -> None:
    """Print the tables."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    result = table(
        "mead characterize on 2 cores",
        "million arrivals",
        "Spark s",
        "million/s",
        "workers MB",
        "Java MB",
        "driver MB",
        "NumPy s",
        "NumPy MB",
        "time ratio",
        "memory ratio",
        "farthest off",
    )
    starts_s = []
    with tempfile.TemporaryDirectory() as folder:
        for millions in sizes:
            path = Path(folder) / f"{millions}.parquet"
            write_arrivals(path, millions)
            one = alone(by_spark, path)
            other = alone(in_memory, path) if millions <= LARGEST_IN_MEMORY else None
            path.unlink()
            if not isinstance(one, BySpark):
                raise TypeError("Spark has not answered")
            starts_s.append(one.start_s)
            cells = ["-"] * 5
            if isinstance(other, InMemory):
                cells = [
                    f"{other.seconds:.1f}",
                    f"{other.peak_mb:,.0f}",
                    f"{one.seconds / other.seconds:.2f}",
                    f"{(one.workers_mb + one.java_mb + one.driver_mb) / other.peak_mb:.2f}",
                    f"{farthest(one.found, other):.0e}",
                ]
            result.add_row(
                str(millions),
                f"{one.seconds:.1f}",
                f"{millions / one.seconds:.1f}",
                *(f"{mb:,.0f}" for mb in (one.workers_mb, one.java_mb, one.driver_mb)),
                *cells,
            )
    console = Console(width=140)
    console.print(result)
    console.print(f"Start of Spark, not counted above: {min(starts_s):.1f} to {max(starts_s):.1f} s", highlight=False)


if __name__ == "__main__":
    main()
