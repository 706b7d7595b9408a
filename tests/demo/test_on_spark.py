"""The stateful operator of the log analysis on Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.spark.log.log_writer import commit

from mead.demo.counter import count
from mead.spark.log.sink import write_stream
from mead.spark.log.source import LogDataSource
from mead.spark.log.stream_log import StreamLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Totals = list[tuple[str, str, int]]


def batch_of(*parts: tuple[str, str, int]) -> pa.RecordBatch:
    """So many lines of each component and level."""
    components = [component for component, _, lines in parts for _ in range(lines)]
    levels = [level for _, level, lines in parts for _ in range(lines)]
    return pa.record_batch({"component": pa.array(components, pa.string()), "level": pa.array(levels, pa.string())})


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Callable[[], Totals]:
    """Starts the counter from its checkpoint, lets it count all there is, and returns all that it has put out."""
    spark.dataSource.register(LogDataSource)
    (tmp_path / "tasks").write_text("2")
    schema = "component string, level string"
    reading = {"path": f"{tmp_path}/in", "schema": schema, "consumer": "counter", "tasks": f"{tmp_path}/tasks"}
    output = StreamLog(tmp_path / "out")

    def once() -> Totals:
        lines = spark.readStream.format("mead-log").options(**reading).load()
        query = write_stream(count(lines), output.folder).option("checkpointLocation", f"{tmp_path}/checkpoint").start()
        query.processAllAvailable()
        query.stop()
        batches = [batch for pieces in output.divide(0, output.end, 1) for batch in output.read(pieces)]
        return [(row["component"], row["level"], row["count"]) for batch in batches for row in batch.to_pylist()]

    return once


def test_totals_survive_a_restart_exactly(run: Callable[[], Totals], tmp_path: Path) -> None:
    log, schema = StreamLog(tmp_path / "in"), batch_of().schema
    commit(log, 0, [log.write([batch_of(("auth", "INFO", 70), ("cart", "WARN", 30))], schema)])
    before = run()
    assert sorted(before) == [("auth", "INFO", 70), ("cart", "WARN", 30)]
    commit(log, 1, [log.write([batch_of(("auth", "INFO", 5), ("auth", "WARN", 7))], schema)])
    after = run()
    assert after[:2] == before
    assert sorted(after[2:]) == [("auth", "INFO", 75), ("auth", "WARN", 7)]
