"""Skylines of two and three attributes in one pass over sorted rows.

In lexicographic order a dominator comes first. With two attributes a row is dominated if an earlier one has a second
attribute that is no worse; with three, if that holds for the second and third. A Fenwick tree over the ranks of the
second attribute knows the best third one up to a rank (Kung, Luccio and Preparata, "On Finding the Maxima of a Set of
Vectors", 1975, with a tree of prefix minima). Both take n log n steps, however many rows are in the skyline.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from mead.arrays import FloatArray, IntArray


def low_dimensional_skyline(points: FloatArray) -> IntArray:
    """Return the rows that no other row dominates, in any order. There are two or three attributes.

    >>> low_dimensional_skyline(np.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0], [2.0, 2.0]])).tolist()
    [0, 1, 3]
    """
    order = lexicographic(points)
    places = _staircase(points, order) if points.shape[1] == 2 else _swept(points, order, np.argsort(points[:, 1]))
    return np.asarray(order[places], dtype=np.int64)


def lexicographic(points: FloatArray) -> IntArray:
    """Sort rows by their first attribute, and where those are equal by the next ones.

    >>> lexicographic(np.array([[2.0, 1.0], [1.0, 9.0], [1.0, 3.0]])).tolist()
    [2, 1, 0]
    """
    order = np.argsort(points[:, 0])
    ordered = points[order, 0]
    same = np.zeros(order.size, dtype=np.bool_)
    same[1:] = ordered[1:] == ordered[:-1]
    same[:-1] |= same[1:]
    if same.any():
        tied = order[same]
        order[same] = tied[np.lexsort(points[tied].T[::-1])]
    return np.asarray(order, dtype=np.int64)


@njit(cache=True, error_model="numpy")
def _staircase(points, order):  # pragma: no cover - compiled
    kept = np.empty(order.size, dtype=np.int64)
    found, best, inside = 0, np.inf, False
    for place in range(order.size):
        row = order[place]
        if place == 0 or points[row, 0] != points[order[place - 1], 0] or points[row, 1] != points[order[place - 1], 1]:
            inside = points[row, 1] < best
            best = min(best, points[row, 1])
        if inside:
            kept[found] = place
            found += 1
    return kept[:found]


@njit(cache=True, error_model="numpy")
def _swept(points, order, by_second):  # pragma: no cover - compiled
    size = order.size
    ranks = np.empty(size, dtype=np.int64)
    for place in range(size):
        row, before = by_second[place], by_second[place - 1]
        ranks[row] = ranks[before] if place and points[row, 1] == points[before, 1] else place + 1
    kept, lowest = np.empty(size, dtype=np.int64), np.full(size + 1, np.inf)
    found, inside = 0, False
    for place in range(size):
        row = order[place]
        before = order[place - 1] if place else -1
        if before < 0 or not _same(points, row, before):
            third, inside, at = points[row, 2], True, ranks[row]
            while at > 0 and inside:
                inside = lowest[at] > third
                at -= at & -at
            if inside:
                at = ranks[row]
                while at <= size and lowest[at] > third:
                    lowest[at] = third
                    at += at & -at
        if inside:
            kept[found] = place
            found += 1
    return kept[:found]


@njit(inline="always")
def _same(points, one, other):  # pragma: no cover - compiled
    return (
        points[one, 0] == points[other, 0] and points[one, 1] == points[other, 1] and points[one, 2] == points[other, 2]
    )
