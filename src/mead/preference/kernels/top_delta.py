"""The top-delta dominant skyline: of a skyline too large to look at, the tuples that come nearest to beating all.

p k-dominates q if it is no worse in k of the d attributes and better in one of those. The dominance factor of q is the
largest k with which anybody k-dominates it (0 if nobody is better anywhere). A tuple is in the k-dominant skyline if
its factor is below k; k = d is the skyline itself. For k < d a tuple may be dominated by one that is itself dominated,
so the whole skyline is kept with its factors, and nothing else: if a dominated tuple k-dominates q, then so does its
dominator (Chan et al., "Finding k-Dominant Skylines in High Dimensional Space", 2006).

The paper asks for the smallest k with more than delta tuples, its released code for at least delta, of which it returns
delta. We follow the code: who asks for the best hundred expects a hundred. The released code looks for "better
somewhere" in the last attribute only; we follow the definition.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from mead.arrays import FloatArray, IntArray
from mead.preference.kernels.dominance import PreferenceError, best_first
from mead.preference.kernels.skyline import skyline


@dataclass(frozen=True, eq=False)
class Dominants:
    """A skyline and the dominance factor of each of its tuples: what is kept of a pane or a window."""

    points: FloatArray
    factors: IntArray

    @classmethod
    def of(cls, points: FloatArray) -> Dominants:
        """The skyline of some tuples, with its factors.

        >>> Dominants.of(np.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0], [4.0, 1.0]])).factors.tolist()
        [1, 1, 1]
        """
        best = points[skyline(points)]
        return cls(best, factors_among(best))

    def merged(self, other: Dominants) -> Dominants:
        """The dominants of both sets together; associative and, as a set, commutative.

        A factor can only grow when tuples are added, so those known already are where the search begins.
        """
        both = np.concatenate((self.points, other.points))
        kept = skyline(both)
        known = np.concatenate((self.factors, other.factors))[kept]
        return Dominants(both[kept], _raised(both[kept], known))

    def top(self, delta: int) -> TopDelta:
        """The delta tuples of the lowest factors; all of them if there are fewer."""
        if delta < 1:
            raise PreferenceError(f"delta is a number of tuples, at least 1; got {delta}")
        by_factor = np.argsort(self.factors, kind="stable")
        chosen = by_factor[:delta]
        k = int(self.factors[chosen[-1]]) + 1 if chosen.size else 1
        return TopDelta(k, chosen, int(np.count_nonzero(self.factors < k)))


@dataclass(frozen=True, eq=False)
class TopDelta:
    """The answer to a top-delta query."""

    k: int
    """The smallest k whose k-dominant skyline holds delta tuples, or that of the whole skyline."""
    rows: IntArray
    """Rows of the best tuples: lowest factor first, and best sum first among equals."""
    size: int
    """Tuples in the k-dominant skyline; at least as many as there are rows."""


def top_delta(points: FloatArray, delta: int) -> TopDelta:
    """The best ``delta`` tuples, as rows of ``points``.

    >>> corners = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 9.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    >>> answer = top_delta(corners, 1)
    >>> answer.k, answer.rows.tolist(), answer.size
    (2, [2], 1)
    """
    members = skyline(points)
    best = points[members]
    answer = Dominants(best, factors_among(best)).top(delta)
    return TopDelta(answer.k, members[answer.rows], answer.size)


def factors_among(best: FloatArray) -> IntArray:
    """The dominance factor of every tuple of a skyline."""
    return _raised(best, np.zeros(best.shape[0], dtype=np.int64))


def _raised(best: FloatArray, known: IntArray) -> IntArray:
    order = best_first(best)
    factors = np.empty_like(known)
    factors[order] = _factors(best[order], known[order])
    return factors


@njit(cache=True, error_model="numpy")
def _factors(rows, known):  # pragma: no cover - compiled
    """Best sum first, for those are most likely to dominate; d - 1 is all that a tuple of a skyline can have."""
    count, width = rows.shape
    factors = known.copy()
    for row in range(count):
        for other in range(count):
            if factors[row] >= width - 1:
                break
            no_worse = better = 0
            for column in range(width):
                no_worse += rows[other, column] <= rows[row, column]
                better += rows[other, column] < rows[row, column]
            if better > 0 and no_worse > factors[row]:
                factors[row] = no_worse
    return factors
