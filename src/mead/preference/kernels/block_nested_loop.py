"""Block nested loop for both queries, the algorithm of the paper.

The paper's workers do this with every tuple, so a tuple of a large partition is expensive; splitting of panes relies on
that cost. It is kept for experiments with that load. `skyline` gives the same answer many times faster. As in the
released code, comparing continues after the answer is known.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from mead.arrays import FloatArray, IntArray

ALONE = -1
"""The number of a tuple that comes from no earlier result."""


@dataclass(frozen=True, eq=False)
class NestedLoop:
    """The remaining rows, their dominance factors if computed, and the number of comparisons."""

    rows: IntArray
    factors: IntArray
    comparisons: int


def nested_loop_skyline(points: FloatArray, results: IntArray | None = None) -> NestedLoop:
    """Compute the skyline, tuple by tuple in order of arrival (Borzsony, Kossmann and Stocker 2001).

    Tuples with the same number in ``results`` come from one earlier result and are not compared with each other again,
    so that adding tuples to a result, or merging two, costs as much as in the paper. Other tuples are ``ALONE``.

    >>> points = np.array([[3.0, 3.0], [2.0, 2.0], [4.0, 1.0]])
    >>> answer = nested_loop_skyline(points)
    >>> answer.rows.tolist(), answer.comparisons
    ([1, 2], 2)
    >>> answer = nested_loop_skyline(points[[1, 2, 0]], results=np.array([0, 0, ALONE]))
    >>> answer.rows.tolist(), answer.comparisons
    ([0, 1], 2)
    """
    rows, comparisons = _skyline(points, _results(points, results))
    return NestedLoop(rows, np.zeros(rows.size, dtype=np.int64), comparisons)


def nested_loop_factors(points: FloatArray, results: IntArray | None = None) -> NestedLoop:
    """Compute the skyline and its dominance factors, both updated with every tuple.

    With ``results``, as above, only tuples of other results count for a factor.

    >>> nested_loop_factors(np.array([[3.0, 3.0], [2.0, 2.0], [4.0, 1.0]])).factors.tolist()
    [1, 1]
    """
    return NestedLoop(*_factors(points, _results(points, results)))


def _results(points: FloatArray, results: IntArray | None) -> IntArray:
    return np.full(len(points), ALONE, dtype=np.int64) if results is None else results


@njit(cache=True, error_model="numpy")
def _compared(points, row, members, member):  # pragma: no cover - compiled
    """Count the columns in which a tuple is worse than a member, and better. All count, as in the paper."""
    worse = better = 0
    for column in range(points.shape[1]):
        worse += points[row, column] > members[member, column]
        better += points[row, column] < members[member, column]
    return worse, better


@njit(cache=True, error_model="numpy")
def _skyline(points, results):  # pragma: no cover - compiled
    count, width = points.shape
    rows = np.empty(count, dtype=np.int64)
    members = np.empty((count, width))
    size = comparisons = 0
    for row in range(count):
        dominated = False
        left = 0
        own = results[row]
        for member in range(size):
            worse = better = 1  # neither dominates the other
            if own == ALONE or results[rows[member]] != own:
                comparisons += 1
                worse, better = _compared(points, row, members, member)
            dominated |= worse > 0 and better == 0
            if better == 0 or worse > 0:  # the member stays
                if left != member:
                    members[left] = members[member]
                    rows[left] = rows[member]
                left += 1
        size = left
        if not dominated:
            members[size] = points[row]
            rows[size] = row
            size += 1
    return rows[:size].copy(), comparisons


@njit(cache=True, error_model="numpy")
def _factors(points, results):  # pragma: no cover - compiled
    count, width = points.shape
    rows, factors = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    members = np.empty((count, width))
    size = comparisons = 0
    for row in range(count):
        factor = left = 0
        own = results[row]
        for member in range(size):
            raised = factors[member]
            if own == ALONE or results[rows[member]] != own:
                comparisons += 1
                worse, better = _compared(points, row, members, member)
                if worse > 0:
                    factor = max(factor, width - better)
                raised = max(raised, width - worse if better > 0 else 0)
            if raised < width:  # the member stays
                members[left] = members[member]
                rows[left], factors[left] = rows[member], raised
                left += 1
        size = left
        if factor < width:
            members[size] = points[row]
            rows[size], factors[size] = row, factor
            size += 1
    return rows[:size].copy(), factors[:size].copy(), comparisons
