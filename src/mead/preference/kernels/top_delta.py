"""The top-delta dominant skyline: the best ``delta`` tuples of a large skyline.

p k-dominates q if it is no worse in k of the d attributes and better in one of those. The dominance factor of q is the
largest k with which a tuple k-dominates it, or 0. A tuple is in the k-dominant skyline if its factor is below k; k = d
is the skyline itself. For k < d a tuple may be dominated by one that is itself dominated. The whole skyline with its
factors is enough to know: if a dominated tuple k-dominates q, so does its dominator (Chan et al., "Finding k-Dominant
Skylines in High Dimensional Space", 2006).

The paper asks for the smallest k with more than delta tuples; its released code for at least delta, of which it returns
delta. We follow the code. The released code looks for "better somewhere" in the last attribute only; we follow the
definition.
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
class TopDelta:
    """The answer to a top-delta query."""

    k: int
    """The smallest k whose k-dominant skyline holds delta tuples; if there is none, that of the whole skyline."""
    rows: IntArray
    """Rows of the best tuples: lowest factor first, then best sum."""
    size: int
    """Tuples in the k-dominant skyline; at least as many as there are rows."""


def top_delta(points: FloatArray, delta: int) -> TopDelta:
    """Return the best ``delta`` tuples, as rows of ``points``.

    >>> corners = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 9.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    >>> answer = top_delta(corners, 1)
    >>> answer.k, answer.rows.tolist(), answer.size
    (2, [2], 1)
    """
    members = skyline(points)
    best = choose_best(dominance_factors(points[members]), delta)
    return TopDelta(best.k, members[best.rows], best.size)


def choose_best(factors: IntArray, delta: int) -> TopDelta:
    """Choose the ``delta`` tuples of the lowest factors; all of them if there are fewer."""
    if delta < 1:
        raise PreferenceError(f"delta must be at least 1; got {delta}")
    chosen = np.argsort(factors, kind="stable")[:delta]
    k = int(factors[chosen[-1]]) + 1 if chosen.size else 1
    return TopDelta(k, chosen, int(np.count_nonzero(factors < k)))


def dominance_factors(best: FloatArray) -> IntArray:
    """Return the dominance factor of every tuple of a skyline.

    >>> dominance_factors(np.array([[1.0, 4.0], [2.0, 2.0], [4.0, 1.0]])).tolist()
    [1, 1, 1]
    """
    order = best_first(best)
    factors = np.empty(len(best), dtype=np.int64)
    factors[order] = _factors(best[order])
    return factors


@njit(cache=True, error_model="numpy")
def _factors(rows):  # pragma: no cover - compiled
    """Compare with the best sums first: they are most likely to dominate. A factor is at most d - 1."""
    count, width = rows.shape
    factors = np.zeros(count, dtype=np.int64)
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
