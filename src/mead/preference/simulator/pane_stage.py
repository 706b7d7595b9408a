"""The pane stage in virtual time: a trace, the emitter, and the workers' queues."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mead.arrays import FloatArray, IntArray
from mead.preference.control.far_stamps import AHEAD_US
from mead.preference.control.punctuation import KSlack
from mead.preference.control.utilization import Load
from mead.preference.simulator import worker_queues
from mead.preference.simulator.cost import CostModel
from mead.preference.simulator.interference import Interference
from mead.preference.windows.messages import UNKNOWN_COUNT, ClosedEmpty, Order, PaneResult, Punctuation, TurnOff
from mead.preference.windows.pane_emitter import ClosedPane, PaneEmitter
from mead.preference.windows.panes import Windows
from mead.workload import Trace

FIRST_ROOM = 1 << 16


@dataclass(frozen=True, eq=False)
class PanedTrace:
    """Tuples in order of arrival, with their panes and the decisions of K-slack."""

    arrivals_s: FloatArray
    panes: IntArray
    late: npt.NDArray[np.bool_]
    punctuation: IntArray
    largest_pane: int
    """Tuples of the largest pane."""

    @classmethod
    def of(cls, trace: Trace, windows: Windows, slack: KSlack, ahead_us: int = AHEAD_US) -> PanedTrace:
        """Build it from a trace of arrivals, with event times if tuples come out of order.

        Tuples whose event time is more than ``ahead_us`` after their arrival are left out.
        """
        arrivals_us = trace.timestamps_us
        events_us = arrivals_us if trace.event_timestamps_us is None else trace.event_timestamps_us
        near = events_us <= arrivals_us + ahead_us
        if not near.any():
            raise ValueError(f"all tuples have event times more than {ahead_us / 1e6:g} s after their arrival")
        arrivals_us, events_us = arrivals_us[near], events_us[near]
        delayed = arrivals_us - events_us <= slack.longest_us  # others are dropped, and time does not begin with them
        events_us = events_us - int(events_us[delayed].min(initial=events_us.max()))
        arrivals_us = arrivals_us - int(trace.timestamps_us[0])
        admission = slack.offer(events_us, arrivals_us)
        panes = np.maximum(events_us // windows.pane_us, 0)
        largest = int(np.bincount(panes[~admission.late]).max(initial=1))
        return cls(arrivals_us / 1e6, panes, admission.late, admission.punctuation, largest)

    @property
    def duration_s(self) -> float:
        """Time of the last arrival."""
        return float(self.arrivals_s[-1])


@dataclass(frozen=True)
class TimedResult:
    """The result of a partition, given by its number of tuples, and when it leaves the stage."""

    time_s: float
    result: PaneResult[int]


class PaneStage:
    """Runs a trace through the emitter and yields the results with their times."""

    def __init__(self, stream: PanedTrace, emitter: PaneEmitter, cost: CostModel, interference: Interference) -> None:
        self.stream, self.emitter = stream, emitter
        self.closed: list[ClosedPane] = []
        """All panes closed so far."""
        self._cost, self._interference = cost, interference
        self._insert_s = cost.insert_s(stream.largest_pane)
        self._workers = np.zeros(emitter.table.workers, dtype=worker_queues.WORKER)
        self._queues = np.zeros(emitter.table.workers, dtype=np.int64)
        self._pool = np.zeros(FIRST_ROOM, dtype=worker_queues.SERVICE)
        self._pool["behind"] = np.arange(1, FIRST_ROOM + 1)
        self._free = np.array([0, FIRST_ROOM], dtype=np.int64)
        self._position, self._told = 0, -1
        self._before = self._counts()

    @property
    def finished(self) -> bool:
        """Whether the whole trace has been sent; workers may still have messages."""
        return self._position == self.stream.arrivals_s.size

    @property
    def idle_from_s(self) -> float:
        """When the last of the messages sent so far is done."""
        return float(self._workers["free_s"].max())

    def run(self, until_s: float) -> Iterator[TimedResult]:
        """Send the tuples that arrive before a time; after the last tuple, close every pane."""
        stream, table = self.stream, self.emitter.table
        end = int(np.searchsorted(stream.arrivals_s, until_s))
        if self._position < end:
            table.reserve(int(stream.panes[self._position : end].max()))
        while self._position < end:
            self._position, why = worker_queues.send_tuples(
                self._position, end, self._told, stream.arrivals_s, stream.panes, stream.late, stream.punctuation,
                self.emitter.next_pane, int(table.splitting), self.emitter.threshold.tuples, table.panes, table.sizes,
                table.holds, table.active, table.cursor, self._workers, self._queues, self._pool, self._free,
                self._insert_s, self._cost.message_s, self._interference.times_s, self._interference.speeds,
            )  # fmt: skip
            if why == worker_queues.SHORT:
                self._make_room()
            elif why == worker_queues.CLOSE:
                self._told = self._position
                pane = int(stream.punctuation[self._position])
                yield from self._progress(pane, float(stream.arrivals_s[self._position]))
        if self.finished and end and self.emitter.next_pane <= int(stream.panes.max()):
            yield from self._progress(int(stream.panes.max()) + 1, stream.duration_s)

    def sample(self, interval_s: float, now_s: float) -> Load:
        """Return the load since the last sample, ``interval_s`` ago."""
        for worker in range(self._queues.size):
            self._drain(worker, now_s)
        counts = self._counts()
        received, done, busy_s = (now - before for now, before in zip(counts, self._before, strict=True))
        self._before = counts
        return Load.of(interval_s, received, done, busy_s, self.emitter.table.active)

    def resize(self, degree: int, now_s: float) -> Iterator[TimedResult]:
        """Add the first free workers, or remove those with the shortest queues."""
        active = self.emitter.active
        if degree > len(active):
            free = [worker for worker in range(self._queues.size) if worker not in active]
            self.emitter.add(free[: degree - len(active)])
        elif degree < len(active):
            for worker in active:
                self._drain(worker, now_s)
            shortest = sorted(active, key=lambda worker: (self._queues[worker], worker))
            yield from self._remove(shortest[: len(active) - degree], now_s)

    def _remove(self, leaving: list[int], now_s: float) -> Iterator[TimedResult]:
        removal = self.emitter.remove(leaving, self._queues)
        turned_off_s = self._deliver(removal.orders, now_s, TurnOff)
        for part in removal.flushed:
            yield TimedResult(turned_off_s[part.worker], PaneResult(part.pane, UNKNOWN_COUNT, part.tuples))

    def _progress(self, pane: int, now_s: float) -> Iterator[TimedResult]:
        progress = self.emitter.close_before(pane)
        self.closed += progress.closed
        punctuated_s = self._deliver(progress.orders, now_s, Punctuation)
        empty = iter([order.worker for order in progress.orders if isinstance(order.message, ClosedEmpty)])
        for closed in progress.closed:
            for part in closed.partitions:
                yield TimedResult(punctuated_s[part.worker], PaneResult(closed.pane, closed.count, part.tuples))
            if not closed.partitions:
                yield TimedResult(punctuated_s[next(empty)], PaneResult(closed.pane, 1, 0))

    def _deliver(self, orders: tuple[Order, ...], now_s: float, kind: type) -> dict[int, float]:
        """Put messages into queues; return when each worker has done its message of that kind."""
        done_s: dict[int, float] = {}
        if self._free[1] < len(orders):
            self._make_room()
        for order in orders:
            worker = order.worker
            self._drain(worker, now_s)
            end_s = worker_queues.send(
                self._workers[worker],
                self._queues[worker],
                self._pool,
                self._free,
                now_s,
                self._cost.message_s,
                self._interference.times_s,
                self._interference.speeds,
            )
            self._queues[worker] += 1
            self._workers[worker]["received"] += isinstance(order.message, Punctuation)
            if isinstance(order.message, kind):
                done_s[worker] = end_s
        return done_s

    def _drain(self, worker: int, now_s: float) -> None:
        self._queues[worker] = worker_queues.drain(
            self._workers[worker], self._queues[worker], self._pool, self._free, now_s
        )

    def _counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        received, done, busy_s = (self._workers[name].astype(np.float64) for name in ("received", "done", "busy_s"))
        return received, done, busy_s

    def _make_room(self) -> None:
        size = self._pool.size
        more = np.zeros(size, dtype=worker_queues.SERVICE)
        more["behind"] = np.arange(size + 1, 2 * size + 1)
        more["behind"][-1] = self._free[0]
        self._pool = np.concatenate((self._pool, more))
        self._free[:] = size, self._free[1] + size
