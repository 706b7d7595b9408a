"""A survey of pieces agrees with `read_trace` of the whole file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.arrays import FloatArray, IntArray
from mead.workload import TICKS_PER_S, Course, Survey, Trace, TraceError, Unit, merge_surveys, survey_piece

T = TypeVar("T")


@dataclass(frozen=True)
class InMemory:
    rows: list[Any]

    def chunks(self) -> Iterator[IntArray | FloatArray]:
        yield from self.rows


def pieces(values: IntArray | FloatArray, data: Any) -> list[InMemory]:
    """Cut anywhere, and again within the pieces."""
    cuts = st.lists(st.integers(0, values.size), max_size=4).map(sorted)
    return [InMemory(np.split(piece, data.draw(cuts))) for piece in np.split(values, data.draw(cuts))]


def looked_at(parts: list[InMemory], unit: Unit, *, iat: bool) -> Survey:
    surveys = [json.loads(json.dumps(survey_piece(part, unit, iat=iat).as_json())) for part in parts]
    return merge_surveys(map(Survey.from_json, surveys), unit, iat=iat)


def told(values: IntArray | FloatArray, unit: Unit, *, iat: bool) -> Trace:
    if iat:
        return Trace.from_iats_s(values / TICKS_PER_S[unit])
    if values.dtype.kind == "i":
        return Trace.from_ticks(values, unit)
    return Trace.from_timestamps_s(values / TICKS_PER_S[unit])


numbers = st.one_of(
    st.lists(st.integers(-1, 40), max_size=30).map(lambda rows: np.array(rows, dtype=np.int64)),
    st.lists(st.sampled_from([-1.0, 0.0, 0.1, 0.25, 1 / 3, 2.0, np.nan, np.inf]), max_size=30).map(np.array),
    st.lists(st.floats(0, 1e6), max_size=30).map(lambda rows: np.sort(np.array(rows))),
    st.lists(st.integers(0, 10**12), max_size=30).map(lambda rows: np.sort(np.array(rows, dtype=np.int64))),
)


def in_order(parts: list[InMemory], unit: Unit, *, iat: bool) -> Survey:
    found = looked_at(parts, unit, iat=iat)
    if found.disorder:
        raise found.disorder.error(0)
    return found


def outcome(look: Callable[[], T]) -> T | str:
    """Return the result, or the message of the error."""
    try:
        return look()
    except TraceError as error:
        return str(error)


@given(numbers, st.sampled_from(list(TICKS_PER_S)), st.booleans(), st.data())
def test_pieces_are_what_the_whole_is(values: IntArray | FloatArray, unit: Unit, iat: bool, data: Any) -> None:  # noqa: FBT001
    parts = pieces(values, data)
    trace = outcome(lambda: told(values, unit, iat=iat))
    found = outcome(lambda: in_order(parts, unit, iat=iat))
    if isinstance(trace, str) or isinstance(found, str):
        # The error names the first wrong piece, whatever the kinds of errors.
        assert found == trace or (str(found).startswith("row") and str(trace).startswith("row"))
        return
    assert found.rows == len(trace) - iat
    course = Course.of(found, unit, iat=iat)
    assert course.duration_s == pytest.approx(trace.duration_s, rel=1e-12, abs=1e-12)
    chunks = [chunk for part in parts for chunk in part.chunks()]
    stretches = list(course.stretches(chunks, values[:0], 0.0))
    iats_s = np.concatenate([iats_s for iats_s, _ in stretches])
    ages_s = np.concatenate([ages_s for _, ages_s in stretches])
    assert iats_s.tolist() == trace.iats_s.tolist()
    assert ages_s == pytest.approx(trace.iats_s.sum() - np.cumsum(trace.iats_s), abs=1e-9 * max(trace.duration_s, 1e-6))


@given(st.lists(st.integers(0, 10**9), min_size=2, max_size=40, unique=True).map(sorted), st.data())
def test_a_stretch_goes_on_where_the_rows_before_it_end(stamps: list[int], data: Any) -> None:
    values = np.array(stamps, dtype=np.int64)
    cut = data.draw(st.integers(1, values.size - 1))
    for iat, rows in ((False, values), (True, np.diff(values, prepend=0))):
        course = Course.of(looked_at([InMemory([rows])], "us", iat=iat), "us", iat=iat)
        whole = next(course.stretches([rows], rows[:0], 0.0))
        passed_s = float(rows[:cut].sum()) / 1e6
        rest = next(course.stretches([rows[cut:]], rows[:cut], passed_s))
        assert rest[0].tolist() == whole[0][-rest[0].size :].tolist()
        assert rest[1] == pytest.approx(whole[1][-rest[1].size :], abs=1e-9)
        before_s = course.before_s(rows[:cut])
        assert np.concatenate([before_s, rest[0]]).tolist() == whole[0].tolist()


def test_rows_are_counted_through_all_pieces() -> None:
    parts = [InMemory([np.array([1, 2]), np.array([3])]), InMemory([]), InMemory([np.array([2, 5])])]
    assert looked_at(parts, "us", iat=False).disorder is not None
    complaint = looked_at(parts, "us", iat=False).disorder
    assert complaint is not None
    assert str(complaint.error(0)).startswith("row 4: time stamp 2 us is before the one above it (3 us); use --sort")


def test_a_file_that_vanishes_is_a_complaint(tmp_path: Path) -> None:
    class Vanished:
        def chunks(self) -> Iterator[IntArray | FloatArray]:
            yield np.array([1, 2])
            (tmp_path / "gone").open("rb").close()

    with pytest.raises(TraceError, match=r"cannot be read \(No such file or directory\)"):
        merge_surveys([survey_piece(Vanished(), "us", iat=False)], "us", iat=False)
