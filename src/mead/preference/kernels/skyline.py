"""The skyline: a look at the data, then one sorted pass with bit masks.

`first_look` finds small skylines, and drops most tuples if a few dominate them. Hardly any are then left to sort.

In the order of `best_first` no later tuple dominates an earlier one. So a tuple that no earlier one dominates is in the
skyline, and only the skyline so far has to be compared. Most comparisons use one word per tuple: its bits say which
quantiles of an attribute a value has reached. p can dominate q only if it has reached none that q has not, ``code(p) &
~code(q) == 0`` (after Zhang, Mamoulis and Cheung, "Scalable Skyline Computation", 2009). Up to three attributes,
`low_dimensions` is faster.
"""

# ruff: noqa: SIM110 - a plain loop is what numba compiles best
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mead.arrays import FloatArray, IntArray
from mead.preference.kernels.dominance import best_first, check_points, sort_few
from mead.preference.kernels.first_look import drop_dominated
from mead.preference.kernels.low_dimensions import low_dimensional_skyline

WORD = 64
"""Bits of a code."""

FEW, MEMBERS = 1_500, 192
"""Tuples that are compared one by one, until this many are in the skyline."""

SAMPLE = 500
"""Rows from which the quantiles are taken. They affect the time, never the answer."""

LANES = 16
"""Codes that are compared at once, without a branch between them."""

GROUPED = 8
"""Attributes that form the groups. A group with a median that a tuple has not reached is skipped."""


def skyline(points: FloatArray) -> IntArray:
    """Return the rows that no other row dominates, best sum first; of equal rows all or none.

    Elastic-PPQ keeps duplicates, since equal tuples do not dominate each other.

    >>> skyline(np.array([[1.0, 4.0], [2.0, 2.0], [3.0, 3.0], [4.0, 1.0], [2.0, 2.0]])).tolist()
    [1, 4, 0, 3]
    """
    points = check_points(points)
    if not len(points):
        return np.empty(0, dtype=np.int64)
    rows, is_skyline = drop_dominated(points)
    if not is_skyline:
        rows = rows[_sorted_skyline(points[rows])]
    if rows.size <= FEW:
        return sort_few(points, rows)  # type: ignore[no-any-return]
    rows = np.sort(rows)
    return rows[best_first(points[rows])]


def _sorted_skyline(points: FloatArray) -> IntArray:
    """Return the skyline in any order."""
    if points.shape[1] == 1:
        return np.flatnonzero(points[:, 0] == points[:, 0].min())
    if points.shape[1] <= 3:
        return low_dimensional_skyline(points)
    if points.shape[0] <= FEW:
        order = sort_few(points, np.arange(points.shape[0]))
        kept = _filter_few(points, order)
        if kept.size < MEMBERS:
            return kept  # type: ignore[no-any-return]
    else:
        order = best_first(points, tilted=True)
    rows = points[order]
    return order[_filter(rows, *make_codes(rows))]  # type: ignore[no-any-return]


@njit(cache=True, error_model="numpy")
def _filter_few(points, order):  # pragma: no cover - compiled
    """Return the first rows in the skyline. With so few members, codes would take longer than they save."""
    kept, members = np.empty(MEMBERS, dtype=np.int64), np.empty((MEMBERS, points.shape[1]))
    found, inside = 0, False
    for place in range(order.size):
        if found == MEMBERS:
            break
        point = points[order[place]]
        if place == 0 or not _same(point, points[order[place - 1]]):
            inside = True
            for member in range(found):
                if _nowhere_worse(members[member], point):
                    inside = False
                    break
        if inside:
            kept[found], members[found] = order[place], point
            found += 1
    return kept[:found]


def make_codes(rows: FloatArray) -> tuple[npt.NDArray[np.uint64], IntArray]:
    """Return a code and a group for every row.

    A code has as many bits for every attribute as there is room for; each is set from a quantile on. A group has one
    bit for each of the first attributes, set from the median on.
    """
    count, width = rows.shape
    coded = min(width, WORD)
    bits = WORD // coded
    if count == 0:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    sample = np.sort(rows[:: max(1, count // SAMPLE), :coded], axis=0)
    places = (np.arange(1, bits + 1) * sample.shape[0]) // (bits + 1)
    return _codes(rows, np.ascontiguousarray(sample[places].T))  # type: ignore[no-any-return]


@njit(cache=True, error_model="numpy")
def _codes(rows, thresholds):  # pragma: no cover - compiled
    count, middle = rows.shape[0], thresholds.shape[1] // 2
    codes, groups = np.zeros(count, dtype=np.uint64), np.zeros(count, dtype=np.int64)
    for row in range(count):
        word, group = np.uint64(0), 0
        for column in range(thresholds.shape[0]):
            for place in range(thresholds.shape[1]):
                word = (word << np.uint64(1)) | np.uint64(rows[row, column] >= thresholds[column, place])
            if column < GROUPED:
                group = group << 1 | (rows[row, column] >= thresholds[column, middle])
        codes[row], groups[row] = word, group
    return codes, groups


@njit(cache=True, error_model="numpy")
def _filter(rows, codes, groups):  # pragma: no cover - compiled
    """Return the places of the sorted rows that are in the skyline.

    Members are stored in blocks of one group each; the blocks of a group are chained.
    """
    count, width = rows.shape
    most = 1 << GROUPED
    kept = np.empty(count, dtype=np.int64)
    first, last, filled = np.full(most, -1), np.full(most, -1), np.zeros(most, dtype=np.int64)
    blocks = most + count // LANES + 1
    behind = np.full(blocks, -1)
    words = np.empty(blocks * LANES, dtype=np.uint64)
    members = np.empty((blocks * LANES, width))
    found = used = 0
    inside = False
    for row in range(count):
        if row > 0 and _same(rows[row], rows[row - 1]):
            if inside:
                kept[found] = row
                found += 1
            continue
        inside = not _is_dominated(rows[row], codes[row], groups[row], members, words, first, behind)
        if not inside:
            continue
        kept[found] = row
        found += 1
        group = groups[row]
        if last[group] < 0 or filled[group] == LANES:
            if last[group] < 0:
                first[group] = used
            else:
                behind[last[group]] = used
            last[group], filled[group] = used, 0
            words[used * LANES : (used + 1) * LANES] = ~np.uint64(0)
            members[used * LANES : (used + 1) * LANES] = np.inf  # dominates no point
            used += 1
        place = last[group] * LANES + filled[group]
        members[place], words[place] = rows[row], codes[row]
        filled[group] += 1
    return kept[:found]


@njit(inline="always")
def _same(one, other):  # pragma: no cover - compiled
    for column in range(one.size):
        if one[column] != other[column]:
            return False
    return True


@njit(inline="always")
def _is_dominated(point, code, group, members, words, first, behind):  # pragma: no cover - compiled
    """Return whether a member, all of them different from the point, is nowhere worse."""
    unreached = ~code
    part = 0
    while True:
        block = first[part]
        while block >= 0:
            start = block * LANES
            candidates = 0
            for lane in range(LANES):
                candidates += (words[start + lane] & unreached) == 0
            if candidates > 0:
                for member in range(start, start + LANES):
                    if words[member] & unreached:
                        continue
                    if _nowhere_worse(members[member], point):
                        return True
            block = behind[block]
        if part == group:
            return False
        part = (part - group) & group  # the next group within this one


@njit(inline="always")
def _nowhere_worse(one, other):  # pragma: no cover - compiled
    for column in range(one.size):
        if one[column] > other[column]:
            return False
    return True
