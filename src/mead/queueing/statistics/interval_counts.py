"""Arrivals counted in intervals of many lengths at once, part by part.

Intervals are numbered back from the last arrival of the trace. So their numbers fall in the order of time, and arrivals
of one interval follow each other: a run. Intervals without arrivals need no room, however long a silence is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.queueing.statistics.inter_arrivals import interval_of


@dataclass(frozen=True)
class Counted:
    """Squared counts in a stretch of time.

    The intervals at its two ends may go on in the neighbouring stretch.
    """

    ends: tuple[tuple[int, int], ...] = ()
    """Number and count of the first interval and of the last; one if they are the same, none without arrivals."""
    squares: int = 0
    """The squared counts of all intervals between, added up."""
    arrivals: int = 0

    def then(self, later: Counted) -> Counted:
        """This stretch joined with the one that follows.

        >>> Counted(((7, 2), (5, 3)), squares=16, arrivals=9).then(Counted(((5, 1),), arrivals=1))
        Counted(ends=((7, 2), (5, 4)), squares=16, arrivals=10)
        """
        ends = list(self.ends)
        for number, count in later.ends:
            if ends and ends[-1][0] == number:
                ends[-1] = (number, ends[-1][1] + count)
            else:
                ends.append((number, count))
        squares = self.squares + later.squares + sum(count**2 for _, count in ends[1:-1])
        return Counted(tuple(ends if len(ends) < 2 else (ends[0], ends[-1])), squares, self.arrivals + later.arrivals)

    @property
    def all_squares(self) -> int:
        """Squared counts of all intervals, once nothing comes before or after."""
        return self.squares + sum(count**2 for _, count in self.ends)


@dataclass(frozen=True, eq=False)
class Runs:
    """Intervals with arrivals in the order of time, and the count of each.

    Time runs from high numbers to low.
    """

    intervals: IntArray
    counts: IntArray

    @classmethod
    def of(cls, ages: FloatArray, length: float, end: float) -> Runs:
        """Arrivals by how long before the end of the trace they came, oldest first."""
        intervals = interval_of(ages, length, end)
        starts = _starts(intervals)
        return cls(intervals[starts], np.diff(starts, append=intervals.size))

    def coarser(self, factor: int) -> Runs:
        """The same arrivals in intervals that are ``factor`` times as long."""
        intervals = self.intervals // factor
        starts = _starts(intervals)
        return Runs(intervals[starts], np.add.reduceat(self.counts, starts))

    def below(self, limit: int) -> Runs:
        """Only the intervals with numbers below ``limit``: of one beyond, only a part lies within the trace."""
        start = int((self.intervals >= limit).sum()) if self.intervals[0] >= limit else 0
        return Runs(self.intervals[start:], self.counts[start:])

    def counted(self) -> Counted:
        """The sums that add up to squared counts."""
        if self.counts.size == 0:
            return Counted()
        between = self.counts[1:-1]
        ends = sorted({0, self.counts.size - 1})
        return Counted(
            tuple((int(self.intervals[i]), int(self.counts[i])) for i in ends),
            int(between @ between),
            int(self.counts.sum()),
        )

    def spread(self, size: int) -> IntArray:
        """The counts of all intervals with numbers below ``size``, most of which are 0 in a short stretch."""
        counts = np.zeros(size, dtype=np.int64)
        within = self.below(size)
        counts[within.intervals] = within.counts
        return counts


def runs_by_length(ages: FloatArray, lengths: Iterable[float], end: float) -> dict[float, Runs]:
    """Runs for every interval length.

    A multiple of a shorter length is counted from its runs, which are fewer.

    >>> runs = runs_by_length(np.array([2.5, 1.5, 1.2, 0.0]), [1.0, 2.0], end=3.0)
    >>> runs[1.0].counts.tolist(), runs[2.0].counts.tolist()
    ([1, 2, 1], [1, 3])
    """
    runs: dict[float, Runs] = {}
    for length in sorted(set(lengths)):
        finer = next((known for known in reversed(runs) if abs(length / known - round(length / known)) < 1e-9), None)
        runs[length] = Runs.of(ages, length, end) if finer is None else runs[finer].coarser(round(length / finer))
    return runs


def _starts(intervals: IntArray) -> IntArray:
    """Where each run begins."""
    return np.concatenate([[0], np.flatnonzero(intervals[1:] != intervals[:-1]) + 1])
