"""A trace and the embedded log under real streaming queries."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from tests.waiting import PATIENCE_S

from mead.demo.log_lines import log_lines
from mead.spark.log.sink import write_stream
from mead.spark.log.source import LogDataSource
from mead.spark.log.store import WAY_OUT
from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import write_number
from mead.spark.pipeline.query import find_cause
from mead.spark.sources.inputs import TraceInput
from mead.spark.sources.trace import WARM_UP_PAUSE_US, TraceDataSource, TraceReader, hold_warm_up
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

ARRIVALS = 500


@pytest.fixture(scope="module")
def sources(spark: SparkSession) -> SparkSession:
    for source in (LogDataSource, TraceDataSource):
        spark.dataSource.register(source)
    return spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a trace of 500 arrivals, 2 ms apart."""
    np.save(tmp_path / "trace.npy", np.arange(ARRIVALS, dtype=np.int64) * 2000)
    write_number(tmp_path / "tasks", 2)
    return tmp_path


def traced(spark: SparkSession, folder: Path, **more: str) -> DataFrame:
    options = {
        "path": str(folder / "trace.npy"),
        "tasks": str(folder / "tasks"),
        "payload": "mead.demo.log_lines:log_lines",
        "payload_schema": "line string",
        **more,
    }
    return spark.readStream.format("mead-trace").options(**options).load()


def logged(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    options = {"path": str(folder / "lines"), "tasks": str(folder / "tasks"), "schema": schema, "consumer": "lengths"}
    return spark.readStream.format("mead-log").options(**options).load()


def started(rows: DataFrame, folder: Path, name: str) -> StreamingQuery:
    return write_stream(rows, folder / name).option("checkpointLocation", str(folder / f"{name}.checkpoint")).start()


def wait_for(log: StreamLog, rows: int, *queries: StreamingQuery) -> None:
    until_s = monotonic() + PATIENCE_S
    while log.end < rows:
        for query in queries:
            assert query.exception() is None
        assert monotonic() < until_s, f"{log.end} of {rows} rows after {PATIENCE_S:g} s"
        sleep(0.05)


def column(log: StreamLog, name: str) -> list[Any]:
    return [value for pieces in log.divide(0, log.end, 1) for b in log.read(pieces) for value in b[name].to_pylist()]


def test_every_arrival_goes_through_two_queries_once(sources: SparkSession, folder: Path) -> None:
    def lengths(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:  # here: workers cannot import tests
        for batch in batches:
            long = pa.array([len(line) for line in batch["line"].to_pylist()])
            yield pa.record_batch({"id": batch["id"], "arrival_us": batch["arrival_us"], "length": long})

    lines, results = StreamLog(folder / "lines"), StreamLog(folder / "lengths")
    second = started(
        logged(sources, folder, "id bigint, arrival_us bigint, line string").mapInArrow(
            lengths, "id bigint, arrival_us bigint, length bigint"
        ),
        folder,
        "lengths",
    )
    second.processAllAvailable()  # it is there before anything arrives, so that not all of it is one micro-batch
    first = started(traced(sources, folder), folder, "lines")
    try:
        wait_for(results, ARRIVALS, first, second)
    finally:
        first.stop()
        second.stop()
    assert sorted(column(results, "id")) == list(range(ARRIVALS))
    gaps = np.diff(np.sort(np.array(column(results, "arrival_us"), dtype=np.int64)))
    assert (gaps == 2000).all(), "arrival stamps travel with the data"
    made = log_lines(np.arange(ARRIVALS))["line"].to_pylist()
    by_number = dict(zip(column(results, "id"), column(results, "length"), strict=True))
    assert [by_number[n] for n in range(ARRIVALS)] == [len(line) for line in made]
    assert lines.start > 0, "what has been read is not kept"


def test_a_query_that_is_started_again_goes_on_where_it_was(sources: SparkSession, folder: Path) -> None:
    lines = StreamLog(folder / "lines")
    query = started(traced(sources, folder), folder, "lines")
    wait_for(lines, 1, query)
    query.stop()
    again = started(traced(sources, folder), folder, "lines")
    try:
        wait_for(lines, ARRIVALS, again)
    finally:
        again.stop()
    assert sorted(column(lines, "id")) == list(range(ARRIVALS))


def test_a_log_that_has_lost_batches_is_not_added_to(sources: SparkSession, folder: Path) -> None:
    """As after a crash of the machine: Spark counts as done what the index has lost."""
    one_at_a_time = {"warm_up": str(folder / "warm-up")}
    (folder / "warm-up").touch()
    query = started(traced(sources, folder, **one_at_a_time), folder, "lines")
    log, index = StreamLog(folder / "lines"), folder / "lines" / "index"
    wait_for(log, 5, query)
    query.stop()
    lines = index.read_bytes().splitlines(keepends=True)
    assert len(lines) > 3
    index.write_bytes(b"".join(lines[:-3]))
    again = started(traced(sources, folder, **one_at_a_time), folder, "lines")
    last, reason = len(lines) - 4, why_it_failed(again)
    assert f"index ends with batch {last}, but batch {last + 3} comes next" in reason or (
        f"index ends with batch {last}, but batch {last + 4} comes next" in reason
    )
    assert StreamLog(folder / "lines").repair() == last


def why_it_failed(query: StreamingQuery) -> str:
    until_s = monotonic() + PATIENCE_S
    while query.isActive and monotonic() < until_s:
        sleep(0.05)
    return str(query.exception())


def test_a_query_that_has_lost_its_checkpoint_fails_instead_of_dropping_rows(
    sources: SparkSession, folder: Path
) -> None:
    query = started(traced(sources, folder), folder, "lines")
    log = StreamLog(folder / "lines")
    wait_for(log, ARRIVALS, query)
    query.stop()
    commit_more(log)  # there are at least two batches, however fast it was
    last, before = log.last, log.end
    shutil.rmtree(folder / "lines.checkpoint")
    reason = why_it_failed(started(traced(sources, folder), folder, "lines"))
    lost = "the checkpoint of the query was deleted or replaced"
    assert f"index ends with batch {last}, but batch 0 comes next: {lost}; {WAY_OUT}" in reason
    assert StreamLog(folder / "lines").end == before


def commit_more(log: StreamLog) -> None:
    rows = pa.record_batch({"id": [-1]})
    log.commit(log.last + 1, [(log.write([rows], rows.schema), None)])


def test_a_writer_of_an_earlier_run_adds_nothing(sources: SparkSession, folder: Path) -> None:
    """It wakes up after another run has taken the folder, and before that one has added anything."""
    (folder / "warm-up").touch()
    query = started(traced(sources, folder, warm_up=str(folder / "warm-up")), folder, "lines")
    log = StreamLog(folder / "lines")
    wait_for(log, 3, query)
    StreamLog(folder / "lines").repair()
    before = log.end
    reason = why_it_failed(query)
    assert "another run has taken this folder; this one adds nothing" in reason
    assert log.end <= before + 1, "one that it may have added before that moment"
    again = started(traced(sources, folder, warm_up=str(folder / "warm-up")), folder, "lines")
    try:
        wait_for(log, before + 3, again)
    finally:
        again.stop()
    assert sorted(column(log, "id")) == list(range(log.end))


def test_a_damaged_file_ends_its_reader_with_a_line_that_names_it(sources: SparkSession, folder: Path) -> None:
    """Five overwritten bytes: they were read as rows once."""
    log = StreamLog(folder / "lines")
    rows = pa.record_batch({"id": range(100), "arrival_us": range(100), "line": ["some text"] * 100})
    written = log.write([rows], rows.schema)
    log.commit(0, [(written, None)])
    with (log.folder / "data" / written.file).open("r+b") as file:
        file.seek(1000)
        file.write(b"XXXXX")
    query = started(logged(sources, folder, "id bigint, arrival_us bigint, line string"), folder, "lengths")
    why_it_failed(query)
    error = query.exception()
    assert error is not None
    cause = find_cause(error)
    assert f"LogError: {log.folder}/data/{written.file}: damaged: its bytes do not match the checksum" in cause
    assert StreamLog(folder / "lengths").end == 0


def test_nothing_is_added_to_an_index_that_has_become_shorter(sources: SparkSession, folder: Path) -> None:
    (folder / "warm-up").touch()
    query = started(traced(sources, folder, warm_up=str(folder / "warm-up")), folder, "lines")
    wait_for(StreamLog(folder / "lines"), 3, query)
    os.truncate(folder / "lines/index", 0)
    reason = why_it_failed(query)
    assert "/lines/index has 0 bytes instead of" in reason
    assert f": another program has changed it; {WAY_OUT}" in reason
    assert (folder / "lines/index").stat().st_size == 0


def test_the_number_of_tasks_follows_the_order_without_a_restart(folder: Path) -> None:
    reader = TraceReader(folder / "trace.npy", 1.0, folder / "tasks", None)
    start, end = {"started_us": 0, "count": 0}, {"started_us": 0, "count": 100}
    assert len(reader.partitions(start, end)) == 2
    write_number(folder / "tasks", 5)
    assert len(reader.partitions(start, end)) == 5


def test_a_clock_that_is_set_back_takes_no_arrival_away(folder: Path) -> None:
    now_us = [1_000_000]
    reader = TraceReader(folder / "trace.npy", 1.0, folder / "tasks", None, lambda: now_us[0])
    start = reader.initialOffset()
    now_us[0] += 10_000
    seen = reader.latestOffset(start, None)
    assert seen["count"] == 6
    now_us[0] -= 600_000_000
    assert reader.latestOffset(seen, None) == seen


def test_a_faster_stream_squeezes_the_gaps(folder: Path) -> None:
    now_us = [0]
    reader = TraceReader(folder / "trace.npy", 4.0, folder / "tasks", None, lambda: now_us[0])
    start = reader.initialOffset()
    now_us[0] = 5_000
    end = reader.latestOffset(start, None)
    rows = [b for part in reader.partitions(start, end) for b in reader.read(part)]
    stamps = [stamp for batch in rows for stamp in batch["arrival_us"].to_pylist()]
    assert stamps == [500 * n for n in range(11)]


def test_the_first_arrivals_warm_up_one_at_a_time_and_then_the_trace_takes_its_course(folder: Path) -> None:
    now_us = [1_000_000]
    (folder / "warm-up").touch()
    reader = TraceReader(folder / "trace.npy", 1.0, folder / "tasks", None, lambda: now_us[0], folder / "warm-up")
    offset, stamps, counts = reader.initialOffset(), [], []
    for _ in range(8):
        end = reader.latestOffset(offset, None)
        rows = [batch for part in reader.partitions(offset, end) for batch in reader.read(part)]
        stamps += [stamp for batch in rows for stamp in batch["arrival_us"].to_pylist()]
        counts.append(end["count"])
        offset = end
        now_us[0] += WARM_UP_PAUSE_US // 2
    assert counts == [1, 1, 2, 2, 3, 3, 4, 4], "one after every pause"
    assert stamps == [1_000_000 + n * WARM_UP_PAUSE_US for n in range(4)], "each as if it came just then"
    hold_warm_up(folder / "warm-up")
    now_us[0] += 10 * WARM_UP_PAUSE_US
    assert reader.latestOffset(offset, None) == offset, "none comes any more"
    last = FinishedBatch(0, offset)
    assert TraceInput(folder / "trace.npy", now_us=lambda: now_us[0]).count_arrived(last) == 4, "nor is one due"
    (folder / "warm-up").unlink()
    began_us = now_us[0]
    offset = reader.latestOffset(offset, None)
    assert offset["count"] == 5, "the trace begins with the next arrival"
    now_us[0] += 20_000
    end = reader.latestOffset(offset, None)
    rows = [batch for part in reader.partitions(offset, end) for batch in reader.read(part)]
    assert [s for batch in rows for s in batch["arrival_us"].to_pylist()] == [began_us + 2000 * n for n in range(1, 11)]
    (folder / "warm-up").touch()
    assert reader.latestOffset(end, None) == end, "it does not warm up twice"


def test_a_warm_up_that_lasts_longer_than_the_trace_ends_with_it(folder: Path) -> None:
    now_us = [0]
    np.save(folder / "short.npy", np.arange(2, dtype=np.int64))
    (folder / "warm-up").touch()
    reader = TraceReader(folder / "short.npy", 1.0, folder / "tasks", None, lambda: now_us[0], folder / "warm-up")
    offset = reader.initialOffset()
    for _ in range(5):
        offset = reader.latestOffset(offset, None)
        now_us[0] += WARM_UP_PAUSE_US
    assert offset["count"] == 2
    (folder / "warm-up").unlink()
    assert reader.latestOffset(offset, None)["count"] == 2


def test_a_warm_up_leaves_the_run_its_part_of_a_sparse_trace(folder: Path) -> None:
    """A tuple every two seconds: one arrival for each of forty micro-batches would take more than a minute of it."""
    now_us = [0]
    np.save(folder / "sparse.npy", 2_000_000 * np.arange(35, dtype=np.int64))
    (folder / "warm-up").touch()
    reader = TraceReader(folder / "sparse.npy", 1.0, folder / "tasks", None, lambda: now_us[0], folder / "warm-up")
    source, offset = TraceInput(folder / "sparse.npy"), reader.initialOffset()
    used = []
    for batch in range(40):
        offset = reader.latestOffset(offset, None)
        used.append((offset["count"], source.is_warmed_up(FinishedBatch(batch, offset))))
        now_us[0] += WARM_UP_PAUSE_US
    assert used[:6] == [(1, False), (2, False), (3, False), (4, False), (5, True), (5, True)]
    assert used[-1] == (5, True), "the first ten seconds"
    (folder / "warm-up").unlink()
    offset = reader.latestOffset(offset, None)
    now_us[0] += 58_000_000
    assert reader.latestOffset(offset, None)["count"] == 35, "thirty arrivals for a run of a minute"


def test_a_faster_trace_may_be_used_for_as_long(folder: Path) -> None:
    np.save(folder / "sparse.npy", 2_000_000 * np.arange(35, dtype=np.int64))
    source = TraceInput(folder / "sparse.npy", speed=4.0)
    over = [source.is_warmed_up(FinishedBatch(0, {"count": count})) for count in range(36)]
    assert over == [count >= 20 for count in range(36)]
