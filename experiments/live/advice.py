"""Advice from an event log, checked against runs at the sizes that it speaks of.

A query runs on local Spark at one size and writes its event log. From that log, without the stamps of its rows, the
response times at other sizes and loads are predicted. Then the query runs there, and its stamps tell the real ones.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

import mead
from mead.arrays import FloatArray
from mead.reports.advice.advice import predict
from mead.reports.advice.query_record import Latency, QueryRecord
from mead.reports.tables import NOTHING, number, plain_table
from mead.spark.event_log.reader import read_event_log
from mead.values import Requirement
from mead.workload import Steps

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITIONS = 4
RECORDED = (2, 1.0)
"""Cores and load of the run whose log is read."""

OTHERS = ((1, 1.0), (4, 1.0), (1, 0.5), (2, 1.5))
"""Cores and loads that are predicted."""

WARM_UP_S, STEP_S = 12.0, 5.0
SWING = (0.7, 1.3)
"""The rate changes between these parts of its mean, every few seconds."""

WORK_S = 0.005
REQUIRED = Requirement("scores", 1.0, 95.0)


def compute(value: str) -> str:
    """Work for some CPU time."""
    until_s = time.thread_time() + WORK_S
    while time.thread_time() < until_s:
        pass
    return value


def look_up(value: str) -> str:
    """Wait for an answer, as a call to a service does. It needs a slot, but no CPU."""
    time.sleep(WORK_S)
    return value


def in_python(work: Callable[[str], str]) -> Callable[[DataFrame], DataFrame]:
    """A query that calls a Python function for every row."""

    def build(rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as sql

        return rows.select(sql.udf(work, "string", useArrow=False)("value"))

    return build


def in_java(rows: DataFrame) -> DataFrame:
    """A query without Python: a chain of hashes for every row."""
    from pyspark.sql import functions as sql

    return rows.select(sql.expr("aggregate(sequence(1, 1500), value, (hash, i) -> sha2(hash, 256))"))


QUERIES: dict[str, tuple[Callable[[DataFrame], DataFrame], float]] = {
    "lookup": (in_python(look_up), 100.0),
    "python": (in_python(compute), 60.0),
    "java": (in_java, 100.0),
}
"""What is done with the rows, and how many of them come per second."""


@dataclass(frozen=True)
class AdviceRow:
    """Predicted and measured response times of one run."""

    query: str
    cores: int
    load: float
    recorded: bool
    predicted_mean_s: float | None
    """None if it was predicted not to keep up."""
    predicted_p95_s: float | None
    mean_s: float
    p95_s: float
    micro_batches: int

    @property
    def errors(self) -> tuple[float | None, float | None]:
        """Predicted over measured mean and p95, less 1."""
        pairs = ((self.predicted_mean_s, self.mean_s), (self.predicted_p95_s, self.p95_s))
        mean, p95 = (None if predicted is None or not real else predicted / real - 1 for predicted, real in pairs)
        return mean, p95

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        return {
            "query": self.query,
            "cores": self.cores,
            "load": self.load,
            "recorded": self.recorded,
            "predicted": {"mean_s": self.predicted_mean_s, "p95_s": self.predicted_p95_s},
            "measured": {"mean_s": self.mean_s, "p95_s": self.p95_s},
            "errors": dict(zip(("mean", "p95"), self.errors, strict=True)),
            "micro_batches": self.micro_batches,
        }


def check_advice(query: str, seconds: float, folder: Path, seed: int, tell: Callable[[str], None]) -> list[AdviceRow]:
    """Run a query at one size, predict the others from its log, and run them."""
    rows = []
    log: QueryRecord | None = None
    for cores, load in (RECORDED, *OTHERS):
        tell(f"{query} on {cores} cores at {load:g} times the load")
        place = folder / f"{query}-{cores}-{load:g}-{seed}"
        stamped = run_query(query, cores, load, seconds, place, seed)
        log = log or without_stamps(stamped)
        predicted = predict(log, cores, REQUIRED, load)
        real = Latency.of(stamped, (95.0,))
        rows.append(
            AdviceRow(
                query,
                cores,
                load,
                (cores, load) == RECORDED,
                predicted.mean_s,
                predicted.p95_s,
                real.mean_s,
                real.percentiles_s[95.0],
                len(stamped.usable),
            )
        )
    return rows


def without_stamps(record: QueryRecord) -> QueryRecord:
    """The record of a query whose rows have no stamps."""
    return replace(record, batches=[replace(batch, stamps_s=None) for batch in record.batches])


def run_query(query: str, cores: int, load: float, seconds: float, folder: Path, seed: int) -> QueryRecord:
    """Run a query for some seconds, and read its event log from the end of the warm-up on."""
    build, rate_per_s = QUERIES[query]
    folder.mkdir(parents=True)
    steps = int(np.ceil((WARM_UP_S + seconds) / STEP_S))
    rates = tuple(rate_per_s * load * SWING[step % 2] for step in range(steps))
    due_s = Steps(rates_per_s=rates, step_s=STEP_S).generate(np.random.default_rng(seed)).timestamps_us / 1e6
    with session(cores, folder) as spark, feed(due_s) as (port, begin, end):
        rows = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port)
        stream = mead.stamped(rows.option("includeTimestamp", "true").load(), "timestamp")
        running = build(stream).writeStream.format("noop").queryName("scores").start()
        while not running.recentProgress and running.isActive:  # the first micro-batch may be empty
            time.sleep(0.1)
        begun_s = time.time()
        begin.set()
        while not end.wait(0.5) and running.isActive:
            pass
        last = running.lastProgress
        while running.isActive and running.lastProgress is last and time.time() < begun_s + due_s[-1] + 60:
            time.sleep(0.1)
        running.stop()
    (record,) = read_event_log(folder).records
    return replace(record, batches=[batch for batch in record.batches if batch.started_s > begun_s + WARM_UP_S])


@contextmanager
def session(cores: int, folder: Path) -> Iterator[SparkSession]:
    """A plain local Spark that writes an event log, with as many partitions at every size."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings: dict[str, bool | float | int | str | None] = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": folder.resolve().as_uri(),
        "spark.default.parallelism": str(PARTITIONS),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    }
    spark = SparkSession.builder.master(f"local[{cores}]").appName("advice").config(map=settings).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def feed(due_s: FloatArray) -> Iterator[tuple[int, Event, Event]]:
    """Send a line for every arrival at its time: the port, an event that begins it, and one at the end."""
    begin, end = Event(), Event()

    def send(server: socket.socket) -> None:
        try:
            client, _ = server.accept()
            with client:
                begin.wait()
                start_s = time.monotonic()
                for number_, at_s in enumerate(due_s.tolist()):
                    time.sleep(max(start_s + at_s - time.monotonic(), 0.0))
                    client.sendall(b"row %d\n" % number_)
                end.set()
                closed.wait()
        except OSError:  # the query has ended
            end.set()

    closed = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = Thread(target=send, args=(server,), daemon=True)
        sender.start()
        try:
            yield server.getsockname()[1], begin, end
        finally:
            begin.set()
            closed.set()


def advice_table(rows: Sequence[AdviceRow], seconds: float) -> Table:
    """Predicted beside measured."""
    title = f"Advice from an event log, {seconds:g} s a run; response times in s"
    headings = ("cores", "load", "batches", "predicted mean", "measured", "error", "predicted p95", "measured", "error")
    table = plain_table(title, "query", *headings)
    for row in rows:
        mean, p95 = ("cannot keep up" if e is None else f"{e:+.0%}" for e in row.errors)
        table.add_row(
            f"{row.query}{' (recorded)' if row.recorded else ''}",
            str(row.cores),
            f"{row.load:g}",
            str(row.micro_batches),
            NOTHING if row.predicted_mean_s is None else number(row.predicted_mean_s),
            number(row.mean_s),
            mean,
            NOTHING if row.predicted_p95_s is None else number(row.predicted_p95_s),
            number(row.p95_s),
            p95,
        )
    return table


def summary(rows: Sequence[AdviceRow]) -> str:
    """How often the goals are reached: the mean within 20 %, the p95 within 30 %."""
    others = [row for row in rows if not row.recorded]
    within = [sum(e is not None and abs(e) <= most for e in column) for column, most in _goals(others)]
    middle = [float(np.median([abs(e) for e in column if e is not None] or [np.nan])) for column, _ in _goals(others)]
    return (
        f"Of {len(others)} predictions, {within[0]} means are within 20 % (median error {middle[0]:.0%}) "
        f"and {within[1]} 95th percentiles within 30 % (median error {middle[1]:.0%})."
    )


def _goals(rows: Sequence[AdviceRow]) -> list[tuple[list[float | None], float]]:
    return [([row.errors[0] for row in rows], 0.2), ([row.errors[1] for row in rows], 0.3)]
