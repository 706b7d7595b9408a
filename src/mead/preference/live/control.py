"""Both levels of control between micro-batches: the PID on the threshold, the fuzzy controller on the numbers of tasks.

In the paper, workers have queues, and a worker that cannot keep up has done less than it received. A micro-batch ends
when everything is done. So what a worker *could* have done in the time in which its tuples arrived is counted as done,
and the formulas of the paper hold as they are: the utilization is above 1 where work takes longer than the arrivals.
Work is CPU time: on a machine with fewer cores than tasks, waiting for a core is not taken for work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from mead.models.arrays import FloatArray
from mead.preference.degrees import Controller, Degrees
from mead.preference.live.query_spec import Working
from mead.preference.owner_table import Splitting
from mead.preference.threshold import Threshold
from mead.preference.utilization import Load
from mead.preference.virtual.system import PHANTOM_SPLITTING, Interval

KEPT_INTERVALS = 3_600


@dataclass(frozen=True, eq=False)
class StageWork:
    """What each worker of a stage received in a micro-batch, and its CPU time for it."""

    received: FloatArray
    busy_s: FloatArray

    @classmethod
    def none(cls, workers: int) -> StageWork:
        """Of workers that had nothing to do."""
        return cls(np.zeros(workers), np.zeros(workers))

    def plus(self, other: StageWork) -> StageWork:
        """Of both micro-batches; the degree may have changed between them."""
        workers = max(self.received.size, other.received.size)
        first, second = (
            [np.pad(values, (0, workers - values.size)) for values in (one.received, one.busy_s)]
            for one in (self, other)
        )
        return StageWork(first[0] + second[0], first[1] + second[1])

    def load(self, interval_s: float) -> Load:
        """For the formulas of the paper.

        >>> late = StageWork(np.array([100.0]), np.array([3.0])).load(interval_s=1.5)
        >>> late.pane_utilization
        2.0
        """
        in_time_s = np.minimum(self.busy_s, interval_s)
        part = np.divide(in_time_s, self.busy_s, out=np.ones_like(self.busy_s), where=self.busy_s > 0)
        everybody = np.ones(self.received.size, dtype=np.bool_)
        return Load.of(interval_s, self.received, self.received * part, in_time_s, everybody)


@dataclass(frozen=True, eq=False)
class Measured:
    """What one micro-batch tells the controllers."""

    ended_s: float
    interval_s: float
    """In which its tuples arrived: since the micro-batch before began."""
    panes: StageWork
    windows: StageWork
    counts: tuple[int, ...]
    """Partitions of each pane that was closed in it."""


class TwoLevels:
    """Remembers the samples of a control interval."""

    def __init__(self, working: Working) -> None:
        self.working = working
        self.intervals: deque[Interval] = deque(maxlen=KEPT_INTERVALS)
        """What the controller saw of late, and what was in force."""
        self._controller = Controller(working.most, working.profile)
        self._forget()

    def _forget(self) -> None:
        self._passed_s = 0.0
        self._utilizations: list[float] = []
        self._counts: list[int] = []
        self._windows = StageWork.none(1)

    def after(self, seen: Measured, threshold: Threshold, now: Degrees) -> tuple[Threshold, Degrees]:
        """The threshold after this micro-batch's sample, and the degrees from the next one on."""
        utilization = seen.panes.load(seen.interval_s).pane_utilization
        self._passed_s += seen.interval_s
        self._utilizations.append(utilization)
        self._counts += seen.counts
        self._windows = self._windows.plus(seen.windows)
        threshold = threshold.sampled(utilization)
        if self._passed_s < self.working.control_s:
            return threshold, now
        degrees = self._decide(seen.ended_s, now)
        self._forget()
        return threshold, degrees

    def _decide(self, ended_s: float, now: Degrees) -> Degrees:
        panes, splitting = float(np.mean(self._utilizations)), _mean(self._counts)
        load = self._windows.load(self._passed_s)
        windows = load.window_utilization(pending=0)  # a micro-batch leaves nothing that waits
        self.intervals.append(Interval(ended_s, now, panes, splitting, windows, load.idle_ratio))
        if not self.working.elastic:
            return now
        seen = splitting if self.working.splitting is Splitting.ADAPTIVE else PHANTOM_SPLITTING
        return self._controller.granted(now, self._controller.wanted(now, panes, seen, windows))


def _mean(counts: Sequence[int]) -> float:
    return float(np.mean(counts)) if counts else nan
