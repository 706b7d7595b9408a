"""The stateful detector on Spark: what it sends back to itself is handed to it by the test, which so is the loop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pattern_detection.detector import OUTPUT_SCHEMA, make_detector
from pattern_detection.generator import make_generator
from pattern_detection.posts import make_window
from tests.examples.pattern_detection.oracle import last_window, maximal

from mead.spark.log.addresses import select_rows
from mead.spark.log.sink import write_stream
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.operators import parse_columns

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW, THRESHOLD, LONGEST = 60, 6, 3
STOPS = (50, 130)
"""After so many posts the query ends, and goes on from its checkpoint."""
COLUMNS = "itemset string, arrival_us bigint, occurrences int, supersets int"


def candidates(first: int, end: int) -> pa.Table:
    numbers = np.arange(first, end)
    posts = make_window(WINDOW)(numbers)
    columns = {"arrival_us": numbers, **{name: posts[name] for name in posts.schema.names}}
    made = pa.Table.from_batches([make_generator(LONGEST)(pa.record_batch(columns))])
    return made.append_column("supersets", pa.nulls(len(made), pa.int32()))


def rows_for(log: StreamLog, reader: str, start: int) -> pa.Table:
    rows = [select_rows(b, reader) for pieces in log.divide(start, log.end, 1) for b in log.read(pieces)]
    return pa.Table.from_batches(rows) if rows else pa.table({"itemset": pa.array([], pa.string())})


@pytest.mark.parametrize("parts", [1, 3])
def test_patterns_are_those_of_brute_force_though_the_query_was_started_again(
    spark: SparkSession, tmp_path: Path, parts: int
) -> None:
    (tmp_path / "in").mkdir()
    log, files, read = StreamLog(tmp_path / "out"), 0, 0
    for reader in ("detector", "reporter", "test"):
        log.register(reader)
    last: dict[str, tuple[int, bool]] = {}
    for first, end in zip((0, *STOPS), STOPS, strict=False):
        stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "in"))
        detected = make_detector(THRESHOLD, parts)(stream)
        assert dict(detected.dtypes) == parse_columns(OUTPUT_SCHEMA)
        query = write_stream(detected, log.folder).option("checkpointLocation", f"{tmp_path}/checkpoint").start()
        waiting = candidates(first, end)
        while len(waiting):
            pq.write_table(waiting.select(["itemset", "arrival_us", "occurrences", "supersets"]), tmp_path / f"{files}")
            (tmp_path / f"{files}").rename(tmp_path / "in" / f"{files}.parquet")
            query.processAllAvailable()
            back, report = rows_for(log, "detector", read), rows_for(log, "reporter", read)
            files, read = files + 1, log.end
            waiting = back.append_column("occurrences", pa.nulls(len(back), pa.int32()))
            row: dict[str, Any]
            for row in report.to_pylist():
                last[row["itemset"]] = max(last.get(row["itemset"], (0, False)), (row["turn"], row["maximal"]))
        query.stop()
        found = {pattern for pattern, (_, is_so) in last.items() if is_so}
        assert found == maximal(last_window(end, WINDOW), THRESHOLD, LONGEST)
    assert max(len(pattern.split()) for pattern in last) == LONGEST
