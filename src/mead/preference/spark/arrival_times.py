"""When tuples came into the log: the time that a micro-batch may take if the next one is not to wait."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from mead.spark.log.stream_log import StreamLog

WRITTEN_S = "written_s"
"""In the note of a task: when it wrote its tuples, in seconds since 1970."""


class ArrivalTimes:
    """By the notes of the tasks that have written the log.

    Time stamps of tuples would not do: a stream that is read from files brings an hour of them in a second. Nor would
    the time between two micro-batches of the stages: once these are behind, that is as long as their own work takes,
    and they would never seem to be overloaded.
    """

    def __init__(self, log: Path) -> None:
        self._log = StreamLog(log, keep_notes=True)
        self._batch, self._end = -1, 0
        self._came: deque[tuple[int, float]] = deque()
        """Where the input's micro-batches end that are still to be worked on, and when each came."""
        self._last: tuple[int, float] | None = None
        """The same of the rows that were asked for last."""

    def until(self, offset: int) -> float | None:
        """When the last rows before an offset came, in seconds since 1970. Offsets are asked for in their order.

        Within a micro-batch of the input, rows are taken to have come one after the other.
        """
        while self._batch < self._log.last:
            self._batch += 1
            noted = self._log.noted(self._batch)
            self._end += noted.rows
            if times_s := [note[WRITTEN_S] for note in noted.notes if WRITTEN_S in note]:
                self._came.append((self._end, max(times_s)))
        asked = self._last
        while self._came and self._came[0][0] <= offset:
            asked = self._came.popleft()
        if self._came and asked is not None and asked[0] < offset:
            (first, before_s), (end, came_s) = asked, self._came[0]
            asked = offset, before_s + (came_s - before_s) * (offset - first) / (end - first)
        if asked is None or asked == self._last:
            return None
        self._last = asked
        return asked[1]
