"""Elastic-PPQ in virtual time: both stages and both levels of control."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, nan

import numpy as np

from mead.arrays import FloatArray, frozen
from mead.clock import Clock, VirtualClock
from mead.preference.control.degrees import DegreeController, Degrees
from mead.preference.control.far_stamps import AHEAD_US, DAY_US
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.control.punctuation import KSlack
from mead.preference.control.threshold import Threshold, splitting_pid
from mead.preference.simulator.cost import CostModel
from mead.preference.simulator.interference import Interference
from mead.preference.simulator.pane_stage import PanedTrace, PaneStage, TimedResult
from mead.preference.simulator.window_stage import WindowStage
from mead.preference.windows.owner_table import OwnerTable, Splitting
from mead.preference.windows.pane_emitter import ClosedPane, PaneEmitter
from mead.preference.windows.panes import Windows
from mead.preference.windows.window_directory import WindowDirectory
from mead.workload import Trace

PHANTOM_UTILIZATION, PHANTOM_SPLITTING = 0.9, 1.0
"""Values for the controller if there is no window stage."""


@dataclass(frozen=True)
class Setting:
    """Options of a run. The defaults are those of the paper's last experiments."""

    windows: Windows = field(default_factory=lambda: Windows(1000, 200))
    splitting: Splitting = Splitting.ADAPTIVE
    set_point: float = 0.7
    """PID set-point. The paper says 0.9; the logs of its last experiments say 0.7."""
    pid_s: float = 0.25
    control_s: float = 2.5
    elastic: bool = True
    first_decision_s: float = 0.0
    """Time of the controller's first decision. Until a few panes are closed nothing can be split, and measurements say
    little about the workers needed. The released code decides from the start."""
    start: Degrees = field(default_factory=lambda: Degrees(1, 1))
    most: int = 59
    """Maximum workers of both stages: 64 cores less generator, emitters, collector and client."""
    panes_only: bool = False
    """Whether to run without the window stage."""
    merging: bool = True
    profile: Profile = CODE
    """Fuzzy sets and rules of the controller."""
    target_drop_ratio: float = 0.0
    ahead_s: float = AHEAD_US / 1e6
    """Tuples whose event time is further ahead of their arrival are set aside."""
    cost: CostModel = field(default_factory=CostModel)
    interference: Interference = field(default_factory=Interference.none)

    def __post_init__(self) -> None:
        periods = self.control_s / self.pid_s
        if self.pid_s <= 0 or periods < 1 or abs(periods - round(periods)) > 1e-9:
            raise ValueError(f"control_s must be a multiple of pid_s; got {self.control_s:g} s and {self.pid_s:g} s")


@dataclass(frozen=True)
class Interval:
    """Measurements at the end of a control interval, and the degrees in force during it."""

    end_s: float
    degrees: Degrees
    pane_utilization: float
    splitting: float
    """Mean partitions of the panes closed in it; NaN if there were none."""
    window_utilization: float
    idle_ratio: float
    """Idle part of the window workers' time."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of a run."""

    setting: Setting
    stream_s: float
    """When the last tuple arrived."""
    run_s: float
    """When the last window, or the last pane without a window stage, was finished."""
    tuples: int
    dropped: int
    far: int
    """Tuples set aside because their event times lie too far ahead."""
    intervals: tuple[Interval, ...]
    closed: tuple[ClosedPane, ...]
    panes_s: FloatArray
    """When the last result of each pane left the pane stage."""
    windows_s: FloatArray
    """When each window left."""
    window_tuples: tuple[int, ...]
    """Number of tuples of each window."""
    updates: int
    merges: int

    @property
    def splitting(self) -> float:
        """Mean partitions of a pane."""
        return float(np.mean([closed.count for closed in self.closed]))

    @property
    def results_per_pane(self) -> float:
        """Mean number of tuples that reach the window stage."""
        cost = self.setting.cost
        results = [sum(cost.sizes(part.tuples)[part.tuples] for part in closed.partitions) for closed in self.closed]
        return float(np.mean(results))

    @property
    def tuples_per_pane(self) -> float:
        """Mean number of tuples of a pane."""
        return float(np.mean([sum(part.tuples for part in closed.partitions) for closed in self.closed]))

    @property
    def overrun(self) -> float:
        """Time by which the run exceeds the stream, relative to the stream."""
        return self.run_s / self.stream_s - 1


def simulate(trace: Trace, setting: Setting, clock: Clock | None = None) -> Outcome:
    """Run a trace. The same trace and setting give the same outcome.

    The clock waits for the end of each sampling period; without one, time jumps. On a wall clock the run takes as long
    as the stream, with the same outcome: decisions depend on the periods, not on when a thread woke up.

    >>> from mead.workload import Poisson
    >>> trace = Poisson(rate_per_s=5_000.0, duration_s=10.0).generate(np.random.default_rng(1))
    >>> outcome = simulate(trace, Setting())
    >>> outcome.windows_s.size, outcome.dropped
    (46, 0)
    """
    return _System(trace, setting).run(VirtualClock() if clock is None else clock)


class _System:
    def __init__(self, trace: Trace, setting: Setting) -> None:
        longest_us = max(DAY_US, 1000 * setting.windows.length_ms)
        slack = KSlack(setting.windows.pane_us, setting.target_drop_ratio, longest_us=longest_us)
        stream = PanedTrace.of(trace, setting.windows, slack, round(1e6 * setting.ahead_s))
        self.far = len(trace) - stream.arrivals_s.size
        self.setting, self.dropped, self.tuples = setting, slack.dropped, len(trace)
        pid = splitting_pid(setting.set_point) if setting.splitting is Splitting.ADAPTIVE else None
        emitter = PaneEmitter(OwnerTable(setting.most, setting.splitting), Threshold(pid))
        emitter.add(range(setting.start.panes))
        self.panes = PaneStage(stream, emitter, setting.cost, setting.interference)
        directory: WindowDirectory[int] = WindowDirectory(setting.windows, merging=setting.merging)
        self.windows = WindowStage(directory, setting.most, setting.cost, setting.interference)
        self.windows.resize(setting.start.windows, 0.0)
        self.controller = DegreeController(setting.most, setting.profile)
        self.degrees = setting.start
        self.intervals: list[Interval] = []
        self.panes_s: dict[int, float] = {}

    def run(self, clock: Clock) -> Outcome:
        """Go from one sampling period to the next until everything has left."""
        start_s = clock.now_s()
        setting, periods = self.setting, round(self.setting.control_s / self.setting.pid_s)
        utilizations: list[float] = []
        closed, number = 0, 0
        while not self._is_over():
            number += 1
            now_s = number * setting.pid_s
            clock.wait_until(start_s + now_s)
            self._forward(self.panes.run(now_s))
            self.windows.run(now_s)
            utilizations.append(self.panes.sample(setting.pid_s, now_s).pane_utilization)
            emitter = self.panes.emitter
            emitter.threshold = emitter.threshold.after_sample(utilizations[-1])
            if number % periods == 0:
                self._control(now_s, float(np.mean(utilizations)), self.panes.closed[closed:])
                utilizations, closed = [], len(self.panes.closed)
        return self._outcome()

    def _is_over(self) -> bool:
        """Return whether nothing is left to run. The pane stage's times are known once all is sent."""
        return self.panes.finished and (self.setting.panes_only or self.windows.next_s == inf)

    def _forward(self, emitted: Iterator[TimedResult]) -> None:
        for one in emitted:
            self.panes_s[one.result.pane] = max(one.time_s, self.panes_s.get(one.result.pane, 0.0))
            if not self.setting.panes_only:
                self.windows.expect(one)

    def _control(self, now_s: float, pane_utilization: float, closed: list[ClosedPane]) -> None:
        setting, load = self.setting, self.windows.sample(self.setting.control_s)
        splitting = float(np.mean([pane.count for pane in closed])) if closed else nan
        window_utilization = load.window_utilization(self.windows.directory.pending)
        self.intervals.append(
            Interval(now_s, self.degrees, pane_utilization, splitting, window_utilization, load.idle_ratio)
        )
        if not setting.elastic or now_s < setting.first_decision_s:
            return
        sees_splitting = setting.splitting is Splitting.ADAPTIVE and not setting.panes_only
        seen = (
            pane_utilization,
            splitting if sees_splitting else PHANTOM_SPLITTING,
            PHANTOM_UTILIZATION if setting.panes_only else window_utilization,
        )
        granted = self.controller.grant(self.degrees, self.controller.propose(self.degrees, *seen))
        if setting.panes_only:
            granted = Degrees(granted.panes, self.degrees.windows)
        if self.panes.finished:  # no more tuples: workers without messages are free
            over = self.panes.idle_from_s <= now_s
            granted = Degrees(0 if over else self.degrees.panes, granted.windows)
        else:
            self._forward(self.panes.resize(granted.panes, now_s))
        if not setting.panes_only:
            self.windows.resize(granted.windows, now_s)
        self.degrees = granted

    def _outcome(self) -> Outcome:
        windows_s = self.windows.finished_s
        panes_s = [self.panes_s[pane] for pane in sorted(self.panes_s)]
        return Outcome(
            self.setting,
            self.panes.stream.duration_s,
            max([self.panes.stream.duration_s, *(panes_s if self.setting.panes_only else windows_s)]),
            self.tuples,
            self.dropped,
            self.far,
            tuple(self.intervals),
            tuple(self.panes.closed),
            frozen(panes_s),
            frozen(windows_s),
            tuple(self.windows.finished_tuples),
            self.windows.updates,
            self.windows.merges,
        )
