from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mead.workload import TraceError, read_trace


def parquet(folder: Path, **columns: Any) -> Path:
    path = folder / "t.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def test_integers_are_microseconds_and_floats_are_seconds(tmp_path: Path) -> None:
    assert read_trace(parquet(tmp_path, t=pa.array([0, 1_500_000]))).iats_s.tolist() == [1.5]
    assert read_trace(parquet(tmp_path, t=pa.array([0.0, 1.5]))).iats_s.tolist() == [1.5]
    assert read_trace(parquet(tmp_path, t=pa.array([0, 7], pa.int32()))).timestamps_us.tolist() == [0, 7]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_time_stamp_type_brings_its_unit(unit: str, tmp_path: Path) -> None:
    per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    path = parquet(tmp_path, timestamp=pa.array([0, 3 * per_s], pa.int64()).cast(pa.timestamp(unit)))
    assert read_trace(path).timestamps_us.tolist() == [0, 3_000_000]


def test_the_customary_column_is_found_among_others(tmp_path: Path) -> None:
    path = parquet(tmp_path, line=pa.array(["a", "b"]), timestamp_us=pa.array([1, 2]))
    assert read_trace(path).timestamps_us.tolist() == [1, 2]


def test_a_folder_as_spark_writes_it(tmp_path: Path) -> None:
    folder = tmp_path / "t.parquet"
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for part, stamps in enumerate(([1, 2], [3, 4])):
        pq.write_table(pa.table({"timestamp_us": stamps}), folder / f"part-{part:05}.snappy.parquet")
    assert read_trace(folder).timestamps_us.tolist() == [1, 2, 3, 4]


def test_a_missing_column_lists_those_that_are_there(tmp_path: Path) -> None:
    path = parquet(tmp_path, a=pa.array([1, 2]), b=pa.array([1, 2]))
    with pytest.raises(TraceError, match=r"no column 'timestamp'; the file has a, b"):
        read_trace(path, column="timestamp")
    with pytest.raises(TraceError, match="name one with --column"):
        read_trace(path)


@pytest.mark.parametrize("values", [pa.array(["1", "2"]), pa.array([True, False]), pa.array([[1], [2]])])
def test_a_column_that_holds_no_numbers(values: pa.Array, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"column 'timestamp_us' is of type .*; it must hold integers"):
        read_trace(parquet(tmp_path, timestamp_us=values))


def test_a_missing_value_has_its_row(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="row 3: column 'timestamp_us' has no value"):
        read_trace(parquet(tmp_path, timestamp_us=pa.array([1, 2, None, 4])))


def test_numbers_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="signed 64-bit"):
        read_trace(parquet(tmp_path, timestamp_us=pa.array([1, 2**64 - 1], pa.uint64())))


def test_no_rows_and_one_row(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no arrivals"):
        read_trace(parquet(tmp_path, timestamp_us=pa.array([], pa.int64())))
    with pytest.raises(TraceError, match="only one arrival"):
        read_trace(parquet(tmp_path, timestamp_us=pa.array([5])))


def test_a_damaged_file(tmp_path: Path) -> None:
    path = parquet(tmp_path, timestamp_us=pa.array(range(1000)))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(TraceError, match="not a readable Parquet file") as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)


def test_an_event_time_that_is_no_number(tmp_path: Path) -> None:
    path = parquet(tmp_path, timestamp_us=pa.array([1, 2]), event_timestamp_s=pa.array([0.0, float("nan")]))
    with pytest.raises(TraceError, match="row 2: the event time is not a finite number"):
        read_trace(path)
