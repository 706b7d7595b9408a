"""When tuples came into the log: the time that a micro-batch may take if the next one is not to wait."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from mead.spark.log import StreamLog

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

    def until(self, offset: int) -> float | None:
        """When the last rows before an offset came, in seconds since 1970. Offsets are asked for in their order."""
        while self._batch < self._log.last:
            self._batch += 1
            noted = self._log.noted(self._batch)
            self._end += noted.rows
            if times_s := [note[WRITTEN_S] for note in noted.notes if WRITTEN_S in note]:
                self._came.append((self._end, max(times_s)))
        latest_s = None
        while self._came and self._came[0][0] <= offset:
            latest_s = self._came.popleft()[1]
        return latest_s
