"""Benchmark skylines and top-delta queries, beside the paper's form and the definition.

Run it with ``make bench BENCHMARKS=benchmarks/bench_preference.py``, or as a script. Uniform tuples of eight
attributes as in the paper; processor time on one core, the best of several runs. Goals: 50,000 tuples in 40 ms for the
skyline and in 50 ms for the best hundred, at least 30 times as fast as the block-nested-loop form beside it, and
faster than paretoset (compiled with numba) and moocore (C) on every kind of data. At the
end the same query on Spark, beside forms with operators that Spark has; there the clock on the wall counts.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import moocore  # type: ignore[import-untyped]  # it ships no types
import numpy as np
import pandas as pd  # type: ignore[import-untyped]  # it ships no types
import pyarrow as pa
import pyarrow.parquet as pq
from paretoset import paretoset  # type: ignore[import-untyped]  # it ships no types
from rich.console import Console

import mead
from mead.arrays import FloatArray
from mead.preference.kernels.block_nested_loop import nested_loop_factors, nested_loop_skyline
from mead.preference.kernels.skyline import skyline
from mead.preference.kernels.top_delta import dominance_factors, top_delta

if TYPE_CHECKING:
    from benchmarks.common import best_s, fresh_process_table, table
    from pyspark.sql import DataFrame, SparkSession
else:  # run as a script, whose folder is where its imports come from
    from common import best_s, fresh_process_table, table

SIZES = (2_000, 8_000, 30_000, 50_000)
ATTRIBUTES = 8
DELTA = 100

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

FIRST_SKYLINE = """
import time
started = time.perf_counter()
import numpy as np
from mead.preference.kernels.top_delta import top_delta
imported = time.perf_counter()
top_delta(np.random.default_rng(1).random((1000, 8)), 100)
print(imported - started, time.perf_counter() - imported)
"""

console = Console(width=110)


def bench_queries() -> None:
    """Both queries, in the form of the paper and in ours; every answer is checked before it is timed."""
    result = table(
        f"Uniform tuples of {ATTRIBUTES} attributes, ms (the best of several runs)",
        "tuples",
        "in the skyline",
        "nested loop",
        "skyline",
        "times as fast",
        "nested loop, factors",
        f"top {DELTA}",
        "times as fast",
    )
    for count in SIZES:
        points = np.random.default_rng(1).random((count, ATTRIBUTES)) * 1000
        slow, slow_factors = nested_loop_skyline(points), nested_loop_factors(points)
        factors = dominance_factors(points[skyline(points)])
        if sorted(skyline(points).tolist()) != slow.rows.tolist():
            raise AssertionError("the skylines differ")
        if sorted(factors.tolist()) != sorted(slow_factors.factors.tolist()):
            raise AssertionError("the factors differ")
        top_delta(points, DELTA)
        nested_s = best_s(partial(nested_loop_skyline, points), runs=2)
        skyline_s = best_s(partial(skyline, points))
        factors_s = best_s(partial(nested_loop_factors, points), runs=2)
        top_s = best_s(partial(top_delta, points, DELTA))
        result.add_row(
            f"{count:,}",
            f"{slow.rows.size:,}",
            *(f"{1e3 * time_s:.1f}" for time_s in (nested_s, skyline_s)),
            f"{nested_s / skyline_s:.0f}",
            *(f"{1e3 * time_s:.1f}" for time_s in (factors_s, top_s)),
            f"{factors_s / top_s:.0f}",
        )
    console.print(result)


def peer_points(kind: str, count: int, width: int) -> FloatArray:
    """Return points of a kind that skylines are usually compared on."""
    rng = np.random.default_rng(1)
    points = rng.random((count, width))
    if kind == "correlated":
        return 0.1 * points + rng.random((count, 1))
    if kind == "anti-correlated":
        return np.asarray(points / points.sum(axis=1, keepdims=True) * rng.normal(0.5, 0.05, (count, 1)))
    if kind.startswith("integers"):
        return np.floor(points * float(kind.rsplit(" ", maxsplit=1)[1]))
    return points


def bench_peers(counts: tuple[int, ...] = (1_000, 20_000), most_width: int = 8) -> None:
    """Skylines beside those of paretoset and moocore; all must agree."""
    result = table(
        "Skylines beside peers, ms (the best of several runs)",
        "points",
        "attributes",
        "tuples",
        "in the skyline",
        "skyline",
        "paretoset",
        "moocore",
        "times as fast as the faster",
    )
    for kind in ("uniform", "correlated", "anti-correlated", "integers below 10", "integers below 100"):
        for width in (width for width in (2, 3, 4, 5, 8) if width <= most_width):
            for count in counts:
                points = peer_points(kind, count, width)
                kept = np.sort(skyline(points))
                theirs = (
                    partial(paretoset, points, distinct=False),
                    partial(moocore.is_nondominated, points, keep_weakly=True),
                )
                if any(np.flatnonzero(peer()).tolist() != kept.tolist() for peer in theirs):
                    raise AssertionError(f"the skylines of {kind} points differ")
                ours_s = best_s(partial(skyline, points))
                paretoset_s, moocore_s = (best_s(peer, runs=3) for peer in theirs)
                result.add_row(
                    kind,
                    *(f"{number:,}" for number in (width, count, kept.size)),
                    *(f"{1e3 * time_s:.2f}" for time_s in (ours_s, paretoset_s, moocore_s)),
                    f"{min(paretoset_s, moocore_s) / ours_s:.1f}",
                )
    console.print(result)


def bench_merge() -> None:
    """Merge two results, as a task of the window stage does."""
    result = table("Merging two results, ms", "tuples behind each", "sizes", "skyline")
    for count in SIZES:
        rng = np.random.default_rng(2)
        parts = [rng.random((count, ATTRIBUTES)) for _ in range(2)]
        one, other = (part[skyline(part)] for part in parts)
        skyline_s = best_s(partial(skyline, np.concatenate((one, other))))
        result.add_row(f"{count:,}", f"{len(one):,} + {len(other):,}", f"{1e3 * skyline_s:.1f}")
    console.print(result)


SPARK_FILES, FILE_TUPLES, FILE_S = 15, 4_000, 0.2
WINDOW_S, SLIDE_S = 1.0, 0.2


def bench_on_spark() -> None:
    """The same skyline query by this package, and by operators that Spark has, on the same files."""
    from mead.spark.runtime.spark_session import start_session

    result = table(
        f"Skylines on Spark, two cores: {SPARK_FILES} files of {FILE_TUPLES:,} tuples, one per micro-batch, windows of "
        f"{WINDOW_S:g} s every {SLIDE_S:g} s",
        "by",
        "seconds",
        "tuples/s",
        "windows",
    )
    spark = start_session("bench preference", master="local[2]")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.conf.set("spark.sql.shuffle.partitions", "2")  # so that both cores hold a part of Spark's state
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_points(place / "points")
        for name, run in (
            ("mead.preference_query", by_mead),
            ("transformWithState, a skyline per window", by_state),
            ("groupBy(window), collect_list, mapInPandas", by_collecting),
        ):
            run(spark, place, "warm-up")  # Java compiles, workers are born
            started_s = time.perf_counter()
            windows = run(spark, place, "timed")
            took_s = time.perf_counter() - started_s
            result.add_row(name, f"{took_s:.1f}", f"{SPARK_FILES * FILE_TUPLES / took_s:,.0f}", f"{len(windows)}")
            if name.startswith("mead"):
                ours = windows
            elif any(ours[window] != size for window, size in windows.items()):
                raise AssertionError(f"{name} finds other results")
    spark.stop()
    console.print(result)


def write_points(folder: Path) -> None:
    """Write the points in order of time, so that none is late for either system."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    for number in range(SPARK_FILES):
        seen_us = np.linspace(number * FILE_S, (number + 1) * FILE_S, FILE_TUPLES, endpoint=False) * 1e6
        columns = {"seen": pa.array(seen_us.astype(np.int64), pa.timestamp("us", tz="UTC"))}
        columns |= {f"a{n}": pa.array(1000 * rng.random(FILE_TUPLES)) for n in range(ATTRIBUTES)}
        file = folder / f"{number:03}.parquet"
        pq.write_table(pa.table(columns), file)
        os.utime(file, (number + 1, number + 1))


def points_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream that reads one file in every micro-batch."""
    columns = ", ".join(["seen timestamp", *(f"a{n} double" for n in range(ATTRIBUTES))])
    return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(folder / "points"))


def by_mead(spark: SparkSession, folder: Path, run: str) -> dict[datetime, int]:
    """Panes, partitions and windows; both levels on."""
    query = mead.preference_query(
        points_stream(spark, folder),
        event_time="seen",
        minimise=[f"a{n}" for n in range(ATTRIBUTES)],
        window=WINDOW_S,
        slide=SLIDE_S,
        folder=folder / f"mead-{run}",
        trigger={"availableNow": True},
    )
    with query:
        query.finish()
        return {one.start: one.size for one in query.windows()}


def by_collecting(spark: SparkSession, folder: Path, run: str) -> dict[datetime, int]:
    """What one would write first: all tuples of a window in Spark's state, the skyline when it is over."""
    from pyspark.sql import functions as f

    tuples = f.collect_list(f.array(*(f"a{n}" for n in range(ATTRIBUTES)))).alias("tuples")
    windows = _windowed(points_stream(spark, folder)).groupBy("window").agg(tuples)

    def skylines(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            starts = [window["start"] for window in frame["window"]]
            sizes = [skyline(np.array(list(map(list, rows)), dtype=np.float64)).size for rows in frame["tuples"]]
            yield pd.DataFrame({"start": starts, "size": sizes})

    return _sizes(windows.mapInPandas(skylines, "start timestamp, size bigint"), folder / f"collected-{run}")


def by_state(spark: SparkSession, folder: Path, run: str) -> dict[datetime, int]:
    """The best that Spark's own state allows: of every window only the skyline so far, and a timer at its end."""
    from pyspark.sql import functions as f
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

    class Skylines(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.best = handle.getValueState("best", "points binary")

        def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
            del timerValues
            come = [frame[[f"a{n}" for n in range(ATTRIBUTES)]].to_numpy() for frame in rows]
            if (before := self.best.get()) is not None:
                come.append(np.frombuffer(before[0]).reshape(-1, ATTRIBUTES))
            else:
                self.handle.registerTimer(key[0] + int(1e3 * WINDOW_S))
            points = np.concatenate(come)
            self.best.update((points[skyline(points)].tobytes(),))
            yield pd.DataFrame({"start": pd.Series(dtype="datetime64[us]"), "size": pd.Series(dtype="int64")})

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
            del timerValues, expiredTimerInfo
            (points,) = self.best.get() or (b"",)
            size = len(points) // (8 * ATTRIBUTES)
            self.best.clear()
            yield pd.DataFrame({"start": [pd.Timestamp(key[0], unit="ms")], "size": [size]})

        def close(self) -> None:
            pass

    rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", rocks)
    try:
        windows = _windowed(points_stream(spark, folder)).withColumn("start_ms", f.unix_millis("window.start"))
        answered = (
            windows.drop("window")
            .groupBy("start_ms")
            .transformWithStateInPandas(Skylines(), "start timestamp, size bigint", "Append", "EventTime")
        )
        return _sizes(answered, folder / f"state-{run}")
    finally:
        spark.conf.unset("spark.sql.streaming.stateStore.providerClass")


def _windowed(stream: DataFrame) -> DataFrame:
    """Every tuple once for each window that it is in."""
    from pyspark.sql import functions as f

    window = f.window("seen", f"{WINDOW_S:g} seconds", f"{1e3 * SLIDE_S:g} milliseconds").alias("window")
    return stream.withWatermark("seen", "0 seconds").select(window, *stream.columns)


def _sizes(answered: DataFrame, folder: Path) -> dict[datetime, int]:
    """Of the windows that are over: start and size of the result. Partial ones at the start have none of ours."""
    written = answered.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    written.trigger(availableNow=True).start(str(folder / "results")).awaitTermination()
    rows = answered.sparkSession.read.parquet(str(folder / "results")).collect()
    sizes = {row["start"].astimezone(UTC): row["size"] for row in rows}
    return {start: size for start, size in sizes.items() if start >= EPOCH}


if __name__ == "__main__":
    bench_queries()
    bench_peers()
    bench_merge()
    console.print(
        fresh_process_table("The first query of a process, s", FIRST_SKYLINE, "imports", "first top 100 of 1,000")
    )
    bench_on_spark()
