"""Reading a trace from a file and writing it to one; the extension names the format.

The same rules hold for every format:

* The column is the one that is asked for; or one with a customary name (``timestamp_us``, ``timestamp_s``,
  ``timestamp``; ``iat_s``, ``iat_us``, ``iat`` for inter-arrival times); or the only one.
* The unit is the one that is asked for; or the one at the end of the column's name (``_s``, ``_ms``, ``_us``,
  ``_ns``); or seconds for text and for floats, and microseconds for the integers of Parquet and ``.npy``.
* A column ``event_timestamp_us`` or ``event_timestamp_s`` beside the time stamps gives the event times.
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
from mead.workload.trace import TICKS_PER_S, BadRowError, Trace, TraceError, Unit


class Writer(Protocol):
    """Writes a trace to a path."""

    def __call__(self, path: Path, trace: Trace, *, iat: bool) -> None:
        """As time stamps, or as IATs."""


@dataclass(frozen=True)
class Format:
    """How a kind of file is read, at once or in pieces, and written."""

    read: Callable[[Path, Choice], Columns]
    split: Callable[[Path, Choice], Pieces]
    write: Writer


PARQUET = Format(parquet.read, parquet.split, parquet.write)
TEXT = Format(text.read, text.split, text.write)
NPY = Format(npy.read, npy.split, npy.write)

FORMATS = {".parquet": PARQUET, ".pq": PARQUET, ".csv": TEXT, ".tsv": TEXT, ".txt": TEXT, ".dat": TEXT, ".npy": NPY}
"""The format by the extension of the file."""


def read_trace(
    path: str | Path, *, iat: bool = False, sort: bool = False, column: str | None = None, unit: Unit | None = None
) -> Trace:
    """The arrivals in a file of time stamps, or of inter-arrival times with ``iat``.

    ``sort`` puts time stamps in order that are not. ``column`` is a name, or a number from 1 in a text without a
    header. Raises TraceError, in one line, for anything that is not at least two arrivals in order of time.
    """
    path = Path(path)
    with _complaints_about(path):
        columns = _format_for_reading(path, unit).read(path, Choice(column, unit, iat))
        if iat and sort:
            raise TraceError("inter-arrival times have no order to repair; leave out --sort, or --iat")
        return _from_iats(columns.arrivals) if iat else _from_timestamps(columns, sort=sort)


def split_trace(path: str | Path, *, iat: bool = False, column: str | None = None, unit: Unit | None = None) -> Pieces:
    """A file that may be larger than memory, in pieces that can be read one by one, here or on other machines.

    Nothing but the layout of the file is looked at. Raises TraceError, in one line, for what is wrong with that.
    """
    path = Path(path)
    with _complaints_about(path):
        return _format_for_reading(path, unit).split(path.resolve(), Choice(column, unit, iat))


@contextmanager
def _complaints_about(path: Path) -> Iterator[None]:
    """Every complaint begins with the path."""
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
    """Write time stamps, or inter-arrival times with ``iat``; the file appears whole or not at all.

    Time stamps have the resolution of a microsecond. Parquet gets ``timestamp_us``, text ``timestamp_s`` with six
    decimals, ``.npy`` integers of microseconds.
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
    """Event times: they need no order, but each must be a number."""
    finite = np.isfinite(column.values)
    if not finite.all():
        raise BadRowError(int((~finite).argmax()) + 1, ": the event time is not a finite number")
    micros = column.values * (1e6 / TICKS_PER_S[column.unit])
    return np.asarray(np.rint(micros), dtype=np.int64)
