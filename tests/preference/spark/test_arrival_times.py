"""When tuples came, by what their tasks have noted."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from mead.preference.spark.ingest import WRITTEN_S, ArrivalTimes
from mead.spark.log.stream_log import StreamLog

ROWS = pa.schema([("n", pa.int64())])


def put(log: StreamLog, batch: int, *files: tuple[int, float]) -> None:
    """Files with so many rows, each written at its time."""
    log.commit(
        batch,
        [
            (log.write(pa.table({"n": range(rows)}, schema=ROWS).to_batches(), ROWS), {WRITTEN_S: at_s})
            for rows, at_s in files
        ],
    )


def test_a_micro_batch_came_when_its_last_file_did(tmp_path: Path) -> None:
    log, times = StreamLog(tmp_path), ArrivalTimes(tmp_path)
    put(log, 0, (3, 10.0), (2, 10.5))
    put(log, 1, (4, 11.0))
    put(log, 2, (1, 13.0))
    assert times.until(5) == 10.5
    assert times.until(10) == 13.0
    put(log, 3, (2, 14.0))
    assert times.until(12) == 14.0


def test_a_pause_counts_until_the_first_tuples_after_it(tmp_path: Path) -> None:
    log, times = StreamLog(tmp_path), ArrivalTimes(tmp_path)
    put(log, 0, (3, 10.0))
    put(log, 1, (0, 15.0))
    put(log, 2, (3, 20.0))
    assert [times.until(3), times.until(6)] == [15.0, 20.0]


def test_within_a_micro_batch_rows_come_one_after_the_other(tmp_path: Path) -> None:
    log, times = StreamLog(tmp_path), ArrivalTimes(tmp_path)
    put(log, 0, (4, 10.0))
    put(log, 1, (8, 12.0))
    put(log, 2, (2, 13.0))
    assert times.until(2) is None, "nobody knows when the first began to come"
    assert [times.until(offset) for offset in (4, 6, 10, 12, 14)] == [10.0, 10.5, 11.5, 12.0, 13.0]


def test_logs_of_earlier_versions_say_nothing_about_times(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    log.commit(0, [(log.write(pa.table({"n": [1]}, schema=ROWS).to_batches(), ROWS), {"rejected": 0})])
    assert ArrivalTimes(tmp_path).until(1) is None
