"""The sliding windows in which a requirement is looked at: the same for runs in virtual time and for live ones.

A tuple counts in the windows in which it arrived, so that a stall is held against the time that caused it. A window
that holds no tuple is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np

from mead.arrays import FloatArray
from mead.values import STEP_S, WINDOW_S, Requirement


def window_starts_s(duration_s: float, length_s: float, step_s: float) -> FloatArray:
    """When the windows of a run begin. The last one may end half a step after the run.

    Half an hour of a trace ends with its last arrival, a moment before the half hour is over; its last minute counts.

    >>> window_starts_s(359.9, 300.0, 30.0).tolist()
    [0.0, 30.0, 60.0]
    """
    return step_s * np.arange(max(round((duration_s - length_s) / step_s), 0) + 1.0)


def window_parts(duration_s: float) -> list[range]:
    """For every window, which parts of the run it holds, each of ``STEP_S``. A run shorter than a window is one.

    >>> window_parts(330.0)
    [range(0, 10), range(1, 11)]
    >>> window_parts(75.0)
    [range(0, 3)]
    """
    length_s = min(WINDOW_S, duration_s)
    firsts = (round(start_s / STEP_S) for start_s in window_starts_s(duration_s, length_s, STEP_S).tolist())
    return [range(first, first + ceil(length_s / STEP_S)) for first in firsts]


def broken_part(by_window_s: Sequence[float], requirement: Requirement) -> float:
    """The part of all windows that break the requirement; for each its mean or percentile is given."""
    return sum(value_s > requirement.bound_s for value_s in by_window_s) / len(by_window_s)
