"""Both levels of control between micro-batches.

In the paper, workers have queues, and a worker that cannot keep up has done less than it received. A micro-batch ends
when everything is done. So the work that a worker *could* have done in its time counts as done, and the formulas of the
paper hold: utilization is above 1 where work takes longer than its time.

That time is the one in which the tuples arrived, less the time spent elsewhere. Both stages work at once, in the paper
each on its own cores, here on the same. So the pane stage has the time that Spark, the emitter and tasks of the windows
leave, and at a utilization of 1 micro-batches just keep up with the stream. The window stage is judged by the whole
time: with the rest only, both would seem overloaded as soon as one is. Its work counts with the micro-batch of panes
during which it ended. If more tasks have work than there are cores, each has its part of them. Work is CPU time;
waiting for a core does not count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from mead.arrays import FloatArray
from mead.preference.control.degrees import DegreeController, Degrees
from mead.preference.control.pid import PID
from mead.preference.control.threshold import Threshold
from mead.preference.control.utilization import Load
from mead.preference.simulator.system import PHANTOM_SPLITTING, Interval
from mead.preference.spark.query_spec import ExecutionOptions
from mead.preference.windows.owner_table import Splitting

KEPT_INTERVALS = 3_600

PROPORTIONAL, DERIVATIVE, LIMIT = 0.6, 0.3, 0.3
"""Gains of the PID. Those of the released code, 1.8 and 2, are for four samples a second, of which the controller uses
the mean of ten. Here a sample lasts a pane or longer, and the controller has two or three. A pane split in two
reacts by about 1.7 to a change of alpha by 1: in a closed loop with a modelled cost, the code's gains made the
utilization jump from 0.7 to 1.35 and back with every sample; with these it settles in a few."""

LEAST_LEFT = 0.1
"""Minimum part of the time for a stage: if everything else takes too long, the true part is unknown."""


def micro_batch_pid(set_point: float) -> PID:
    """Return the regulator of the threshold."""
    return PID(set_point, PROPORTIONAL, derivative=DERIVATIVE, limit=LIMIT)


@dataclass(frozen=True, eq=False)
class StageWork:
    """Tuples or tasks that each worker of a stage received in a micro-batch, and its CPU time."""

    received: FloatArray
    busy_s: FloatArray

    @classmethod
    def none(cls, workers: int) -> StageWork:
        """Return the work of idle workers."""
        return cls(np.zeros(workers), np.zeros(workers))

    def plus(self, other: StageWork) -> StageWork:
        """Add the work of another micro-batch; the degree may have changed between them."""
        workers = max(self.received.size, other.received.size)
        first, second = (
            [np.pad(values, (0, workers - values.size)) for values in (one.received, one.busy_s)]
            for one in (self, other)
        )
        return StageWork(first[0] + second[0], first[1] + second[1])

    def needed_s(self, slots: int) -> float:
        """Return the least time that the work takes on ``slots`` cores.

        >>> [StageWork(np.ones(4), np.array(busy_s)).needed_s(slots=2) for busy_s in ([1, 1, 1, 1], [1, 0, 0, 0])]
        [2.0, 1.0]
        """
        return max(float(self.busy_s.max()), float(self.busy_s.sum()) / slots)

    def load(self, left_s: float, slots: int) -> Load:
        """Return the load for the paper's formulas, in the time left for the stage on ``slots`` cores.

        >>> late = StageWork(np.array([100.0]), np.array([3.0])).load(left_s=1.5, slots=1)
        >>> late.pane_utilization
        2.0
        """
        needed_s = self.needed_s(slots)
        interval_s = left_s * float(self.busy_s.max()) / needed_s if needed_s > 0 else left_s  # a part of a core each
        in_time_s = np.minimum(self.busy_s, interval_s)
        part = np.divide(in_time_s, self.busy_s, out=np.ones_like(self.busy_s), where=self.busy_s > 0)
        active = np.ones(self.received.size, dtype=np.bool_)
        return Load.of(interval_s, self.received, self.received * part, in_time_s, active)


@dataclass(frozen=True)
class Timing:
    """Duration of a micro-batch, and the time that it had."""

    ended_s: float
    arrived_s: float
    """The time in which its tuples arrived."""
    took_s: float

    def left_s(self, needed_s: float) -> float:
        """Return the time left for work that needed ``needed_s``, after all else, including Spark.

        >>> Timing(ended_s=9.0, arrived_s=1.0, took_s=0.75).left_s(needed_s=0.5)
        0.75
        """
        return max(self.arrived_s - max(0.0, self.took_s - needed_s), LEAST_LEFT * self.arrived_s)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measurements of one micro-batch for the controllers."""

    timing: Timing
    panes: StageWork
    windows: StageWork
    counts: tuple[int, ...]
    """Partitions of each pane that was closed in it."""

    def pane_utilization(self, slots: int) -> float:
        """Return the utilization of the pane stage on ``slots`` cores."""
        return self.panes.load(self.timing.left_s(self.panes.needed_s(slots)), slots).pane_utilization


class Sample:
    """Utilization of the pane stage over some micro-batches: time needed over time available.

    Workers wait for each other at the end of every micro-batch. So two workers that work one after the other need the
    time of both, and work is not added up by worker.
    """

    def __init__(self) -> None:
        self.arrived_s = self._spent_s = self._needed_s = 0.0

    def add(self, seen: Measurement, slots: int) -> None:
        """Add one micro-batch."""
        needed_s = seen.panes.needed_s(slots)
        self.arrived_s += seen.timing.arrived_s
        self._spent_s += max(0.0, seen.timing.took_s - needed_s)
        self._needed_s += seen.pane_utilization(slots) * seen.timing.left_s(needed_s)

    @property
    def utilization(self) -> float:
        """Mean utilization: a pane closed in one micro-batch takes time from all."""
        return self._needed_s / max(self.arrived_s - self._spent_s, LEAST_LEFT * self.arrived_s)


class TwoLevelControl:
    """Both levels of control, with the samples of the present control interval."""

    def __init__(self, options: ExecutionOptions, sample_s: float) -> None:
        self.options, self.sample_s = options, sample_s
        """Duration of a PID sample. A tuple costs less in the first half of a pane than in the second, so a sample must
        last a pane; in the paper it lasts two and a half."""
        self.intervals: deque[Interval] = deque(maxlen=KEPT_INTERVALS)
        """The last measurements and degrees."""
        self._controller = DegreeController(options.most, options.profile)
        self._decided_s: float | None = None
        self._sample = Sample()
        self._forget()

    def _forget(self) -> None:
        self._passed_s = 0.0
        self._utilizations: list[float] = []
        self._counts: list[int] = []
        self._windows = StageWork.none(1)

    def after(self, seen: Measurement, threshold: Threshold, now: Degrees) -> tuple[Threshold, Degrees]:
        """Return the threshold after this micro-batch's sample, and the degrees of the next micro-batch."""
        timing = seen.timing
        self._sample.add(seen, self.options.slots)
        if self._sample.arrived_s >= self.sample_s:
            self._utilizations.append(self._sample.utilization)
            threshold = threshold.after_sample(self._sample.utilization)
            self._sample = Sample()
        self._passed_s += timing.arrived_s
        self._windows = self._windows.plus(seen.windows)
        self._counts += seen.counts
        # By the clock, not by the stream: a query that is behind must decide sooner.
        if self._decided_s is None:
            self._decided_s = timing.ended_s - timing.arrived_s
        if timing.ended_s - self._decided_s < self.options.control_s or not self._utilizations:
            return threshold, now
        degrees = self._decide(timing.ended_s, now)
        self._decided_s = timing.ended_s
        self._forget()
        return threshold, degrees

    def _decide(self, ended_s: float, now: Degrees) -> Degrees:
        panes, splitting = float(np.mean(self._utilizations)), _mean(self._counts)
        load = self._windows.load(self._passed_s, self.options.slots)
        windows = load.window_utilization(pending=0)  # panes wait for windows, so that no queue grows between them
        self.intervals.append(Interval(ended_s, now, panes, splitting, windows, load.idle_ratio))
        if not self.options.elastic:
            return now
        seen = splitting if self.options.splitting is Splitting.ADAPTIVE else PHANTOM_SPLITTING
        return self._controller.grant(now, self._controller.propose(now, panes, seen, windows))


def _mean(counts: Sequence[int]) -> float:
    return float(np.mean(counts)) if counts else nan
