"""Rules for the column and the unit of arrivals, the same for every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from mead.arrays import FloatArray, IntArray
from mead.workload.trace import TICKS_PER_S, TraceError, Unit

TIMESTAMP_NAMES = ("timestamp_us", "timestamp_s", "timestamp")
IAT_NAMES = ("iat_s", "iat_us", "iat")
EVENT_NAMES = ("event_timestamp_us", "event_timestamp_s")

CHUNK_ROWS = 1 << 18
"""Rows read at a time from a piece: few enough for the cache of a processor."""

MOST_ROWS = 200_000_000
"""Maximum rows of a trace read whole: 3 GB of memory. A file of a few kilobytes can claim to have more."""


@dataclass(frozen=True)
class Column:
    """The numbers of one column and their unit."""

    values: IntArray | FloatArray
    unit: Unit


@dataclass(frozen=True)
class Columns:
    """The arrivals of a file, and their event times if it has them."""

    arrivals: Column
    events: Column | None = None


class Piece(Protocol):
    """Reference to a part of a file that any process with access to the file can read."""

    def chunks(self) -> Iterator[IntArray | FloatArray]:
        """Yield the arrivals in chunks. Raises TraceError; a BadRowError counts rows within the piece."""


@dataclass(frozen=True)
class Pieces:
    """The pieces of a file in the order of its rows, not read yet."""

    unit: Unit
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class Choice:
    """Column and unit that the user requested. ``None`` leaves the choice to the names in the file."""

    column: str | None = None
    unit: Unit | None = None
    iat: bool = False

    def arrivals_among(self, names: Sequence[str]) -> int:
        """Return the position of the column with the arrivals.

        >>> Choice().arrivals_among(["size", "timestamp_us"])
        1
        >>> Choice(column="2").arrivals_among(["", ""])
        1
        """
        if self.column is not None:
            if self.column in names:
                return names.index(self.column)
            if self.column.isdecimal() and not any(names) and 1 <= int(self.column) <= len(names):
                return int(self.column) - 1
            raise TraceError(f"there is no column '{self.column}'; {_listed(names)}")
        for name in IAT_NAMES if self.iat else TIMESTAMP_NAMES:
            if name in names:
                return names.index(name)
        if len(names) == 1:
            return 0
        what = "inter-arrival times" if self.iat else "time stamps"
        raise TraceError(f"which column holds the {what}? {_listed(names)}; name one with --column")

    def events_among(self, names: Sequence[str]) -> int | None:
        """Return the position of the column with the event times, or None."""
        events = (names.index(name) for name in EVENT_NAMES if name in names and not self.iat)
        return next((place for place in events if place != self.arrivals_among(names)), None)

    def unit_of(self, name: str, default: Unit) -> Unit:
        """Return the unit of the arrivals in a column of this name.

        >>> Choice().unit_of("timestamp_us", default="s"), Choice(unit="ms").unit_of("timestamp_us", default="s")
        ('us', 'ms')
        """
        return self.unit or unit_in_name(name, default)


def check_rows(rows: int) -> None:
    """Refuse a file that would fill the memory, before reading it."""
    if rows > MOST_ROWS:
        raise TraceError(
            f"it has {rows:,} rows; at most {MOST_ROWS:,} are read at once. Use mead characterize for larger files"
        )


def unit_in_name(name: str, default: Unit) -> Unit:
    """Return the unit at the end of a column name."""
    stem, _, ending = name.rpartition("_")
    return ending if stem and ending in TICKS_PER_S else default


def _listed(names: Sequence[str]) -> str:
    if not any(names):
        return f"the file has no header and {len(names)} columns, numbered from 1"
    return f"the file has {', '.join(names)}"
