"""Preferences of a user, and their matrix form in which less is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from mead.arrays import FloatArray, IntArray

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
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        row = int(finite.argmin())
        raise PreferenceError(f"row {row} has a value that is not finite; drop such tuples first")
    return points


def best_first(points: FloatArray) -> IntArray:
    """Sort rows so that none is dominated by a later one; equal rows become neighbours.

    Sorts by the sum of the attributes, because a dominator has the lower sum and filters best (Chomicki et al.,
    "Skyline with Presorting", 2003). Every attribute is scaled to its range, so that none outweighs the others. Where
    rounding makes sums equal, the attributes decide one after the other, which also puts a dominator first.

    >>> best_first(np.array([[2.0, 2.0], [0.0, 3.0], [1.0, 1.0], [2.0, 2.0]])).tolist()
    [2, 1, 0, 3]
    """
    if points.shape[0] == 0:
        return np.empty(0, dtype=np.int64)
    low = points.min(axis=0) / 2
    span = points.max(axis=0) / 2 - low  # halves, because the range of all floats overflows
    sums = _scaled_sums(points, low, span)
    order = np.argsort(sums)
    ordered = sums[order]
    same = np.zeros(order.size, dtype=np.bool_)
    same[1:] = ordered[1:] == ordered[:-1]
    same[:-1] |= same[1:]
    if same.any():
        tied = order[same]
        order[same] = tied[np.lexsort((tied, *points[tied].T[::-1], sums[tied]))]
    return np.asarray(order, dtype=np.int64)


@njit(cache=True, error_model="numpy")
def _scaled_sums(points, low, span):  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    sums = np.zeros(points.shape[0])
    for row in range(points.shape[0]):
        for column in range(points.shape[1]):
            if span[column] > 0:
                sums[row] += (points[row, column] / 2 - low[column]) / span[column]
    return sums
