"""How far a query has come, from what it has written to disk."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from mead.spark.pipeline.query import last_begun, last_finished
from mead.spark.telemetry.reports import BatchReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_query_that_was_never_started_has_done_nothing(tmp_path: Path) -> None:
    assert last_begun(tmp_path / "none") == -1
    assert last_finished(tmp_path / "none") is None


def test_the_checkpoint_says_what_the_last_progress_has_said(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 7).option("numPartitions", 1).load()
    query = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    until_s = monotonic() + 60.0
    while (query.lastProgress is None or query.lastProgress.batchId < 12) and monotonic() < until_s:
        sleep(0.05)
    query.stop()
    told, found = BatchReport.parse(query.lastProgress.json), last_finished(tmp_path)  # type: ignore[union-attr]
    assert found is not None
    assert found.batch in {told.batch, told.batch + 1}, "the last may have been cut off before it was told"
    assert found.end_offset["offset"] == told.end_offset["offset"] + 7 * (found.batch - told.batch)
    assert last_begun(tmp_path) in {found.batch, found.batch + 1}
