"""The best fixed numbers of workers: the reference for both levels of control.

All workers are used from the start, so that only their split over the two stages is sought. Too few in the pane stage
and panes are late; too many, and there are fewer for the windows, which moreover have more partitions to merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from experiments.ppq.measures import windows_per_s
from mead.preference.control.degrees import Degrees
from mead.preference.simulator.system import Outcome, Setting, simulate
from mead.workload import Trace

START = 8
"""Pane workers, first."""

STEPS = (4, 2, 1)


@dataclass(frozen=True)
class StaticChoice:
    """The best one, and what came of it."""

    degrees: Degrees
    windows_per_s: float
    overrun: float
    """By which part its run takes longer than the stream."""
    tried: int
    """Choices that were run."""


def best_static(trace: Trace, setting: Setting) -> StaticChoice:
    """Search for the split of the workers with the highest throughput on this stream."""

    @cache
    def outcome(panes: int) -> Outcome:
        return simulate(trace, replace(setting, elastic=False, start=Degrees(panes, setting.most - panes)))

    best = peak(lambda panes: windows_per_s(outcome(panes)), START, range(1, setting.most))
    chosen = outcome(best)
    return StaticChoice(chosen.setting.start, windows_per_s(chosen), chosen.overrun, outcome.cache_info().currsize)


def peak(value: Callable[[int], float], start: int, among: range) -> int:
    """The maximum of a unimodal function, by pattern search (Hooke and Jeeves, 1961).

    >>> peak(lambda n: -abs(n - 13), start=8, among=range(1, 59))
    13
    """
    best = start
    for step in STEPS:
        while value(better := max((n for n in (best - step, best + step) if n in among), key=value)) > value(best):
            best = better
    return best
