"""First pass over a trace in pieces: check every row, count rows, find the first and the last arrival.

Each piece yields a `Survey` of a few numbers. Merged, they either give the error that `read_trace` would raise or the
`Course` that the second pass needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from math import fsum
from typing import Any, cast

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.workload.formats.columns import Piece
from mead.workload.trace import (
    TICKS_PER_S,
    BadRowError,
    TraceError,
    Unit,
    check_enough,
    check_iats,
    check_sum,
    check_timestamps,
    gaps_in_order,
    is_rounding,
    whole_us,
)


@dataclass(frozen=True)
class Complaint:
    """An error found in a piece, and its row if it has one."""

    said: str
    row: int | None = None

    @classmethod
    def of(cls, error: TraceError | OSError) -> Complaint:
        """Make a complaint from an error."""
        if isinstance(error, BadRowError):
            return cls(error.said, error.row)
        return cls(str(error) if isinstance(error, TraceError) else f"cannot be read ({error.strerror or error})")

    def error(self, rows_before: int) -> TraceError:
        """Return the error for the whole trace, with the row counted from its beginning."""
        return TraceError(self.said) if self.row is None else BadRowError(self.row, self.said).after(rows_before)


@dataclass(frozen=True)
class Survey:
    """Summary of a piece or a trace. Whole time stamps are in the unit of the file, others in seconds."""

    rows: int = 0
    first: int | float = 0
    last: int | float = 0
    off_us: float = 0.0
    """Largest distance of a time stamp in seconds from whole microseconds."""
    total_s: float = 0.0
    """Sum of the IATs."""
    complaint: Complaint | None = None
    disorder: Complaint | None = None
    """The first time stamp that is before its predecessor. It is no error if the trace is sorted afterwards."""

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, sent: Mapping[str, Any]) -> Survey:
        """Restore a survey from the values of ``as_json``."""
        said = {name: sent[name] and Complaint(**sent[name]) for name in ("complaint", "disorder")}
        return cls(**{**sent, **said})


def survey_piece(piece: Piece, unit: Unit, *, iat: bool) -> Survey:
    """Check and summarize all rows of a piece."""
    found = Survey()
    try:
        for chunk in piece.chunks():
            if chunk.size:
                found = _with_iats(found, chunk / TICKS_PER_S[unit]) if iat else _with_timestamps(found, chunk, unit)
    except (TraceError, OSError) as error:
        return replace(found, complaint=Complaint.of(error))
    return found


def whole_or_seconds(values: IntArray | FloatArray, unit: Unit) -> tuple[IntArray | FloatArray, Unit]:
    """Return time stamps and their unit.

    Whole numbers stay unchanged, because they are exact; floats are in seconds.
    """
    return (values, unit) if values.dtype.kind == "i" else (values / TICKS_PER_S[unit], "s")


def _with_iats(found: Survey, iats_s: FloatArray) -> Survey:
    try:
        check_iats(iats_s)
    except BadRowError as error:
        raise error.after(found.rows) from error
    return replace(found, rows=found.rows + iats_s.size, total_s=found.total_s + float(iats_s.sum()))


def _with_timestamps(found: Survey, chunk: IntArray | FloatArray, unit: Unit) -> Survey:
    values, unit = whole_or_seconds(chunk, unit)
    try:
        check_timestamps(values, unit)
    except BadRowError as error:
        raise error.after(found.rows) from error
    disorder = found.disorder or _disorder(values, unit, found)
    first, last = values[0].item(), values[-1].item()
    return replace(
        found,
        rows=found.rows + values.size,
        first=found.first if found.rows else first,
        last=last,
        off_us=max(found.off_us, _off_us(values)),
        disorder=disorder,
    )


def _off_us(seconds: IntArray | FloatArray) -> float:
    return 0.0 if seconds.dtype.kind == "i" else whole_us(seconds.astype(np.float64))[1]


def _disorder(values: IntArray | FloatArray, unit: Unit, above: Survey) -> Complaint | None:
    """Return the first time stamp that is before its predecessor."""
    known = np.concatenate([np.array([above.last], dtype=values.dtype), values]) if above.rows else values
    try:
        gaps_in_order(known, unit)
    except BadRowError as error:
        return Complaint.of(error.after(above.rows - (known.size - values.size)))
    return None


def merge_surveys(surveys: Iterable[Survey], unit: Unit, *, iat: bool) -> Survey:
    """Merge the surveys of all pieces. Raises TraceError for every error except disorder."""
    whole = Survey()
    totals_s = []
    for survey in surveys:
        if survey.complaint is not None:
            raise survey.complaint.error(whole.rows)
        if survey.rows:
            whole = _then(whole, survey, unit)
            totals_s.append(survey.total_s)
    whole = replace(whole, total_s=fsum(totals_s))
    if iat:
        if not whole.rows:
            raise TraceError("no inter-arrival times; a trace needs at least one")
        check_sum(whole.total_s)
    else:
        check_enough(whole.rows)
    return whole


def _then(whole: Survey, survey: Survey, unit: Unit) -> Survey:
    disorder = whole.disorder
    if disorder is None:
        first = np.array([survey.first])
        here = _disorder(first, unit if isinstance(survey.first, int) else "s", whole)
        inside = survey.disorder and Complaint.of(cast(BadRowError, survey.disorder.error(whole.rows)))
        disorder = here or inside
    return replace(
        whole,
        rows=whole.rows + survey.rows,
        first=whole.first if whole.rows else survey.first,
        last=survey.last,
        off_us=max(whole.off_us, survey.off_us),
        disorder=disorder,
    )


@dataclass(frozen=True)
class Course:
    """Conversion of the numbers of a file into IATs and ages (seconds before the last arrival)."""

    unit: Unit
    iat: bool
    end: int | float
    """The last time stamp, or the sum of all IATs."""
    duration_s: float
    ticks_per_s: int
    in_us: bool = False
    """True if seconds are whole microseconds up to float rounding. They are then rounded."""

    @classmethod
    def of(cls, whole: Survey, unit: Unit, *, iat: bool) -> Course:
        """Make the conversion from the merged survey."""
        if iat:
            return cls(unit, iat, whole.total_s, whole.total_s, 1)
        if isinstance(whole.last, int):
            ticks_per_s = TICKS_PER_S[unit]
            return cls(unit, iat, whole.last, (whole.last - whole.first) / ticks_per_s, ticks_per_s)
        first_us, last_us = round(whole.first * 1e6), round(whole.last * 1e6)
        if is_rounding(whole.off_us, last_us):
            return cls(unit, iat, last_us, (last_us - first_us) / 1e6, TICKS_PER_S["us"], in_us=True)
        return cls(unit, iat, whole.last, whole.last - whole.first, 1)

    def before_s(self, values: IntArray | FloatArray) -> FloatArray:
        """Return the IATs between some rows."""
        return values / TICKS_PER_S[self.unit] if self.iat else np.diff(self._ticks(values)) / self.ticks_per_s

    def stretches(
        self, chunks: Iterable[IntArray | FloatArray], before: IntArray | FloatArray, passed_s: float
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield IATs, and the age of the arrival at the end of each, for rows that follow ``before``.

        ``before`` is empty at the start of the trace. ``passed_s`` is the time before these rows; only IATs need it.
        """
        last = self._ticks(before[-1:])
        for chunk in chunks:
            if self.iat:
                iats_s = chunk / TICKS_PER_S[self.unit]
                arrivals_s = passed_s + np.cumsum(iats_s)
                yield iats_s, self.end - arrivals_s
                passed_s = float(arrivals_s[-1]) if arrivals_s.size else passed_s
            else:
                ticks = self._ticks(chunk)
                ticks = np.concatenate([last.astype(ticks.dtype), ticks])
                yield np.diff(ticks) / self.ticks_per_s, (self.end - ticks[1:]) / self.ticks_per_s
                last = ticks[-1:]

    def _ticks(self, values: IntArray | FloatArray) -> IntArray | FloatArray:
        """Return time stamps, in whole ticks where that is exact."""
        known, _ = whole_or_seconds(values, self.unit)
        return whole_us(known.astype(np.float64))[0] if self.in_us else known
