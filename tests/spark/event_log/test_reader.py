"""Queries read from event logs: made ones with every kind of trouble, and one that Spark itself writes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.spark.event_log.made_log import (
    QUERY,
    RUN,
    Work,
    as_lines,
    events,
    poisson,
    run_query,
    task_end,
    write_log,
)
from tests.waiting import PATIENCE_S

from mead.reports.advice.query_record import QueryRecord
from mead.spark.event_log import reader
from mead.spark.event_log.files import EventLogError
from mead.spark.event_log.reader import read_event_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Event = dict[str, Any]


def read_made(path: Path, change: Callable[[list[Event]], list[Event]] = list, **how: Any) -> QueryRecord:
    """The only query of a made log, after a change to its events."""
    work = Work(**how)
    said = list(events(run_query(poisson(100.0, 20.0), 2, work), 2, work))
    path.write_bytes(as_lines(change(said)))
    (record,) = read_event_log(path).records
    return record


def kind(event: Event) -> str:
    return str(event["Event"]).rpartition("$")[2]


def test_micro_batches_tasks_and_demands_are_read(tmp_path: Path) -> None:
    record = read_made(tmp_path / "log")
    made = run_query(poisson(100.0, 20.0), 2, Work())
    assert (record.name, record.slots, record.executor_cores, record.in_python) == ("scores", 2, None, True)
    assert [batch.rows for batch in record.batches] == [batch.rows for batch in made]
    assert record.rows == sum(batch.rows for batch in made)
    first = record.batches[10]
    assert first.planning_s == pytest.approx(0.05, abs=0.002)
    assert first.commit_s == pytest.approx(0.03, abs=0.002)
    assert first.record_s == pytest.approx(0.02, abs=0.002)
    assert [step.size for step in first.steps] == [4]
    task_s = sum(end_s - start_s for batch in made for start_s, end_s in batch.tasks)
    assert record.run_s == pytest.approx(task_s, rel=0.01)
    assert record.cpu_s == pytest.approx(task_s / 2, rel=0.01)
    assert record.wasted_s == 0
    assert record.batches[0].since_s is None
    assert first.since_s == pytest.approx(record.batches[9].started_s)


def test_failed_and_speculative_attempts_do_not_count_twice(tmp_path: Path) -> None:
    plain = read_made(tmp_path / "plain")

    def with_attempts(said: list[Event]) -> list[Event]:
        changed: list[Event] = []
        for event in said:
            if kind(event) == "SparkListenerTaskEnd" and event["Task Info"]["Index"] == 0:
                stage = event["Stage ID"]
                times_s = [event["Task Info"][key] / 1e3 for key in ("Launch Time", "Finish Time")]
                changed.append(task_end(stage, 0, *times_s, reason="ExceptionFailure"))
                changed.append(event)
                changed.append(task_end(stage, 0, *times_s, attempt=2, speculative=True, reason="TaskKilled"))
                if stage == 7:
                    changed.append(task_end(stage, 0, *times_s, attempt=3))  # a success that came too late
            else:
                changed.append(event)
        return changed

    spoiled = read_made(tmp_path / "spoiled", with_attempts)
    assert spoiled.run_s == pytest.approx(plain.run_s)
    assert spoiled.wasted_s == pytest.approx(2 * plain.run_s / 4, rel=0.1)
    assert [b.steps[0].tolist() for b in spoiled.batches] == [b.steps[0].tolist() for b in plain.batches]
    assert [number for number, batch in enumerate(spoiled.batches) if batch.repeated] == [7]


def test_jobs_that_are_no_micro_batches_take_slots(tmp_path: Path) -> None:
    def with_report(said: list[Event]) -> list[Event]:
        """Another job keeps one slot busy for half of the time."""
        tasks = [event["Task Info"] for event in said if kind(event) == "SparkListenerTaskEnd"]
        first_ms, last_ms = tasks[0]["Launch Time"], tasks[-1]["Finish Time"]
        return [*said, task_end(10**6, 0, first_ms / 1e3, (first_ms + last_ms) / 2e3)]

    assert read_made(tmp_path / "log", with_report).others_slots == pytest.approx(0.5, abs=0.01)


def test_a_trigger_is_found_by_the_starts(tmp_path: Path) -> None:
    assert read_made(tmp_path / "log").trigger_s is None
    triggered = read_made(tmp_path / "log", trigger_s=0.5)
    assert triggered.trigger_s == 0.5
    assert all(b.since_s is None or b.started_s - b.since_s == pytest.approx(0.5) for b in triggered.batches)


def test_rows_that_wait_in_the_source_are_known_by_its_offsets(tmp_path: Path) -> None:
    limited = read_made(tmp_path / "log", most_rows=10, per_row_s=0.02)
    assert limited.max_rows == 10
    assert limited.batches[-20].left > 0
    assert sum(b.arrived or 0 for b in limited.batches) == sum(b.rows for b in limited.batches)


def test_a_query_that_was_restarted_is_one_query(tmp_path: Path) -> None:
    def restarted(said: list[Event]) -> list[Event]:
        half = len(said) // 2
        ends = next(n for n in range(half, len(said)) if kind(said[n]) == "QueryProgressEvent") + 1
        again = json.loads(json.dumps(said[ends:]).replace(RUN, "33333333"))
        return [*said[:ends], {**said[4], "runId": "33333333"}, *again]

    record = read_made(tmp_path / "log", restarted)
    assert len(record.batches) == len(read_made(tmp_path / "plain").batches)
    assert [number for number, batch in enumerate(record.batches) if batch.since_s is None][1:] != []


def test_executors_and_their_cores_are_read(tmp_path: Path) -> None:
    def on_cluster(said: list[Event]) -> list[Event]:
        added = [
            {"Event": "SparkListenerExecutorAdded", "Executor ID": str(n), "Executor Info": {"Total Cores": 4}}
            for n in range(3)
        ]
        settings = {"spark.master": "spark://host:7077", "spark.task.cpus": "2"}
        environment = {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": settings}
        removed = {"Event": "SparkListenerExecutorRemoved", "Executor ID": "2"}
        return [environment, *added, removed, *said[3:]]

    record = read_made(tmp_path / "log", on_cluster)
    assert (record.executor_cores, record.slots, record.slots_per_core) == (4, 4, 0.5)


def test_unknown_events_and_a_last_line_without_an_end_do_no_harm(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", s=10.0)
    whole = read_event_log(log).records[0].batches
    lines = log.read_bytes().splitlines(keepends=True)
    foreign = b'{"Event":"org.example.NewEvent","deep":{"Event":"SparkListenerTaskEnd"}}\n\n'
    log.write_bytes(b"".join([lines[0], foreign, *lines[1:-3], lines[-3][:40]]))
    read = read_event_log(log)
    assert len(read.records[0].batches) == len(whole) - 1
    assert read.notes[0] == "the application had not ended: the log holds what was written so far"
    assert read.notes[1] == f"{log}:{len(lines)}: the last line is incomplete; the rest was left out"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"2026-01-02 INFO started\n", r"log:3: is no event of Spark; write one with spark.eventLog"),
        (b'{"type": "other"}\n', r"log:3: is no event of Spark"),
        (b'{"Event":"SparkListenerTaskEnd","Stage ID":\n', r"log:3: cannot use SparkListenerTaskEnd \(JSONDecodeError"),
        (b'{"Event":"SparkListenerTaskEnd"}\n', r"log:3: cannot use SparkListenerTaskEnd \(KeyError: 'Task Info'\)"),
    ],
)
def test_a_foreign_line_is_named_with_file_and_number(tmp_path: Path, line: bytes, said: str) -> None:
    log = write_log(tmp_path / "log", s=10.0)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(EventLogError, match=said) as caught:
        read_event_log(log)
    assert "\n" not in str(caught.value)


def test_a_log_without_a_streaming_query_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(as_lines([{"Event": "SparkListenerLogStart"}, {"Event": "SparkListenerApplicationEnd"}]))
    with pytest.raises(EventLogError, match="log: has no streaming query with finished micro-batches; let a query"):
        read_event_log(log)


def test_real_time_mode_is_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", s=10.0)
    log.write_bytes(log.read_bytes().replace(b"BatchEvalPython", b"RealTimeStreamScan"))
    with pytest.raises(EventLogError, match="scores: runs in real-time mode, for which there is no advice"):
        read_event_log(log)


def test_old_micro_batches_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_BATCHES", 20)
    record = read_made(tmp_path / "log")
    assert len(record.batches) == 20
    monkeypatch.setattr(reader, "MOST_TASKS", 40)
    assert len(read_made(tmp_path / "log").batches) == 10
    assert record.rows == len(poisson(100.0, 20.0))  # demands are those of all rows


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy", None])
def test_a_log_of_spark_itself_agrees_with_the_reports_of_the_query(
    spark: SparkSession, tmp_path: Path, codec: str | None
) -> None:
    java: Any = spark.sparkContext._jvm
    context = spark.sparkContext._jsc.sc()
    settings = context.conf().clone().set("spark.eventLog.compress", str(codec is not None).lower())
    settings = settings.set("spark.eventLog.compression.codec", codec or "zstd")
    settings = settings.set("spark.eventLog.rolling.enabled", str(codec != "lz4").lower())
    folder = java.java.net.URI(tmp_path.as_uri())
    nobody = java.scala.Option.empty()
    listener = java.org.apache.spark.scheduler.EventLoggingListener(
        "app-1", nobody, folder, settings, context.hadoopConfiguration()
    )
    listener.start()
    context.addSparkListener(listener)
    try:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 40).load()
        query = rows.repartition(3).writeStream.format("noop").queryName("counted").start()
        until_s = time.monotonic() + PATIENCE_S
        while len(query.recentProgress) < 8:
            assert query.isActive
            assert time.monotonic() < until_s
            time.sleep(0.05)
        query.stop()
        reports = {report.batchId: report for report in query.recentProgress if report.numInputRows}
        context.listenerBus().waitUntilEmpty()
    finally:
        context.removeSparkListener(listener)
        listener.stop()
    (record,) = read_event_log(tmp_path).records
    assert record.name == "counted"
    assert not record.in_python
    assert len(record.batches) >= 8
    by_start = {round(1e3 * batch.started_s): batch for batch in record.batches}
    for report in reports.values():
        batch = by_start[round(1e3 * np.datetime64(report.timestamp[:-1], "ms").astype(float) / 1e3)]
        assert batch.rows == report.numInputRows == 40
        assert batch.took_s == pytest.approx(report.durationMs["triggerExecution"] / 1e3, abs=0.002)
        assert 3 in [step.size for step in batch.steps]
        assert batch.planning_s + batch.work_s + batch.commit_s <= batch.took_s + 0.002
    assert record.run_s > 0
    assert record.cpu_s > 0


def test_the_query_is_known_by_its_id_until_it_has_a_name(tmp_path: Path) -> None:
    def nameless(said: list[Event]) -> list[Event]:
        unnamed: list[Event] = json.loads(json.dumps(said).replace('"scores"', "null"))
        return unnamed

    assert read_made(tmp_path / "log", nameless).name == f"query-{QUERY[:8]}"
