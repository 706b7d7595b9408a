"""Results in few Parquet files: whoever reads them at any moment gets whole appends, each row once, in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from mead.spark.log import results
from mead.spark.log.results import ResultFiles
from mead.spark.log.store import LogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("number", pa.int64())])
AT_A_TIME = 3


def numbers(first: int, end: int) -> Iterator[pa.RecordBatch]:
    for start in range(first, end, 2):
        yield pa.record_batch([pa.array(range(start, min(start + 2, end)))], schema=SCHEMA)


def append(files: ResultFiles, first: int, end: int) -> None:
    files.append(first, end, numbers(first, end), "results", SCHEMA)


def read(folder: Path) -> list[int]:
    return [] if not list(folder.glob("*.parquet")) else pq.read_table(folder)["number"].to_pylist()


def visible(folder: Path) -> list[str]:
    """What programs list: names without a dot before them."""
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_many_appends_make_few_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_APPENDS", 20)
    files = ResultFiles(tmp_path / "results")
    assert files.end == 0
    for first in range(0, 150, AT_A_TIME):
        append(files, first, first + AT_A_TIME)
        assert files.end == first + AT_A_TIME
    assert read(files.folder) == list(range(150))
    assert visible(files.folder) == [f"rows-{first:015d}.parquet" for first in (0, 60, 120)]


def test_a_large_file_is_not_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = ResultFiles(tmp_path)
    append(files, 0, 10)
    monkeypatch.setattr(results, "MOST_BYTES", (tmp_path / visible(tmp_path)[0]).stat().st_size)
    monkeypatch.setattr(results, "ROWS_AT_ONCE", 4)
    append(files, 10, 20)
    assert len(visible(tmp_path)) == 2
    assert pq.read_metadata(tmp_path / visible(tmp_path)[1]).num_row_groups == 3
    assert read(tmp_path) == list(range(20))


def test_what_is_there_already_is_not_added_again(tmp_path: Path) -> None:
    """After a crash Spark repeats an append; if its checkpoint is gone, it begins with what the log still has."""
    files = ResultFiles(tmp_path)
    for first, end in ((0, 5), (0, 5), (5, 9), (5, 9), (3, 12), (0, 12), (12, 13)):
        append(files, first, end)
        assert read(tmp_path) == list(range(files.end))
    assert files.end == 13


def test_rows_for_others_are_left_out_and_counted(tmp_path: Path) -> None:
    files, to = ResultFiles(tmp_path), pa.list_(pa.string())
    rows = pa.record_batch({"number": [0, 1, 2], "to": pa.array([["results"], ["loop"], None], to)})
    files.append(0, 3, [rows], "results", SCHEMA)
    files.append(3, 6, [pa.record_batch({"number": [3, 4, 5], "to": pa.array([["loop"]] * 3, to)})], "results", SCHEMA)
    append(files, 6, 8)
    assert read(tmp_path) == [0, 2, 6, 7]
    assert files.end == 8


def test_other_columns_begin_a_new_file(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path)
    append(files, 0, 2)
    other = pa.record_batch({"number": [2], "word": ["two"]})
    files.append(2, 3, [other], "results", other.schema)
    first, second = (pq.read_table(tmp_path / name) for name in visible(tmp_path))
    assert (first["number"].to_pylist(), second.to_pylist()) == ([0, 1], [{"number": 2, "word": "two"}])


def test_results_that_were_moved_away_do_not_come_again(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path / "results")
    append(files, 0, 5)
    files.folder.rename(tmp_path / "archive")
    append(files, 5, 7)
    assert (read(tmp_path / "archive"), read(files.folder)) == ([0, 1, 2, 3, 4], [5, 6])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    append(ResultFiles(tmp_path), 0, 5)
    file = tmp_path / visible(tmp_path)[0]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(LogError, match="damaged") as refused:
        append(ResultFiles(tmp_path), 5, 7)
    assert str(refused.value).startswith(f"{file}: ")
    assert "\n" not in str(refused.value)


def test_damaged_rows_are_not_written_again_under_a_new_checksum(tmp_path: Path) -> None:
    files = ResultFiles(tmp_path)
    for first in range(0, 12, AT_A_TIME):
        append(files, first, first + AT_A_TIME)
    (file,) = tmp_path.glob("rows-*.parquet")
    whole, said = file.read_bytes(), list[str]()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for at in range(footer):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        before = file.read_bytes()
        try:
            append(files, 12, 15)
        except LogError as error:
            said.append(str(error))
            assert file.read_bytes() == before
        else:
            assert read(tmp_path) == list(range(15)), "it was not in the rows"
        assert visible(tmp_path) == [file.name]
    assert len(said) > footer // 2
    assert all(line.startswith(f"{file}: damaged") and "\n" not in line for line in said)


def test_row_groups_stay_where_they_are(tmp_path: Path) -> None:
    """So that a reader with an old footer, or an old size, reads whole appends from a file that was replaced."""
    files = ResultFiles(tmp_path)
    for first in range(0, 30, AT_A_TIME):
        append(files, first, first + AT_A_TIME)
    path = tmp_path / visible(tmp_path)[0]
    dataset = ds.dataset(tmp_path, format="parquet")
    (fragment,) = dataset.get_fragments()
    fragment.ensure_complete_metadata()
    old, footer = path.read_bytes(), pq.read_metadata(path)
    append(files, 30, 33)
    last = footer.row_group(footer.num_row_groups - 1).column(0)
    data = (last.dictionary_page_offset or last.data_page_offset) + last.total_compressed_size
    assert path.read_bytes()[:data] == old[:data]
    assert fragment.to_table()["number"].to_pylist() == list(range(30))


WRITER = """
import sys
from pathlib import Path
import pyarrow as pa
from mead.spark.log import results
results.MOST_APPENDS = 25
files, schema, step = results.ResultFiles(Path(sys.argv[1])), pa.schema([("number", pa.int64())]), int(sys.argv[2])
while True:
    first = files.end
    rows = pa.record_batch([pa.array(range(first, first + step))], schema=schema)
    files.append(first, first + step, [rows], "results", schema)
    print(first, flush=True)
"""


@contextmanager
def writer(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that appends without a pause, until it is killed."""
    command = [sys.executable, "-c", WRITER, str(folder), str(AT_A_TIME)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            os.kill(process.pid, signal.SIGKILL)


def test_readers_are_exact_while_a_writer_appends_and_is_killed(tmp_path: Path) -> None:
    before = 0
    for _ in range(3):
        with writer(tmp_path) as process:
            assert process.stdout is not None
            for _ in range(8):
                found = read(tmp_path)
                assert found == list(range(len(found)))
                assert len(found) % AT_A_TIME == 0
                assert len(found) >= before
                before = len(found)
            for _ in range(20):
                process.stdout.readline()
    assert read(tmp_path) == list(range(ResultFiles(tmp_path).end))
    assert len(visible(tmp_path)) <= ResultFiles(tmp_path).end // AT_A_TIME // 25 + 1
    append(ResultFiles(tmp_path), ResultFiles(tmp_path).end, ResultFiles(tmp_path).end + 1)
    assert [path.name for path in tmp_path.glob(".*")] == [".lock"], "what a killed writer has left is cleared away"


def test_spark_reads_whole_appends_though_files_have_changed_since_it_listed_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = ResultFiles(tmp_path)
    for first in range(0, 60, AT_A_TIME):
        append(files, first, first + AT_A_TIME)
        listed = spark.read.parquet(str(tmp_path))
        append(files, first + AT_A_TIME, first + AT_A_TIME + 50 * (first % 2))
        found = sorted(row.number for row in listed.collect())
        assert found == list(range(len(found)))
        assert len(found) in {first + AT_A_TIME, files.end}
