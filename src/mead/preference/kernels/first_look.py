"""A look at the data before a skyline is sorted: a few passes that drop most dominated tuples.

A few tuples of a sample with the best sums, the pivots, dominate most others if the tuples are correlated, of few
attributes or small integers. Each pivot drops tuples in a pass without branches, until one drops too few. The rest
enters a small window, as in a block nested loop. If the window is never full, it is the skyline, and nothing has to be
sorted (after Godfrey, Shipley and Gryz, "Algorithms and Analyses for Maximal Vector Computation", 2007).
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from mead.preference.kernels.dominance import scaled_sums

FIRST_PIVOTS, PIVOTS = 2, 8
"""Tuples of the first sample, and of the tuples that these leave, that all others are compared with."""

FIRST_LOOK, LOOK = 256, 4096
"""Tuples of these samples."""

WINDOW = 128
"""Tuples that a skyline found without sorting may have."""

WORTH = 0.05
"""Part of the tuples that a pivot must drop for the next one to be tried."""

FEW, QUARTER = 256, 0.25
"""The window is tried with this many tuples, or with this part of them: if pivots leave more, it would be full."""


@njit(cache=True, error_model="numpy")
def drop_dominated(points):  # pragma: no cover - compiled
    """Return rows that include the skyline, and whether they are the skyline."""
    rows = np.arange(points.shape[0])
    rows = _drop_all(points, rows, _choose_pivots(points, rows, FIRST_PIVOTS, FIRST_LOOK))
    if points.shape[1] <= 3:
        rows = _drop_all(points, rows, _choose_spread(points, rows))
    rows = _drop_all(points, rows, _choose_pivots(points, rows, PIVOTS, LOOK))
    if rows.size > FEW and rows.size > QUARTER * points.shape[0]:
        return rows, False
    kept, members = np.empty(WINDOW, dtype=np.int64), np.empty((WINDOW, points.shape[1]))
    found = 0
    for row in rows:
        found = _insert(points, row, members, kept, found)
        if found == WINDOW:
            return rows, False
    return kept[:found], True


@njit(cache=True, error_model="numpy")
def _drop_all(points, rows, pivots):  # pragma: no cover - compiled
    for pivot in pivots:
        before = rows.size
        rows = _drop(points, rows, points[pivot])
        if before - rows.size < WORTH * before:
            break
    return rows


@njit(cache=True, error_model="numpy")
def _drop(points, rows, pivot):  # pragma: no cover - compiled
    """Return the rows that a pivot does not dominate: better than it somewhere, or nowhere worse."""
    kept = np.empty(rows.size, dtype=np.int64)
    found = 0
    for row in rows:
        better = worse = False
        for column in range(pivot.size):
            better |= points[row, column] < pivot[column]
            worse |= points[row, column] > pivot[column]
        kept[found] = row
        found += better | (not worse)
    return kept[:found]


@njit(cache=True, error_model="numpy")
def _choose_pivots(points, rows, most, look):  # pragma: no cover - compiled
    """Return the rows of a sample that have the best sums of attributes, each scaled to its range."""
    sample = rows[:: max(1, rows.size // look)]
    sums = scaled_sums(points, sample)
    size = min(most, sample.size)
    best = np.empty(size, dtype=np.int64)
    used = 0
    for place in range(sample.size):
        if used == size and sums[place] >= sums[best[used - 1]]:
            continue
        used = min(used + 1, size)
        at = used - 1
        while at > 0 and sums[best[at - 1]] > sums[place]:
            best[at] = best[at - 1]
            at -= 1
        best[at] = place
    return sample[best]


@njit(cache=True, error_model="numpy")
def _choose_spread(points, rows):  # pragma: no cover - compiled
    """Return a row for each attribute that is good in it and not bad in the others.

    Each row dominates another corner.
    """
    sample = rows[:: max(1, rows.size // FIRST_LOOK)]
    sums = scaled_sums(points, sample)
    best = np.empty(points.shape[1], dtype=np.int64)
    for column in range(points.shape[1]):
        low, high = points[sample, column].min(), points[sample, column].max()
        span = high / 2 - low / 2
        tilted = sums + 3 * (points[sample, column] / 2 - low / 2) / span if span > 0 else sums
        best[column] = sample[np.argmin(tilted)]
    return best


@njit(cache=True, error_model="numpy")
def _bring_forward(rows, place):  # pragma: no cover - compiled
    for column in range(rows.shape[1] if place else 0):
        rows[place, column], rows[0, column] = rows[0, column], rows[place, column]


@njit(cache=True, error_model="numpy")
def _insert(points, row, members, kept, found):  # pragma: no cover - compiled
    """Compare a point with all members; return the new number of members."""
    left, place = 0, 0
    while place < found:
        worse = better = False
        for column in range(members.shape[1]):
            worse |= points[row, column] > members[place, column]
            better |= points[row, column] < members[place, column]
            if worse and better:
                break
        if worse and not better:  # dominated: no earlier member was removed
            _bring_forward(members, place)
            kept[0], kept[place] = kept[place], kept[0]
            return found
        if worse or not better:  # the member stays
            if left < place:
                members[left], kept[left] = members[place], kept[place]
            left += 1
        place += 1
    members[left], kept[left] = points[row], row
    return left + 1
