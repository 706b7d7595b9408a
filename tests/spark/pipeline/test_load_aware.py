"""Load-aware grouping: rows by the speed of workers, each row once, whatever Spark does with the tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.datasource import InputPartition
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import TIMES, count_rows
from mead.spark.pipeline.load_aware import FORGOTTEN_AFTER, TOOK, WORKER, ClaimedPartition, WorkerTimes
from mead.spark.pipeline.operators import OnBatches, OperatorError
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.broker_inputs import SparkInput
from mead.spark.sources.inputs import TraceInput
from mead.values import Batches, Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, BATCHES, REPLICAS = 60_000, 6, 2
SCHEMA = "id bigint, arrival_us bigint"


def note(worker: str, rows: int, took_s: float) -> dict[str, Any]:
    return {"stamped": rows, "unstamped": 0, WORKER: worker, TOOK: took_s}


def test_an_execution_time_follows_the_last_tasks_of_a_worker() -> None:
    times = WorkerTimes()
    assert times.expect(3) == [1.0, 1.0, 1.0], "all alike before anything is known"
    times.add([note("a", 100, 1.0), note("b", 100, 4.0), note("idle", 0, 1.0), {"stamped": 9, "unstamped": 0}])
    assert times.known_s == {"a": 0.01, "b": 0.04}
    assert times.expect(2) == [0.01, 0.04]
    assert times.expect(3) == [0.01, 0.025, 0.04], "a new worker counts as an average one"
    times.add([note("b", 100, 1.0)])
    assert times.known_s["b"] == pytest.approx((0.5 * 4.0 + 1.0) / 150)
    assert times.expect(1) == [0.01], "the one that has been idle for longest comes next"
    for _ in range(FORGOTTEN_AFTER - 1):
        times.add([])
    assert set(times.known_s) == {"b"}


def partitions(tmp_path: Path, times_s: list[float], known_s: dict[str, float]) -> list[ClaimedPartition]:
    parts = [InputPartition(n) for n in range(len(times_s))]
    return [ClaimedPartition(n, tmp_path / "claims", parts, times_s, known_s) for n in range(len(times_s))]


def test_a_task_claims_the_part_for_a_worker_of_its_speed_and_keeps_it(tmp_path: Path) -> None:
    tasks = partitions(tmp_path, [1.0, 2.0, 9.0], {"fast": 1.0, "slow": 8.0})
    assert tasks[0].claim("slow").value == 2
    assert tasks[0].claim("fast").value == 2, "repeated, on another worker: the same rows"
    assert tasks[2].claim("new").value == 1, "an average worker"
    assert tasks[1].claim("slow").value == 0, "what is left"


def test_tasks_that_start_at_once_claim_every_part_once(tmp_path: Path) -> None:
    tasks = partitions(tmp_path, [1.0 + n / 10 for n in range(12)], {"worker": 1.3})
    with ThreadPoolExecutor(12) as pool:  # two attempts of every task
        claimed = list(pool.map(lambda task: (task.task, task.claim("worker").value), tasks * 2))
    assert len(set(claimed)) == 12, "both attempts have the same part"
    assert {part for _, part in claimed} == set(range(12))


def make_unequal(folder: Path) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function that takes 10 ms a row in the first worker that calls it, and next to nothing in others."""

    def work(batch: pa.RecordBatch) -> pa.RecordBatch:
        import os
        import time

        if batch.num_rows:
            try:
                with (folder / "slow").open("x") as file:
                    file.write(str(os.getpid()))
            except FileExistsError:
                pass
            if (folder / "slow").read_text() == str(os.getpid()):
                time.sleep(0.01 * batch.num_rows)
        return batch.select(["id", "arrival_us"])

    return work


def test_a_slow_worker_gets_fewer_rows_and_every_row_comes_once(spark: SparkSession, tmp_path: Path) -> None:
    np.save(tmp_path / "trace.npy", 10_000 * np.arange(ROWS, dtype=np.int64))
    pipeline = Pipeline("unequal", [Operator("worker", 0.001, batches=Batches(0.1), max_replicas=REPLICAS)])
    work = {"worker": OnBatches(make_unequal(tmp_path), SCHEMA, load_aware=True)}
    with closing(DryRunShares(["worker"])) as shares:
        running = RunningPipeline(spark, pipeline, TraceInput(tmp_path / "trace.npy"), work, tmp_path, shares)
        try:
            running.start()
            until_s = monotonic() + PATIENCE_S
            while (last := running.queries["worker"].last) is None or last.batch < BATCHES:
                running.revive()
                assert monotonic() < until_s, running.restarts
                sleep(0.05)
            assert running.drain(PATIENCE_S)
        finally:
            running.stop()
    assert not running.restarts
    last = running.queries["worker"].last
    assert last is not None
    assert sorted(logs.results(tmp_path, "worker")["id"].to_pylist()) == list(range(last.end_offset["count"]))
    log, times, rows = StreamLog(tmp_path / "streams" / "worker", keep_notes=True), WorkerTimes(), Counter[str]()
    for batch in range(log.last + 1):
        notes = log.take_batch_notes(batch).notes
        sizes = sorted(note["stamped"] for note in notes)
        assert sizes == sorted(filter(None, count_rows(sum(sizes), times.expect(REPLICAS)))), "as Algorithm 1 gives"
        if len(times.known_s) == REPLICAS:
            for one in notes:
                rows[one[WORKER].rpartition(":")[2]] += one["stamped"]
        times.add(notes)
    slow = rows.pop((tmp_path / "slow").read_text())
    assert slow < sum(rows.values()), "equal parts would be half of the rows"
    assert not [path for path in (tmp_path / "grouping" / "worker").iterdir() if path.suffix != TIMES][1:]


def test_a_source_that_only_spark_reads_has_no_grouping(spark: SparkSession, tmp_path: Path) -> None:
    def rate(session: SparkSession) -> Any:
        return (
            session.readStream.format("rate").load().selectExpr("value as id", "unix_micros(timestamp) as arrival_us")
        )

    work = {"worker": OnBatches(lambda batch: batch, SCHEMA, load_aware=True)}
    with closing(DryRunShares(["worker"])) as shares:
        pipeline = Pipeline("one", [Operator("worker", 0.001, batches=Batches(0.1))])
        running = RunningPipeline(spark, pipeline, SparkInput(rate), work, tmp_path, shares)
        with pytest.raises(OperatorError, match="operator worker: remove its grouping"):
            running.start()
