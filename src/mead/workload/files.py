"""Read and write trace files. The extension selects the format.

The same rules hold for every format:

* Column: the requested one; else a known name (``timestamp_us``, ``timestamp_s``, ``timestamp``; with ``iat``
  ``iat_s``, ``iat_us``, ``iat``); else the only column.
* Unit: the requested one; else the suffix of the column name (``_s``, ``_ms``, ``_us``, ``_ns``); else seconds for
  text and floats, microseconds for the integers of Parquet and ``.npy``.
* Event times: a column ``event_timestamp_us`` or ``event_timestamp_s`` beside the time stamps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import numpy as np

from mead.arrays import IntArray
from mead.workload.formats import npy, parquet, text
from mead.workload.formats.columns import Choice, Column, Columns, Pieces
from mead.workload.trace import TICKS_PER_S, BadRowError, Trace, TraceError, Unit, check_near


class Writer(Protocol):
    """Writes a trace to a path."""

    def __call__(self, path: Path, trace: Trace, *, iat: bool) -> None:
        """Write time stamps, or IATs with ``iat``."""


@dataclass(frozen=True)
class Format:
    """The functions of a file format: read a file whole, split it into pieces, write it."""

    read: Callable[[Path, Choice], Columns]
    split: Callable[[Path, Choice], Pieces]
    write: Writer


PARQUET = Format(parquet.read, parquet.split, parquet.write)
TEXT = Format(text.read, text.split, text.write)
NPY = Format(npy.read, npy.split, npy.write)

FORMATS = {".parquet": PARQUET, ".pq": PARQUET, ".csv": TEXT, ".tsv": TEXT, ".txt": TEXT, ".dat": TEXT, ".npy": NPY}
"""Formats by file extension."""


def read_trace(
    path: str | Path, *, iat: bool = False, sort: bool = False, column: str | None = None, unit: Unit | None = None
) -> Trace:
    """Read the arrivals from a file of time stamps, or of inter-arrival times with ``iat``.

    ``sort`` sorts time stamps that are out of order. ``column`` is a name, or a number from 1 in text without a
    header. Raises TraceError with a message of one line if the file is not a valid trace.
    """
    path = Path(path)
    with _complaints_about(path):
        columns = _format_for_reading(path, unit).read(path, Choice(column, unit, iat))
        if iat and sort:
            raise TraceError("inter-arrival times have no order to repair; leave out --sort, or --iat")
        return _from_iats(columns.arrivals) if iat else _from_timestamps(columns, sort=sort)


def split_trace(path: str | Path, *, iat: bool = False, column: str | None = None, unit: Unit | None = None) -> Pieces:
    """Split a file, which may be larger than memory, into pieces that other machines can read too.

    Reads only the layout of the file, and raises TraceError if that is invalid.
    """
    path = Path(path)
    with _complaints_about(path):
        return _format_for_reading(path, unit).split(path.resolve(), Choice(column, unit, iat))


@contextmanager
def _complaints_about(path: Path) -> Iterator[None]:
    """Put the path in front of every error message."""
    try:
        yield
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error


def _format_for_reading(path: Path, unit: Unit | None) -> Format:
    if unit is not None and unit not in TICKS_PER_S:
        raise TraceError(f"unknown unit '{unit}'; it must be one of {', '.join(TICKS_PER_S)}")
    if not path.exists():
        raise TraceError("there is no such file")
    return _format_of(path)


def write_trace(trace: Trace, path: str | Path, *, iat: bool = False) -> None:
    """Write time stamps, or inter-arrival times with ``iat``. The file appears complete or not at all.

    Time stamps have a resolution of one microsecond: ``timestamp_us`` in Parquet, ``timestamp_s`` with six decimals
    in text, integers in ``.npy``.
    """
    path = Path(path)
    try:
        chosen = _format_of(path)
        if iat and trace.event_timestamps_us is not None:
            raise TraceError("inter-arrival times leave no room for the event times of this trace; write time stamps")
        temporary = path.with_name(f".{path.stem}-{uuid4().hex}{path.suffix}")
        try:
            chosen.write(temporary, trace, iat=iat)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error
    except OSError as error:
        raise TraceError(f"{path}: cannot be written ({error.strerror or error})") from error


def _format_of(path: Path) -> Format:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        if path.is_dir():
            raise TraceError("is a folder; name a file, or a folder of Parquet files that ends in .parquet") from None
        known = ", ".join(FORMATS)
        raise TraceError(f"unknown kind of file '{path.suffix}'; the name must end in one of {known}") from None


def _from_iats(column: Column) -> Trace:
    return Trace.from_iats_s(column.values / TICKS_PER_S[column.unit])


def _from_timestamps(columns: Columns, *, sort: bool) -> Trace:
    values, unit = columns.arrivals.values, columns.arrivals.unit
    if values.dtype.kind == "i":
        trace = Trace.from_ticks(values, unit, sort=sort)
    else:
        trace = Trace.from_timestamps_s(values / TICKS_PER_S[unit], sort=sort)
    if columns.events is None:
        return trace
    events = _whole_us(columns.events)
    return trace.with_event_timestamps_us(events[np.argsort(values, kind="stable")] if sort else events)


def _whole_us(column: Column) -> IntArray:
    """Convert event times, which need no order but must be finite."""
    finite = np.isfinite(column.values)
    if not finite.all():
        raise BadRowError(int((~finite).argmax()) + 1, ": the event time is not a finite number")
    check_near(column.values, column.unit, "event time")
    micros = column.values * (1e6 / TICKS_PER_S[column.unit])
    return np.asarray(np.rint(micros), dtype=np.int64)
