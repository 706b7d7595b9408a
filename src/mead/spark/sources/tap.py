"""Taps: readers of a broker's arrivals beside the pipeline, as the MEAD paper's workload monitor.

A tap knows arrivals before the first operator reads them, and also those of rows without a time stamp: it is there when
they come. A broker implements `Tap`; it hands the offsets and time stamps that it reads to an `ArrivalRecord`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

import numpy as np

from mead.spark.telemetry.probe import MOST_STAMPS, Stamps

MOST_SKIPS = 100
"""Maximum number of skipped parts of a stream that wait for the monitor. It forgets older ones, as older stamps."""


@dataclass(frozen=True, eq=False)
class TapReading:
    """Arrivals since the last reading."""

    arrivals: Sequence[Stamps]
    known_us: int
    """All arrivals before this time have been read."""


class Tap(Protocol):
    """Reads a stream on the driver, in a thread of its own."""

    @property
    def first(self) -> int | None:
        """The offset at which the pipeline begins to read, if this is known before it has read anything."""

    @property
    def end(self) -> int | None:
        """One more than the last offset in the stream; None while the broker does not answer."""

    def read(self) -> TapReading:
        """Return the arrivals since the last call. Does not wait for the broker."""

    def close(self) -> None:
        """End the thread and the connection."""


@dataclass
class ArrivalRecord:
    """Arrivals that a tap has seen, until the monitor reads them. Two threads may use it.

    >>> record = ArrivalRecord(end=7, known_us=1_000)
    >>> record.add([(7, 1_200), (9, None), (10, None)], since_us=1_000, now_us=2_000)
    >>> record.end, [group.all_us for group in record.take().arrivals]
    (11, [array([1200, 1250, 1750])])
    """

    end: int
    known_us: int
    _stamps_us: list[int] = field(default_factory=list, repr=False)
    _skipped: list[Stamps] = field(default_factory=list, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, messages: Sequence[tuple[int, int | None]], since_us: int, now_us: int) -> None:
        """Add messages that have come between two times: offsets in order, each with its time stamp or None.

        Those without a stamp are spread evenly between these times.
        """
        stamps_us = [stamp_us for _, stamp_us in messages if stamp_us is not None]
        plain = len(messages) - len(stamps_us)
        with self._lock:
            step_us = (now_us - since_us) / max(plain, 1)
            stamps_us += [round(since_us + (n + 0.5) * step_us) for n in range(plain)]
            self._stamps_us = [*self._stamps_us, *stamps_us][-MOST_STAMPS:] if stamps_us else self._stamps_us
            self.end = messages[-1][0] + 1 if messages else self.end
            self.known_us = max(self.known_us, now_us)

    def skip(self, end: int, now_us: int) -> None:
        """Add the messages up to ``end``, which were not read, spread evenly over the time since the last call."""
        with self._lock:
            if end > self.end:
                skipped = Stamps.spread(end - self.end, self.known_us, now_us)
                self._skipped = [*self._skipped, skipped][-MOST_SKIPS:]
            self.end, self.known_us = max(self.end, end), max(self.known_us, now_us)

    def take(self) -> TapReading:
        """Return the arrivals since the last call."""
        with self._lock:
            stamps_us, skipped, self._stamps_us, self._skipped = self._stamps_us, self._skipped, [], []
        seen = [Stamps.of(np.array(stamps_us, dtype=np.int64))] if stamps_us else []
        return TapReading([*skipped, *seen], self.known_us)
