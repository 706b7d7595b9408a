"""A log that is written without a query: the lines that the sink in Java writes, and where batches end."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.log.log_writer import line

from mead.spark.log.stream_log import StreamLog, WrittenFile

SCHEMA = pa.schema([("number", pa.int64())])


def filled(folder: Path, sizes: list[list[int]]) -> StreamLog:
    writer = StreamLog(folder)
    writer.repair()
    for batch, files in enumerate(sizes):
        written = [writer.write([pa.record_batch([pa.array(range(rows))], schema=SCHEMA)], SCHEMA) for rows in files]
        writer.commit(batch, [(one, {"file": number}) for number, one in enumerate(written)])
    return writer


def test_its_lines_are_those_of_the_sink(tmp_path: Path) -> None:
    writer = StreamLog(tmp_path)
    assert writer.repair() == -1
    files = [WrittenFile("a.arrow", 3), WrittenFile("b.arrow", 0)]
    writer.commit(0, [(files[0], None), (files[1], {"x": 1})])
    assert (tmp_path / "index").read_bytes() == line(0, files, [None, {"x": 1}])


def test_what_was_committed_is_seen_by_others_and_by_itself(tmp_path: Path) -> None:
    writer = filled(tmp_path, [[3, 0], [], [2]])
    reader = StreamLog(tmp_path, keep_notes=True)
    assert (reader.last, reader.end, writer.last, writer.end) == (2, 5, 2, 5)
    assert [list(reader.take_batch_notes(batch).notes) for batch in range(3)] == [
        [{"file": 0}, {"file": 1}],
        [],
        [{"file": 0}],
    ]
    assert StreamLog(tmp_path).repair() == 2


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 6), max_size=3), max_size=6), st.integers(1, 30), st.data())
def test_whole_batches_are_taken_as_many_as_fit_and_at_least_one(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[list[int]], most: int, data: st.DataObject
) -> None:
    filled(folder := tmp_path_factory.mktemp("log"), sizes)
    bounds = [0]
    for files in sizes:
        bounds.append(bounds[-1] + sum(files))
    start = data.draw(st.sampled_from(bounds))
    following = sorted({end for end in bounds if end > start})
    fitting = [end for end in following if end - start <= most]
    assert StreamLog(folder).batch_ends(start, most) == (fitting or following[:1])
