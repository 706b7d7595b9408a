"""Benchmark the overhead of a micro-batch: the fast profile by parts, sinks, work in place, stamps.

Run it with ``make bench BENCHMARKS=benchmarks/bench_micro_batch.py``, or as a script, with the parts that are wanted
behind it. One query at a time, a Python source, a function that does nothing, batches back to back. All variants of a
part are warmed up first and then measured in turn, round after round, so that other work on the machine meets all
alike: trust the ratios more than the milliseconds.

``profile`` has a Spark application for each variant, with ten rows per batch. ``sinks`` and ``stamps`` measure in one
application with the whole profile. CPU is that of the application: Java's, and that of all else, Python above all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage
from rich.console import Console

from mead.spark.log.sink import commit_files, write_stream
from mead.spark.log.stream_log import INDEX, StreamLog
from mead.spark.pipeline.in_place import InPlaceOperator, InPlaceReader
from mead.spark.pipeline.in_place import make_source as in_place_source
from mead.spark.pipeline.operators import to_arrow
from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.telemetry.probe import add_probe

if TYPE_CHECKING:
    from benchmarks.common import table
    from benchmarks.micro_batches import COLUMNS, EndlessReader, Measured, measure, session
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
else:  # run as a script, whose folder is where its imports come from
    from common import table
    from micro_batches import COLUMNS, EndlessReader, Measured, measure, session

ROUNDS = 3
SECONDS = 3.0
WARM_UP_SECONDS = 5.0
LIMIT_SECONDS = 300.0
"""No further round is begun after that, on a busy machine."""

FEW_ROWS, ROWS = 10, 100
MANY_ROWS = (100, 1_000, 10_000)

SWITCHES = [field.name for field in fields(FastProfile)]
ON = FastProfile()
OFF = FastProfile(**dict.fromkeys(SWITCHES, False))
PROFILES = {
    "out of the box": OFF,
    **{f"all but {switch}": replace(ON, **{switch: False}) for switch in SWITCHES},
    "all": ON,
}

Start = Callable[[Path, Path], "StreamingQuery"]
"""A query, in a folder and with the file that ends its source."""


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The work."""
    return batch


def worked(stream: DataFrame) -> DataFrame:
    """The same as Spark runs it: from one Python worker through Java to the next."""

    def over_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return stream.mapInArrow(over_batches, COLUMNS)


def endless(spark: SparkSession, rows: int, end: Path) -> DataFrame:
    """A stream with this many rows in every micro-batch."""
    return spark.readStream.format("endless").option("rows", rows).option("end", str(end)).load()


def nowhere(output: DataFrame, folder: Path) -> StreamingQuery:
    """No sink."""
    return output.writeStream.format("noop").option("checkpointLocation", f"{folder}/checkpoint").start()


def python_sink() -> type[DataSource]:
    """Files and an index by PySpark's own interface, as `log_sink` has them: made here, it travels to the workers."""
    columns = to_arrow(COLUMNS)  # only where Spark is

    @dataclass
    class Part(WriterCommitMessage):
        file: str
        rows: int

    class Writer(DataSourceStreamArrowWriter):
        def __init__(self, folder: Path) -> None:
            self.folder = folder

        def write(self, iterator: Iterator[pa.RecordBatch]) -> Part:
            written = StreamLog(self.folder).write(iterator, columns)
            return Part(written.file, written.rows)

        def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
            files = [vars(part) for part in messages if part]
            with (self.folder / INDEX).open("a", encoding="utf-8") as index:
                index.write(f"{json.dumps([batchId, files])}\n")

    class Sink(DataSource):
        @classmethod
        def name(cls) -> str:
            return "python-sink"

        def streamWriter(self, schema: Any, overwrite: bool) -> Writer:  # noqa: FBT001
            del schema, overwrite
            return Writer(Path(self.options["folder"]))

    return Sink


def sinks(spark: SparkSession) -> dict[str, Start]:
    """From no sink to work in place, with ten times as many rows as above: what a second of a stream may bring."""
    spark.dataSource.register(python_sink())

    def without(folder: Path, end: Path) -> StreamingQuery:
        return nowhere(worked(endless(spark, ROWS, end)), folder)

    def through_python(folder: Path, end: Path) -> StreamingQuery:
        writer = worked(add_probe(endless(spark, ROWS, end), every_stamp=False)).writeStream.format("python-sink")
        return writer.option("folder", str(folder)).option("checkpointLocation", f"{folder}/checkpoint").start()

    def through_java(folder: Path, end: Path) -> StreamingQuery:
        writer = write_stream(worked(add_probe(endless(spark, ROWS, end), every_stamp=False)), folder / "log")
        return writer.option("checkpointLocation", f"{folder}/checkpoint").start()

    def in_place(folder: Path, end: Path) -> StreamingQuery:
        operator = InPlaceOperator(
            EndlessReader(ROWS, str(end)), same, StreamLog(folder / "log"), to_arrow(COLUMNS), None
        )
        spark.dataSource.register(in_place_source("in-place", InPlaceReader(operator)))
        writer = commit_files(spark.readStream.format("in-place").load(), folder / "log")
        return writer.option("checkpointLocation", f"{folder}/checkpoint").start()

    return {
        "no sink, not observed": without,
        "observe(), a sink in Python": through_python,
        "observe(), committed in Java": through_java,
        "in place, committed in Java": in_place,
    }


def stamps(spark: SparkSession) -> dict[str, Start]:
    """What a probe adds to a query without a sink, by the number of rows."""

    def observed(rows: int, every_stamp: bool | None, folder: Path, end: Path) -> StreamingQuery:  # noqa: FBT001
        stream = endless(spark, rows, end)
        return nowhere(worked(stream if every_stamp is None else add_probe(stream, every_stamp=every_stamp)), folder)

    kinds = {"not observed": None, "observe()": False, "observe() with every stamp": True}
    return {
        f"{rows:,} rows, {kind}": partial(observed, rows, every_stamp)
        for rows in MANY_ROWS
        for kind, every_stamp in kinds.items()
    }


def in_turn(one: Callable[[str, float], Measured], names: Sequence[str]) -> dict[str, list[Measured]]:
    """Measure every variant in every round, after a first round that does not count."""
    started_s = time.monotonic()
    for name in names:
        one(name, WARM_UP_SECONDS)
    rounds = [{name: one(name, SECONDS) for name in names}]
    while len(rounds) < ROUNDS and time.monotonic() < started_s + LIMIT_SECONDS:
        rounds.append({name: one(name, SECONDS) for name in names})
    return {name: [results[name] for results in rounds] for name in names}


def application(orders: Connection, profile: FastProfile) -> None:
    """Measures for as many seconds as it is told, until it is told 0."""
    spark = session(profile)
    while seconds := orders.recv():
        orders.send(measure(spark, lambda folder, end: nowhere(worked(endless(spark, FEW_ROWS, end)), folder), seconds))
    spark.stop()


def profiles_in_turn() -> dict[str, list[Measured]]:
    """Each in an application of its own; all of them are there all the time, and one at a time is at work."""
    spawn = multiprocessing.get_context("spawn")
    orders: dict[str, Connection] = {}
    processes = []
    for name, profile in PROFILES.items():
        orders[name], theirs = spawn.Pipe()
        processes.append(spawn.Process(target=application, args=(theirs, profile)))
        processes[-1].start()
        theirs.close()

    def one(name: str, seconds: float) -> Measured:
        orders[name].send(seconds)
        answer: Measured = orders[name].recv()
        return answer

    try:
        rounds = in_turn(one, list(PROFILES))
        for each in orders.values():
            each.send(0)
    finally:
        for process in processes:
            process.join(20)
            process.terminate()
    return rounds


def queries_in_turn(variants: Callable[[SparkSession], Mapping[str, Start]]) -> dict[str, list[Measured]]:
    """Measure all variants in one application, so that Java is as warm for the first as for the last."""
    spark = session(ON)
    try:
        starts = variants(spark)
        return in_turn(lambda name, seconds: measure(spark, starts[name], seconds), list(starts))
    finally:
        spark.stop()


def show(title: str, rounds: Mapping[str, Sequence[Measured]]) -> None:
    """Print a line for each variant, and how it compares with the first."""
    results = {name: Measured.median(ones) for name, ones in rounds.items()}
    first = next(iter(results.values()))
    figures = ("wall ms", "of first", "Java CPU ms", "Python CPU ms", "both, of first", "commits ms", "planning ms")
    result = table(
        f"{title}, median of {len(next(iter(rounds.values())))} rounds", "", *figures, "running ms", "start, CPU ms"
    )
    for name, one in results.items():
        result.add_row(
            name.replace("_", " "),
            f"{one.wall:.1f}",
            f"{one.wall / first.wall:.0%}",
            f"{one.java:.1f}",
            f"{one.python:.1f}",
            f"{one.cpu / first.cpu:.0%}",
            f"{one.commits:.0f}",
            f"{one.planning:.0f}",
            f"{one.running:.0f}",
            f"{one.start:.0f}",
        )
    Console(width=160).print(result)


PARTS: dict[str, tuple[str, Callable[[], dict[str, list[Measured]]]]] = {
    "profile": (f"One micro-batch of {FEW_ROWS} rows by the fast profile", profiles_in_turn),
    "sinks": (f"One micro-batch of {ROWS} rows by its sink", partial(queries_in_turn, sinks)),
    "stamps": ("One micro-batch by its probe", partial(queries_in_turn, stamps)),
}


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default all")
    wanted = parser.parse_args().parts or list(PARTS)
    if unknown := set(wanted) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    for part in wanted:
        title, rounds = PARTS[part]
        show(title, rounds())


if __name__ == "__main__":
    main()
