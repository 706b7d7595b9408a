"""Preferences of a user, and their matrix form in which less is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from mead.arrays import FloatArray, IntArray

EXPONENT = np.uint64(0x7FF0_0000_0000_0000)
"""Bits of a float that are all set in NaN and infinity."""

TILT = 0.1
"""Greatest difference between the weights of attributes in tilted sums."""

Direction: TypeAlias = Literal["min", "max"]


class PreferenceError(ValueError):
    """The preferences are invalid, or do not fit the tuples."""


@dataclass(frozen=True)
class Preferences:
    """Columns, each to be minimised or maximised, all of equal importance.

    A tuple dominates another if it is at least as good in every column and better in one (Borzsony, Kossmann and
    Stocker, "The Skyline Operator", 2001).

    >>> hotels = Preferences.of(price="min", stars="max")
    >>> hotels.points({"stars": [3, 4], "price": [80.0, 120.0]}).tolist()
    [[80.0, -3.0], [120.0, -4.0]]
    """

    columns: tuple[str, ...]
    directions: tuple[Direction, ...]

    def __post_init__(self) -> None:
        if not self.columns:
            raise PreferenceError("name at least one column, such as price=min")
        if len(set(self.columns)) < len(self.columns):
            raise PreferenceError(f"name every column once; got {', '.join(self.columns)}")
        for column, direction in zip(self.columns, self.directions, strict=True):
            if direction not in {"min", "max"}:
                raise PreferenceError(f"column {column}: write min or max; got {direction!r}")

    @classmethod
    def of(cls, **directions: Direction) -> Preferences:
        """Build preferences from directions by column name."""
        return cls(tuple(directions), tuple(directions.values()))

    def points(self, table: Mapping[str, npt.ArrayLike]) -> FloatArray:
        """Return the preferred columns as a checked matrix in which less is better."""
        missing = [column for column in self.columns if column not in table]
        if missing:
            raise PreferenceError(f"no column {', '.join(missing)}; there are {', '.join(table)}")
        chosen = [np.asarray(table[column], dtype=np.float64) for column in self.columns]
        signs = np.array([1.0 if direction == "min" else -1.0 for direction in self.directions])
        return check_points(np.column_stack(chosen) * signs)


def check_points(values: npt.ArrayLike) -> FloatArray:
    """Return rows of finite numbers as a contiguous matrix, which every kernel expects.

    NaN is neither better nor worse than any number, so no answer would be right.

    >>> check_points([[1.0, float("nan")]])
    Traceback (most recent call last):
    ...
    mead.preference.kernels.dominance.PreferenceError: row 0 has a value that is not finite; drop such tuples first
    """
    points = np.ascontiguousarray(values, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] == 0:
        raise PreferenceError(f"points must be a matrix with at least one column; got shape {points.shape}")
    if _count_not_finite(points.reshape(-1)):
        row = int(np.isfinite(points).all(axis=1).argmin())
        raise PreferenceError(f"row {row} has a value that is not finite; drop such tuples first")
    return points


@njit(cache=True, error_model="numpy")
def _count_not_finite(values):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Count NaN and infinities, whose exponents have all bits set: without branches, many at a time."""
    bits, found = values.view(np.uint64), 0
    for place in range(bits.size):
        found += (bits[place] & EXPONENT) == EXPONENT
    return found


def best_first(points: FloatArray, *, tilted: bool = False) -> IntArray:
    """Sort rows so that none is dominated by a later one; equal rows become neighbours.

    Sorts by the sum of the attributes, because a dominator has the lower sum and filters best (Chomicki et al.,
    "Skyline with Presorting", 2003). Every attribute is scaled to its range, so that none outweighs the others. Where
    rounding makes sums equal, the attributes decide one after the other, which also puts a dominator first. ``tilted``
    sums weigh attributes a little differently: sums of small integers are then seldom equal, and sorted faster.

    >>> best_first(np.array([[2.0, 2.0], [0.0, 3.0], [1.0, 1.0], [2.0, 2.0]])).tolist()
    [2, 1, 0, 3]
    """
    if points.shape[0] == 0:
        return np.empty(0, dtype=np.int64)
    low = points.min(axis=0) / 2
    span = points.max(axis=0) / 2 - low  # halves, because the range of all floats overflows
    sums = _scaled_sums(points, low, span / _weights(points.shape[1]) if tilted else span)
    order = np.argsort(sums)
    ordered = sums[order]
    same = np.zeros(order.size, dtype=np.bool_)
    same[1:] = ordered[1:] == ordered[:-1]
    same[:-1] |= same[1:]
    if same.any():
        tied = order[same]
        order[same] = tied[np.lexsort((tied, *points[tied].T[::-1], sums[tied]))]
    return np.asarray(order, dtype=np.int64)


def _weights(attributes: int) -> FloatArray:
    """Return weights near 1 without a common measure: multiples of the golden ratio, without their whole parts."""
    return np.asarray(1 + TILT * np.modf((1 + 5**0.5) / 2 * np.arange(attributes))[0])


@njit(cache=True, error_model="numpy")
def scaled_sums(points, rows):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Return the sums of the attributes of some rows, each scaled to the range that it has in them.

    Halves are used, because the range of all floats overflows.
    """
    width = points.shape[1]
    sums = np.zeros(rows.size)
    for column in range(width):
        low, high = np.inf, -np.inf
        for row in rows:
            low, high = min(low, points[row, column]), max(high, points[row, column])
        low, span = low / 2, high / 2 - low / 2
        if span > 0:
            for place in range(rows.size):
                sums[place] += (points[rows[place], column] / 2 - low) / span
    return sums


@njit(cache=True, error_model="numpy")
def sort_few(points, rows):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    """Sort a few rows as `best_first` does: by sum, then by attributes, then by number."""
    rows = np.sort(rows)
    sums = scaled_sums(points, rows)
    order = np.argsort(sums, kind="mergesort")
    for end in range(1, order.size):
        one, at = order[end], end
        while at > 0 and sums[order[at - 1]] == sums[one] and _precedes(points[rows[one]], points[rows[order[at - 1]]]):
            order[at] = order[at - 1]
            at -= 1
        order[at] = one
    return rows[order]


@njit(cache=True, error_model="numpy")
def _precedes(one, other):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    for column in range(one.size):
        if one[column] != other[column]:
            return one[column] < other[column]
    return False


@njit(cache=True, error_model="numpy")
def _scaled_sums(points, low, span):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    sums = np.zeros(points.shape[0])
    for row in range(points.shape[0]):
        for column in range(points.shape[1]):
            if span[column] > 0:
                sums[row] += (points[row, column] / 2 - low[column]) / span[column]
    return sums
