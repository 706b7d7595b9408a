"""How many rows have come and are done, as every input tells it."""

from __future__ import annotations

from pathlib import Path
from threading import Thread, current_thread
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.log.log_writer import commit

from mead.spark.log import stream_log as log_module
from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import write_number
from mead.spark.pipeline.operators import OperatorError
from mead.spark.sources.broker_inputs import SparkInput, sum_offsets
from mead.spark.sources.inputs import Input, TraceInput, check_stamps
from mead.spark.sources.log_inputs import LogInput
from mead.spark.telemetry.reports import FinishedBatch

SCHEMA = pa.schema([("number", pa.int64())])


def opened(source: Input, tasks: Path) -> tuple[Any, str]:
    """What reads it in a worker."""
    reader = source.reader(tasks)
    assert reader is not None
    return reader


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A hundred arrivals, 10 ms apart."""
    np.save(tmp_path / "trace.npy", 10_000 * np.arange(100, dtype=np.int64))
    return tmp_path / "trace.npy"


def test_of_a_trace_has_arrived_what_is_due(trace: Path) -> None:
    now_us = [5_000_000]
    source = TraceInput(trace, speed=2.0, now_us=lambda: now_us[0])
    assert source.count_arrived(None) == 0, "nobody knows yet when it began"
    last = FinishedBatch(0, {"started_us": 5_000_000, "count": 4, "warm": 1})
    assert source.count_completed(last) == source.count_arrived(last) == 4
    now_us[0] += 100_000
    assert source.count_arrived(last) == 21, "0.2 s of the trace have passed"
    now_us[0] -= 60_000_000
    assert source.count_arrived(last) == 4, "a clock that was set back takes nothing away"
    now_us[0] += 600_000_000
    assert source.count_arrived(last) == 100, "there are no more"


@pytest.mark.usefixtures("spark")  # which alone understands the names of types
def test_a_trace_is_read_by_the_same_options_in_a_worker_and_by_spark(trace: Path, tmp_path: Path) -> None:
    write_number(tmp_path / "tasks", 2)
    source = TraceInput(trace, payload="mead.demo.log_lines:log_lines", payload_schema="line string")
    reader, columns = opened(source, tmp_path / "tasks")
    assert columns == "id bigint, arrival_us bigint, line string"
    start = {"started_us": 0, "count": 0, "warm": 1}
    parts = reader.partitions(start, {**start, "count": 10})
    rows = [batch for part in parts for batch in reader.read(part)]
    assert [batch.num_rows for batch in rows] == [5, 5]
    assert [batch.schema.names for batch in rows] == [["id", "arrival_us", "line"]] * 2


def test_of_a_log_has_arrived_what_was_committed(tmp_path: Path) -> None:
    log, source = StreamLog(tmp_path / "log"), LogInput(tmp_path / "log", "counter", "number bigint")
    assert source.count_arrived(None) == 0
    rows = pa.record_batch([pa.array([1, 2, 3])], schema=SCHEMA)
    written = log.write([rows], SCHEMA)
    assert source.count_arrived(None) == 0
    commit(log, 0, [written])
    assert source.count_arrived(None) == 3
    assert source.count_completed(FinishedBatch(0, {"rows": 2})) == 2


def test_a_query_that_starts_again_while_rows_are_counted_does_not_disturb_the_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, source = StreamLog(tmp_path / "log"), LogInput(tmp_path / "log", "counter", "number bigint")
    rows = pa.record_batch([pa.array([1, 2, 3])], schema=SCHEMA)
    for batch in range(3):
        commit(writer, batch, [writer.write([rows], SCHEMA)])
    content, controller = log_module._parse_line, current_thread()

    def interrupted(line: bytes) -> Any:
        """Between two lines of the index."""
        if current_thread() is controller:
            watcher = Thread(target=source.prepare)
            watcher.start()
            watcher.join()
        return content(line)

    with monkeypatch.context() as patched:
        patched.setattr(log_module, "_parse_line", interrupted)
        assert source.count_arrived(None) == 9
    commit(writer, 3, [writer.write([rows], SCHEMA)])
    assert source.count_arrived(None) == 12


@pytest.mark.usefixtures("spark")
def test_rows_of_a_log_are_kept_for_an_operator_whose_query_has_not_started(tmp_path: Path) -> None:
    write_number(tmp_path / "tasks", 1)
    log = StreamLog(tmp_path / "log")
    log.register("counter")
    source = LogInput(tmp_path / "log", "matcher", "number bigint")
    reader, _ = opened(source, tmp_path / "tasks")
    assert [path.name for path in (log.folder / "consumers").iterdir()] == ["counter"], "opening changes nothing"
    source.prepare()
    for batch in range(3):
        commit(log, batch, [log.write([pa.record_batch([pa.array([batch])], schema=SCHEMA)], SCHEMA)])
    log.release("counter", 3)
    start = reader.initialOffset()
    assert start == {"rows": 0}
    end = reader.latestOffset(start, None)
    assert [b["number"].to_pylist() for part in reader.partitions(start, end) for b in reader.read(part)] == [
        [0],
        [1],
        [2],
    ]


def test_of_a_foreign_stream_what_was_read_is_added_up_and_what_waits_is_asked_for() -> None:
    source = SparkInput(lambda spark: spark.readStream.format("rate").load())
    assert source.count_arrived(None) is None
    first = FinishedBatch(0, {"topic": {"0": 5, "1": 5}}, {"topic": {"0": 9, "1": 6}}, rows=10)
    assert source.count_completed(first) == 10
    assert source.count_arrived(first) == 15
    assert source.count_completed(first) == 10, "a micro-batch that is told twice"
    second = FinishedBatch(1, {"topic": {"0": 9, "1": 6}}, rows=5)
    assert source.count_completed(second) == 15
    assert source.count_arrived(second) is None, "a source that does not tell what waits"
    odd = FinishedBatch(2, {"offset": 9, "timestamp": 900}, {"offset": 19, "timestamp": 1900}, rows=5)
    assert source.count_arrived(odd) is None, "numbers that need not be those of rows"
    assert source.reader(Path("tasks")) is None


def test_offsets_are_added_up_over_topics_and_partitions() -> None:
    assert sum_offsets({"a": {"0": 5, "1": 7}, "b": {"0": 1}}) == 13
    assert sum_offsets({}) == 0


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"id": "bigint", "arrival_us": "int"}, "it is int"),
        ({"id": "bigint", "line": "string"}, "it is not among id, line"),
    ],
)
def test_rows_without_arrival_stamps_are_refused_in_one_line(types: dict[str, str], said: str) -> None:
    with pytest.raises(OperatorError, match=said) as refused:
        check_stamps(types, "parser")
    assert str(refused.value).startswith("operator parser: its rows need a column arrival_us (bigint")
    assert "\n" not in str(refused.value)
    check_stamps({"arrival_us": "bigint"}, "parser")
