"""Preference queries on Spark: the windows of the definition from any stream, also if the application is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.preference.spark import oracle
from tests.preference.spark.oracle import Tuple
from tests.waiting import PATIENCE_S

import mead
from mead.arrays import FloatArray
from mead.preference.kernels.dominance import PreferenceError
from mead.preference.spark.handle import PreferenceQuery, QueryFailedError
from mead.spark.log.stream_log import StreamLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START_US = 1_750_000_000_000_000
FILES, ROWS = 14, 120
COLUMNS = "seen timestamp, came timestamp, price double, stars int, name string"
WINDOW_MS, SLIDE_MS = 500, 200

APPLICATION = """
import sys
from pathlib import Path
import mead
from mead.spark.runtime.quiet_start import start_quietly
from mead.spark.runtime.spark_session import start_session

with start_quietly():
    spark = start_session("killed", master="local[2,4]")
offers = spark.readStream.schema(sys.argv[3]).option("maxFilesPerTrigger", 1).parquet(sys.argv[1])
query = mead.preference_query(
    offers, event_time="seen", arrival_time="came", minimise=["price"], maximise=["stars"], window="500 ms",
    slide="200 ms", folder=sys.argv[2], start=(2, 2), splitting="even", trigger={"availableNow": True},
)
query.finish()
"""


def offers(folder: Path, files: int = FILES) -> list[list[Tuple]]:
    """Files that a stream reads one after the other; half of the tuples are late by up to 0.3 s."""
    folder.mkdir()
    rng, batches = np.random.default_rng(7), []
    for number in range(files):
        came_us = START_US + 100_000 * number + np.sort(rng.integers(0, 100_000, ROWS))
        seen_us = came_us - rng.integers(0, 300_000, ROWS) * (rng.random(ROWS) < 0.5)
        price, stars = rng.integers(20, 200, ROWS).astype(float), rng.integers(1, 6, ROWS)
        order = rng.permutation(ROWS)
        columns = {
            "seen": pa.array(seen_us[order], pa.timestamp("us", tz="UTC")),
            "came": pa.array(came_us[order], pa.timestamp("us", tz="UTC")),
            "price": pa.array(price[order]),
            "stars": pa.array(stars[order].astype(np.int32)),
            "name": pa.array([f"{number}-{row}" for row in order]),
        }
        file = folder / f"{number:03}.parquet"
        pq.write_table(pa.table(columns), file)
        os.utime(file, ns=(1_000_000_000 * (number + 1),) * 2)  # Spark reads the oldest first
        rows = zip(seen_us.tolist(), came_us.tolist(), price.tolist(), stars.tolist(), strict=True)
        batches.append([Tuple(seen, came, (price, -float(stars))) for seen, came, price, stars in rows])
    return batches


def stream(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder))


def start_query(spark: SparkSession, folder: Path, place: Path, **options: Any) -> PreferenceQuery:
    return mead.preference_query(
        stream(spark, folder),
        event_time="seen",
        arrival_time="came",
        minimise=["price"],
        maximise=["stars"],
        window=f"{WINDOW_MS} ms",
        slide=f"{SLIDE_MS} ms",
        folder=place,
        trigger={"availableNow": True},
        **options,
    )


def expected(batches: list[list[Tuple]]) -> dict[int, list[oracle.Values]]:
    origin_us, inside = oracle.admitted(batches, 1000 * SLIDE_MS)
    windows = oracle.windows_of(inside, origin_us, 1000 * WINDOW_MS, 1000 * SLIDE_MS, 100_000)
    return {window: oracle.skyline_of(rows) for window, rows in windows}


def answered(spark: SparkSession, results: DataFrame, name: str) -> tuple[dict[int, list[oracle.Values]], list[Any]]:
    results.writeStream.format("memory").queryName(name).trigger(availableNow=True).start().awaitTermination()
    rows, found = spark.table(name).collect(), defaultdict(list)
    for row in rows:
        found[row.window].append((row.price, -float(row.stars)))
    return {window: sorted(values) for window, values in found.items()}, rows


def test_a_relation_of_the_user_decides(spark: SparkSession, tmp_path: Path) -> None:
    """Cheaper by 20, with as many stars: a function of this test, which no task could import."""
    step = 20.0

    def dominates(one: FloatArray, other: FloatArray) -> bool:
        return bool(one[1] == other[1] and one[0] + step <= other[0])

    batches = offers(tmp_path / "offers", files=4)
    query = mead.preference_query(
        stream(spark, tmp_path / "offers"),
        event_time="seen",
        arrival_time="came",
        compare=["price", "stars"],
        dominates=dominates,
        window=f"{WINDOW_MS} ms",
        slide=f"{SLIDE_MS} ms",
        folder=tmp_path / "query",
        start=(2, 2),
        splitting="even",
        trigger={"availableNow": True},
    )
    with query:
        query.finish()
        found, _ = answered(spark, query.results, "own")
    origin_us, inside = oracle.admitted(batches, 1000 * SLIDE_MS)
    for window, values in oracle.windows_of(inside, origin_us, 1000 * WINDOW_MS, 1000 * SLIDE_MS, 100_000):
        best = [v for v in values if not any(dominates(np.array(one), np.array(v)) for one in values)]
        assert found.pop(window) == sorted(best), window
    assert not found


def test_a_stream_of_files_is_answered_window_by_window(spark: SparkSession, tmp_path: Path) -> None:
    batches = offers(tmp_path / "offers")
    with start_query(
        spark, tmp_path / "offers", tmp_path / "query", start=(2, 2), splitting="even", control=0.2
    ) as query:
        query.finish()
        found, rows = answered(spark, query.results, "answered")
        assert found == expected(batches)
        origin_us, inside = oracle.admitted(batches, 1000 * SLIDE_MS)
        assert query.dropped == FILES * ROWS - len(inside) > 0
        assert query.rejected == 0
        assert [one.size for one in query.windows()] == [len(found[window]) for window in sorted(found)]
        first = query.windows()[0]
        assert first.start == datetime.fromtimestamp(origin_us / 1e6, UTC)
        assert (first.end - first.start).total_seconds() == WINDOW_MS / 1e3
        assert rows[0].window_start.timestamp() == first.start.timestamp()
        assert {row.name for row in rows} <= {f"{file}-{row}" for file in range(FILES) for row in range(ROWS)}
        assert sum(step.tuples for step in query.steps) == FILES * ROWS
        assert max(pane.count for step in query.steps for pane in step.closed) > 1


def await_windows(place: Path, windows: int, application: subprocess.Popen[bytes]) -> None:
    results, until_s = StreamLog(place / "results", keep_notes=True), monotonic() + PATIENCE_S
    seen, step = 0, 0
    while seen < windows:
        assert application.poll() is None, "it ended by itself"
        assert monotonic() < until_s, "nothing comes of it"
        while step <= results.last:
            seen += len(list(results.take_batch_notes(step).notes))
            step += 1
        sleep(0.01)


@pytest.mark.slow
def test_a_killed_application_goes_on_as_if_nothing_had_happened(spark: SparkSession, tmp_path: Path) -> None:
    batches, place = offers(tmp_path / "offers"), tmp_path / "query"
    command = [sys.executable, "-c", APPLICATION, str(tmp_path / "offers"), str(place), COLUMNS]
    application = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        await_windows(place, 2, application)
    finally:
        os.killpg(application.pid, signal.SIGKILL)  # Python and Java at once
        application.wait()
    killed_after = StreamLog(place / "results").last
    with start_query(spark, tmp_path / "offers", place, start=(1, 3), workers=6) as query:  # spread in another way
        query.finish()
        assert query.steps[0].number == killed_after + 1, "what counted before is not done again"
        assert sum(step.tuples for step in query.steps) < FILES * ROWS
        found, _ = answered(spark, query.results, "killed")
    assert found == expected(batches)


def test_rows_that_cannot_be_compared_are_turned_away_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    batches = offers(tmp_path / "offers", files=4)
    bad = pq.read_table(tmp_path / "offers/000.parquet").to_pylist()[:3]
    bad[0]["price"], bad[1]["seen"], bad[2]["price"] = None, None, float("nan")
    file = tmp_path / "offers/zzz.parquet"
    pq.write_table(pa.Table.from_pylist(bad, schema=pq.read_schema(tmp_path / "offers/000.parquet")), file)
    with start_query(spark, tmp_path / "offers", tmp_path / "query") as query:
        query.finish()
        assert query.rejected == 3
        found, _ = answered(spark, query.results, "rejected")
    assert found == expected(batches)


def test_an_error_in_a_stage_ends_the_query_and_is_told(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mead.preference.spark import emission

    offers(tmp_path / "offers", files=2)
    monkeypatch.setattr(emission.Emitter, "finish", lambda _: 1 / 0)
    query = start_query(spark, tmp_path / "offers", tmp_path / "query")
    with pytest.raises(QueryFailedError, match="division by zero"):
        query.finish()
    assert not query.active
    assert not query.tuples.isActive


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"event_time": "when"}, "no column when; there are seen, came, price, stars, name"),
        ({"event_time": "name"}, "column name is string; a time must be a timestamp, or a bigint"),
        ({"minimise": ["name"]}, "column name is string; only numbers can be minimised or maximised"),
        ({"minimise": ["price"], "maximise": ["price"]}, "column price: choose either minimise or maximise"),
        ({"minimise": []}, "name at least one column"),
        ({"slide": "2 s"}, "the slide must be at least 1 ms and at most the window"),
        ({"window": "a while"}, "window: write a length such as '500 ms'"),
        ({"top": 0}, "top must be at least 1; got 0"),
        ({"slack": "1 s", "target_drop_ratio": 0.1}, "slack and target_drop_ratio exclude each other"),
        ({"target_drop_ratio": 1.5}, "must be in \\[0, 1\\); got 1.5"),
        ({"workers": 1}, "start: each stage needs at least one task, and both together at most 1"),
    ],
)
def test_what_cannot_be_asked_is_told_at_once(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    (tmp_path / "offers").mkdir()
    given: dict[str, Any] = {"event_time": "seen", "minimise": ["price"], "window": "1 s", "folder": tmp_path / "q"}
    with pytest.raises(PreferenceError, match=said):
        mead.preference_query(stream(spark, tmp_path / "offers"), **(given | options))
    assert not (tmp_path / "q/checkpoint").exists()


def test_a_dataframe_that_does_not_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PreferenceError, match=r"spark\.readStream"):
        mead.preference_query(spark.range(3), event_time="id", minimise=["id"], window=1, folder=tmp_path)
    renamed = stream(spark, tmp_path).withColumnRenamed("name", "window")
    with pytest.raises(PreferenceError, match="column window: the name is reserved for results"):
        mead.preference_query(renamed, event_time="seen", minimise=["price"], window=1, folder=tmp_path)


def test_a_second_query_on_the_folder_of_one_that_runs_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """It would take the files of the first for what a crash has left, and remove them."""
    batches, place = offers(tmp_path / "offers", files=4), tmp_path / "query"
    with start_query(spark, tmp_path / "offers", place) as query:
        with pytest.raises(PreferenceError, match="another run uses this folder; wait for its end, or choose another"):
            start_query(spark, tmp_path / "offers", place)
        query.finish()
        found, _ = answered(spark, query.results, "alone")
        assert found == expected(batches)
    with start_query(spark, tmp_path / "offers", place) as again:
        again.finish()
        assert again.steps[0].number == query.steps[-1].number + 1, "whoever has ended holds nothing"


def test_what_waits_is_worked_on_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    batches = offers(tmp_path / "offers", files=6)
    with start_query(spark, tmp_path / "offers", tmp_path / "query", most_rows=ROWS) as query:
        query.finish()
        assert [step.tuples for step in query.steps if step.tuples] == [ROWS] * 6
        found, _ = answered(spark, query.results, "pieces")
    assert found == expected(batches)
    with pytest.raises(PreferenceError, match="most_rows must be at least 1; got 0"):
        start_query(spark, tmp_path / "offers", tmp_path / "other", most_rows=0)
