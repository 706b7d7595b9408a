"""The emitter between micro-batches: owners of tuples and complete panes.

The driver runs it once per micro-batch, on the time stamps alone. The tuples stay in the log; each task reads its own
ones there, so that no tuple has to pass through one place, as it does in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from mead.arrays import IntArray
from mead.preference.control.far_stamps import AHEAD_US, find_far_stamps, find_first_stamp
from mead.preference.control.punctuation import KSlack
from mead.preference.control.threshold import Threshold
from mead.preference.windows.owner_table import NO_WORKER, OwnerTable, Splitting
from mead.preference.windows.pane_emitter import ClosedPane, PaneEmitter
from mead.preference.windows.panes import Windows

MOST_PANES = 2_000_000
"""Maximum panes by which a stream may be ahead of the micro-batch before. More means a wrong unit or clock."""

FARTHEST_US = 1 << 60
"""Times beyond this, some 36,000 years from 1970, count as this: differences of others do not overflow."""


@dataclass(frozen=True, eq=False)
class Emission:
    """Workers and panes of tuples, in order of arrival."""

    workers: IntArray
    """The pane worker of each tuple; ``NO_WORKER`` for a tuple that is too late or too far ahead."""
    panes: IntArray
    closed: tuple[ClosedPane, ...]


class Emitter:
    """K-slack, owner table and threshold.

    Windows begin at multiples of the slide since 1970, as Spark's do. The first is the last one to begin before the
    first tuple; K-slack drops older tuples.
    """

    def __init__(
        self,
        windows: Windows,
        slack: KSlack,
        panes: PaneEmitter,
        *,
        ahead_us: int = AHEAD_US,
        origin_us: int | None = None,
        newest_pane: int = -1,
        clock_us: int = 0,
        dropped: int = 0,
        far: int = 0,
    ) -> None:
        self.windows, self.slack, self.panes = windows, slack, panes
        self.ahead_us = ahead_us
        """The longest time by which an event may be ahead of its arrival."""
        self.origin_us = origin_us
        """The time at which pane 0 begins."""
        self.newest_pane = newest_pane
        """The last pane that has a tuple."""
        self.clock_us = clock_us
        """The latest arrival: earlier arrival times are raised to it."""
        self.dropped = dropped
        """Tuples that came too late."""
        self.far = far
        """Tuples set aside because their event times lie too far ahead."""

    def offer(self, event_us: IntArray, arrival_us: IntArray, ends: Sequence[int]) -> Emission:
        """Assign the tuples of one micro-batch, in order of arrival. Queues are empty before.

        ``ends`` are those of the input's batches: each is judged by itself, however many a micro-batch has.
        """
        event_us, arrival_us = (np.clip(times_us, -FARTHEST_US, FARTHEST_US) for times_us in (event_us, arrival_us))
        workers = np.full(event_us.size, NO_WORKER, dtype=np.int64)
        panes = np.zeros(event_us.size, dtype=np.int64)
        closed: list[ClosedPane] = []
        start, queues = 0, np.zeros(self.panes.table.workers, dtype=np.int64)
        for end in ends:
            near = start + np.flatnonzero(self._is_near(event_us[start:end], arrival_us[start:end]))
            self.far += end - start - near.size
            if near.size:
                some = self._emit(event_us[near], arrival_us[near], queues)
                workers[near], panes[near] = some.workers, some.panes
                closed += some.closed
            start = end
        return Emission(workers, panes, tuple(closed))

    def _is_near(self, event_us: IntArray, arrival_us: IntArray) -> npt.NDArray[np.bool_]:
        """Return which tuples of a batch of the input do not lie too far ahead."""
        if event_us.size == 0:
            return np.empty(0, dtype=np.bool_)
        gap_us = max(self.ahead_us, 1000 * self.windows.length_ms)
        near = ~find_far_stamps(event_us, arrival_us, self.ahead_us, gap_us)
        if self.origin_us is None and near.any():
            slide_us = 1000 * self.windows.slide_ms
            self.origin_us = find_first_stamp(event_us[near], gap_us) // slide_us * slide_us
            self.clock_us = int(arrival_us[near][0])
        if self.origin_us is not None:
            near &= event_us - (self.origin_us + self.slack.newest_us) <= MOST_PANES * self.windows.pane_us
        return near

    def _emit(self, event_us: IntArray, arrival_us: IntArray, queues: IntArray) -> Emission:
        since_us = event_us - (self.origin_us or 0)
        clock_us = np.maximum.accumulate(np.maximum(arrival_us, self.clock_us))
        self.clock_us = int(clock_us[-1])
        panes = since_us // self.windows.pane_us
        admission = self.slack.offer(since_us, clock_us)
        workers = np.full(event_us.size, NO_WORKER, dtype=np.int64)
        closed: list[ClosedPane] = []
        start = 0
        for at in np.flatnonzero(admission.punctuation > self.panes.next_pane).tolist():
            if admission.punctuation[at] > self.panes.next_pane:
                self._assign(slice(start, at), panes, admission.late, workers, queues)
                closed += self.panes.close_before(int(admission.punctuation[at])).closed
                start = at
        self._assign(slice(start, event_us.size), panes, admission.late, workers, queues)
        self.dropped += int(np.count_nonzero(workers == NO_WORKER))
        return Emission(workers, panes, tuple(closed))

    def finish(self) -> tuple[ClosedPane, ...]:
        """End the stream: every pane that has a tuple is complete."""
        return self.panes.close_before(self.newest_pane + 1).closed

    def _assign(self, part: slice, panes: IntArray, late: Any, workers: IntArray, queues: IntArray) -> None:
        """Assign tuples that are not late. After the end of a stream, tuples of closed panes are late."""
        inside = np.flatnonzero(~late[part] & (panes[part] >= self.panes.next_pane)) + part.start
        if inside.size:
            numbers = np.ascontiguousarray(panes[inside])
            workers[inside] = self.panes.table.assign(numbers, queues, self.panes.threshold.tuples)
            self.newest_pane = max(self.newest_pane, int(numbers.max()))

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values, for ``from_json``."""
        return {
            "length_ms": self.windows.length_ms,
            "slide_ms": self.windows.slide_ms,
            "slack": self.slack.as_json(),
            "panes": self.panes.as_json(),
            "ahead_us": self.ahead_us,
            "origin_us": self.origin_us,
            "newest_pane": self.newest_pane,
            "clock_us": self.clock_us,
            "dropped": self.dropped,
            "far": self.far,
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Emitter:
        """Restore the state of ``as_json``."""
        return cls(
            Windows(document["length_ms"], document["slide_ms"]),
            KSlack.from_json(document["slack"]),
            PaneEmitter.from_json(document["panes"]),
            ahead_us=document.get("ahead_us", AHEAD_US),
            origin_us=document["origin_us"],
            newest_pane=document["newest_pane"],
            clock_us=document["clock_us"],
            dropped=document["dropped"],
            far=document.get("far", 0),
        )


def by_arrival(event_us: IntArray, arrival_us: IntArray, ends: Sequence[int]) -> IntArray:
    """Return the order of arrival: batch by batch of the input, each by arrival and event time.

    Within a batch, rows stand in the order in which tasks read them, which says nothing about the stream.

    >>> by_arrival(np.array([5, 3, 9, 1]), np.array([5, 3, 9, 1]), ends=[2, 4]).tolist()
    [1, 0, 3, 2]
    """
    batch = np.searchsorted(np.asarray(ends), np.arange(event_us.size), side="right")
    later = (np.diff(batch) > 0) | (np.diff(arrival_us) > 0)
    if bool((later | ((np.diff(arrival_us) == 0) & (np.diff(event_us) >= 0))).all()):
        return np.arange(event_us.size)
    return np.lexsort((event_us, arrival_us, batch))


@cache
def warm_emitter(windows: Windows) -> None:
    """Compile the emitter, once per process, before the stream begins."""
    panes = PaneEmitter(OwnerTable(2, Splitting.ADAPTIVE), Threshold())
    panes.add([0, 1])
    stamps_us = np.array([0, 3 * windows.pane_us])
    Emitter(windows, KSlack(windows.pane_us), panes).offer(stamps_us, stamps_us, [2])
