"""The window stage in virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf

import numpy as np
import numpy.typing as npt

from mead.preference.control.utilization import Load
from mead.preference.simulator.cost import CostModel
from mead.preference.simulator.interference import Interference
from mead.preference.simulator.pane_stage import TimedResult
from mead.preference.windows.messages import PaneResult
from mead.preference.windows.window_directory import Merge, OrderedCollector, Update, WindowDirectory


@dataclass(frozen=True)
class RunningTask:
    """A task at a worker."""

    task: Update[int] | Merge[int]
    worker: int
    took_s: float


class WindowStage:
    """Feedback-based scheduling (Alg. 2 of the paper). A result is given by its number of tuples."""

    def __init__(
        self, directory: WindowDirectory[int], workers: int, cost: CostModel, interference: Interference
    ) -> None:
        self.directory = directory
        self.finished_s: list[float] = []
        """When each window left the collector, by number."""
        self.finished_tuples: list[int] = []
        """Number of tuples of each of these windows."""
        self.updates = self.merges = 0
        self.active = np.zeros(workers, dtype=np.bool_)
        self._ready = np.ones(workers, dtype=np.bool_)
        self._scheduled, self._done = np.zeros(workers), np.zeros(workers)
        self._busy_s = np.zeros(workers)
        self._last = -1
        self._cost, self._interference = cost, interference
        self._collector: OrderedCollector[int] = OrderedCollector()
        self._events: list[tuple[float, int, PaneResult[int] | RunningTask]] = []
        self._order = count()

    @property
    def next_s(self) -> float:
        """Time of the next event; infinity if there is none."""
        return self._events[0][0] if self._events else inf

    def expect(self, emitted: TimedResult) -> None:
        """Schedule a result that will leave the pane stage."""
        heappush(self._events, (emitted.time_s, next(self._order), emitted.result))

    def run(self, until_s: float) -> None:
        """Handle all events before a time."""
        while self._events and self._events[0][0] < until_s:
            now_s, _, event = heappop(self._events)
            if isinstance(event, RunningTask):
                self._feedback(event, now_s)
            else:
                self.directory.add(event)
                self._use_idle(now_s)

    def resize(self, degree: int, now_s: float) -> None:
        """Add the first free workers, or remove idle ones first; a removed busy worker finishes its task."""
        active = np.flatnonzero(self.active)
        if degree > active.size:
            self.active[np.flatnonzero(~self.active)[: degree - active.size]] = True
            self._use_idle(now_s)
        elif degree < active.size:
            idle_first = active[np.argsort(~self._ready[active], kind="stable")]
            self.active[idle_first[: active.size - degree]] = False

    def sample(self, interval_s: float) -> Load:
        """Return the load since the last sample."""
        load = Load.of(interval_s, self._scheduled, self._done, self._busy_s, self.active)
        self._scheduled, self._done, self._busy_s = (np.zeros(self.active.size) for _ in range(3))
        return load

    def _use_idle(self, now_s: float) -> None:
        """Start as many tasks as there are idle workers."""
        idle = self._ready & self.active
        for task in self.directory.find_tasks(int(idle.sum())):
            self._last = _behind(self._last, idle)
            idle[self._last] = False
            self._start(task, self._last, now_s)

    def _start(self, task: Update[int] | Merge[int], worker: int, now_s: float) -> None:
        if isinstance(task, Merge):
            work_s = self._cost.merge_s(task.one, task.other)
            self.merges += 1
        else:
            work_s = self._cost.merge_s(task.state or 0, task.result)
            self.updates += 1
        self._ready[worker] = False
        self._scheduled[worker] += 1
        end_s = self._interference.finish_s(now_s, work_s)
        heappush(self._events, (end_s, next(self._order), RunningTask(task, worker, end_s - now_s)))

    def _feedback(self, work: RunningTask, now_s: float) -> None:
        task = work.task
        self._busy_s[work.worker] += work.took_s
        self._done[work.worker] += 1
        self._ready[work.worker] = True
        if isinstance(task, Merge):
            self.directory.complete(task, task.one + task.other)
        else:
            tuples = (task.state or 0) + task.result
            self.directory.complete(task, tuples)
            if task.last:
                leaving = [made_of for _, made_of in self._collector.add(task.window, tuples)]
                self.finished_s += [now_s] * len(leaving)
                self.finished_tuples += leaving
        if self.active[work.worker]:
            for following in self.directory.find_tasks(1):
                self._start(following, work.worker, now_s)


def _behind(last: int, idle: npt.NDArray[np.bool_]) -> int:
    """Return the next idle worker after the last choice."""
    idle_workers = np.flatnonzero(idle)
    later = idle_workers[idle_workers > last]
    return int(later[0] if later.size else idle_workers[0])
