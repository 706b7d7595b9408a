"""Files that are no event logs, by the hundred: each is read, or answered in one line that says why not."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.effort import tried
from tests.spark.event_log.made_log import Work, as_lines, events, poisson, run_query
from tests.spark.event_log.test_files import lz4_blocks, snappy_blocks, zstd

from mead.reports.advice.query_record import QueryRecord
from mead.spark.event_log.files import EventLogError
from mead.spark.event_log.reader import read_event_log


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("event-logs") / "log"


@cache
def good() -> bytes:
    work = Work()
    return as_lines(events(run_query(poisson(60.0, 1.5), 2, work), 2, work))


PACKS = {"none": bytes, "zstd": zstd, "lz4": lz4_blocks, "snappy": snappy_blocks}


def check(path: Path, content: bytes) -> None:
    """Queries with sensible numbers, or one line that begins with the path."""
    path.write_bytes(content)
    said, records = str(path), tuple[QueryRecord, ...]()
    try:
        records = read_event_log(path).records
    except EventLogError as error:
        said = str(error)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert len(said) < 2000
    assert all(map(sensible, records))


def sensible(record: QueryRecord) -> bool:
    return all(
        batch.rows > 0
        and min(batch.planning_s, batch.work_s, batch.commit_s, batch.record_s) >= 0
        and np.isfinite(batch.took_s)
        and all(step.size and (step >= 0).all() for step in batch.steps)
        for batch in record.batches
    )


@pytest.mark.parametrize("codec", PACKS)
def test_changed_bytes_are_answered_in_one_line(log: Path, codec: str) -> None:
    content = PACKS[codec](good())  # type: ignore[operator]
    edit = st.tuples(st.integers(0, len(content)), st.integers(0, 12), st.binary(max_size=6))

    @given(st.lists(edit, min_size=1, max_size=4))
    @tried(150)
    def changed(edits: list[tuple[int, int, bytes]]) -> None:
        other = content
        for start, length, new in edits:
            other = other[:start] + new + other[start + length :]
        check(log, other)

    changed()


@given(st.sampled_from([b"", b"\x28\xb5\x2f\xfd", b"LZ4Block", b"\x82SNAPPY\x00", b"ZV", b'{"Event":"']), st.binary())
@tried(300)
def test_bytes_of_nothing_are_answered_in_one_line(log: Path, start: bytes, content: bytes) -> None:
    check(log, start + content)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all values inside a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(way for key, one in inner for way in places(one, (*path, key)))]


@given(st.data())
@tried(400)
def test_any_value_in_an_event_may_be_another(log: Path, data: st.DataObject) -> None:
    lines = good().splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    event = json.loads(lines[number])
    way = data.draw(st.sampled_from(places(event)[1:]))
    inside = event
    for key in way[:-1]:
        inside = inside[key]
    inside[way[-1]] = data.draw(anything)
    lines[number] = json.dumps(event).encode()
    check(log, b"\n".join(lines) + b"\n")
