"""Other programs on the same machine, which slow the workers down."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

import numpy as np
from numba import njit

from mead.arrays import FloatArray, frozen


@dataclass(frozen=True, eq=False)
class Interference:
    """Relative speed of all workers over time: one value from each time on.

    >>> half = Interference.of([(0.0, 1.0), (10.0, 0.5)])
    >>> half.finish_s(9.0, 2.0)
    12.0
    """

    times_s: FloatArray
    speeds: FloatArray

    @classmethod
    def of(cls, steps: Iterable[tuple[float, float]]) -> Interference:
        """Build it from pairs of time and speed; the first time is 0."""
        times_s, speeds = (list(values) for values in zip(*steps, strict=True))
        if times_s[0] != 0 or sorted(set(times_s)) != times_s or not all(0 < speed < inf for speed in speeds):
            raise ValueError("speeds must be above 0, and their times must begin at 0 and rise")
        return cls(frozen(times_s), frozen(speeds))

    @classmethod
    def none(cls) -> Interference:
        """Return no interference: full speed."""
        return cls.of([(0.0, 1.0)])

    def finish_s(self, start_s: float, work_s: float) -> float:
        """Return the end of work that takes ``work_s`` at full speed."""
        return float(finish(start_s, work_s, self.times_s, self.speeds))


@njit(cache=True)
def finish(start_s, work_s, times_s, speeds):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Go through the speeds step by step until the work is done."""
    now_s = start_s
    for step in range(times_s.size):
        if step + 1 < times_s.size and times_s[step + 1] <= now_s:
            continue
        if step + 1 < times_s.size:
            possible_s = (times_s[step + 1] - now_s) * speeds[step]
            if work_s > possible_s:
                work_s -= possible_s
                now_s = times_s[step + 1]
                continue
        return now_s + work_s / speeds[step]
    return np.inf
