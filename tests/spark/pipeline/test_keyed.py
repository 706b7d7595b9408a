"""Operators with keys on Spark: totals are exact while the number of tasks changes, and after every kind of end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.demo import counter, parser
from mead.queueing import Edge
from mead.spark.pipeline.operators import OnBatches, OnKeys, OperatorError, Work
from mead.spark.pipeline.query import COMMITS, OFFSETS, last_committed, last_finished
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.values import Batches, Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES, MOST = 100_000, 4
"""More lines than any run reads."""

TWO = Pipeline(
    "two",
    [Operator(name, 0.0001, batches=Batches(0.1), max_replicas=MOST) for name in ("parser", "counter")],
    [Edge("parser", "counter")],
)
COUNT = OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=counter.KEYS, state=counter.STATE_SCHEMA)
PARSE = OnBatches(parser.parse, parser.OUTPUT_SCHEMA)


def running(spark: SparkSession, folder: Path, shares: DryRunShares, work: dict[str, Work]) -> RunningPipeline:
    times_s = (np.arange(LINES) / 200).tolist()
    source = logs.source(folder, times_s)
    source = TraceInput(source.path, payload=source.payload, payload_schema=source.payload_schema)  # no warm-up
    return RunningPipeline(spark, TWO, source, work, folder, shares)


def wait(run: RunningPipeline, until: Callable[[], bool]) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        run.revive()
        assert monotonic() < limit_s, run.restarts
        sleep(0.02)


def commits(folder: Path) -> int:
    return last_committed(folder / "checkpoints" / "counter")


def forget(file: Path) -> None:
    """Remove a file of a checkpoint, and its checksum."""
    for path in (file, file.with_name(f".{file.name}.crc")):
        path.unlink(missing_ok=True)


@pytest.mark.slow
def test_totals_are_exact_though_tasks_change_and_a_batch_is_repeated(spark: SparkSession, tmp_path: Path) -> None:
    """The second run repeats the last micro-batch of the first: the log has it, and Spark's checkpoint has not."""
    work: dict[str, Work] = {"parser": PARSE, "counter": COUNT}
    with closing(DryRunShares(list(work))) as shares:
        first = running(spark, tmp_path, shares, work)
        try:
            first.start()
            for tasks in (MOST, 1, 3):
                first.order_tasks("counter", tasks)
                before = commits(tmp_path)
                wait(first, lambda before=before: commits(tmp_path) >= before + 2)  # type: ignore[misc]
        finally:
            first.stop(PATIENCE_S)
        commit = tmp_path / "checkpoints" / "counter" / COMMITS / str(commits(tmp_path))
        assert logs.stream(tmp_path, "counter").last == int(commit.name), "the log has the batch, too"
        forget(commit)
        forget(tmp_path / "checkpoints" / "counter" / OFFSETS / str(int(commit.name) + 1))  # perhaps planned already
        second = running(spark, tmp_path, shares, work)
        try:
            second.start()
            second.order_tasks("counter", 2)
            wait(second, lambda: commits(tmp_path) >= int(commit.name) + 3)
            assert second.drain(PATIENCE_S), second.restarts
        finally:
            second.stop()
    assert commit.exists(), "the batch was repeated"
    assert not first.restarts
    assert not second.restarts
    last = last_finished(tmp_path / "checkpoints" / "parser")
    assert last is not None
    lines = last.end_offset["count"]
    assert logs.totals(tmp_path) == logs.expected_totals(lines)
    batches = logs.index(tmp_path, "counter").values()
    assert {len(tasks) for tasks in batches} == {1, 2, 3, MOST}
    rows = sum(task[2]["stamped"] for tasks in batches for task in tasks)
    assert rows == logs.parsed(lines).num_rows, "every row is one task's"


@pytest.mark.slow
def test_state_that_belongs_to_another_place_of_the_stream_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Restored from a copy, for example, that is older than the checkpoint."""
    work: dict[str, Work] = {"parser": PARSE, "counter": COUNT}
    with closing(DryRunShares(list(work))) as shares:
        run = running(spark, tmp_path, shares, work)
        try:
            run.start()
            wait(run, lambda: commits(tmp_path) >= 1)
            index = tmp_path / "streams" / "counter" / "index"
            shutil.copy(index, tmp_path / "older")
            before = commits(tmp_path)
            wait(run, lambda: commits(tmp_path) >= before + 2)
            shutil.copy(tmp_path / "older", index)
            wait(run, lambda: any("counter failed" in line for line in run.restarts))
        finally:
            run.stop()


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (
            {"parser": OnKeys(parser.parse, parser.OUTPUT_SCHEMA, keys=("id",))},
            "parser: it has a key and reads the source",
        ),
        (
            {"counter": OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=("user",), state="n int")},
            "its key user is not among",
        ),
        (
            {"counter": OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=("level",), state="level int")},
            "must not have a column",
        ),
    ],
)
def test_keys_that_cannot_be_are_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, work: dict[str, Work], said: str
) -> None:
    every: dict[str, Work] = {"parser": PARSE, "counter": COUNT} | work
    with closing(DryRunShares(list(every))) as shares:
        run = running(spark, tmp_path, shares, every)
        with pytest.raises(OperatorError, match=said):
            run.start()
