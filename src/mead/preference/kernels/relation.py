"""Skylines by a dominance relation that the user defines.

A relation is a function ``dominates(one, other)`` of two rows. Panes and windows are merged from results of parts, so a
tuple that is dropped must have a dominator that is kept. That holds for strict partial orders: no tuple dominates
itself, and the first tuple of a chain dominates the last. Orders of priority and preferences between categories are
such relations (Chomicki, "Preference Formulas in Relational Queries", 2003).
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numba import float64, njit
from numba.core.dispatcher import Dispatcher

from mead.arrays import FloatArray, IntArray
from mead.preference.kernels.dominance import PreferenceError, check_points

Dominates: TypeAlias = Callable[[FloatArray, FloatArray], Any]
"""Whether the first tuple dominates the second."""

SAMPLE = 48
"""Tuples whose pairs and triples are checked."""


def compile_relation(dominates: Dominates) -> Dominates:
    """Return the relation compiled with numba, or itself if numba cannot compile it.

    >>> compile_relation(lambda one, other: one[0] < other[0])(np.zeros(1), np.ones(1))
    True
    """
    compiled: Any = dominates if isinstance(dominates, Dispatcher) else njit(dominates)
    try:
        compiled.compile((float64[::1], float64[::1]))
    except Exception as error:  # numba raises many kinds of them
        if compiled is dominates:
            raise PreferenceError(f"dominates: {str(error).splitlines()[0]}") from error
        return dominates
    return compiled  # type: ignore[no-any-return]


def relation_skyline(points: FloatArray, dominates: Dominates) -> IntArray:
    """Return the rows that no other row dominates, in order.

    >>> cheaper_by_ten = compile_relation(lambda one, other: one[0] + 10 <= other[0])
    >>> relation_skyline(np.array([[95.0], [80.0], [85.0], [90.0]]), cheaper_by_ten).tolist()
    [1, 2]
    """
    points = check_points(points)
    kernel = _nested_loop if isinstance(dominates, Dispatcher) else _nested_loop.py_func
    return np.sort(kernel(points, dominates))


def check_relation(points: FloatArray, dominates: Dominates) -> None:
    """Raise PreferenceError if a sample of the rows shows that results could not be merged.

    >>> check_relation(np.eye(2), lambda one, other: one[0] <= other[0])
    Traceback (most recent call last):
    ...
    mead.preference.kernels.dominance.PreferenceError: dominates is not a strict order: [0.0, 1.0] dominates itself
    """
    sample = np.unique(points[:: max(1, len(points) // SAMPLE)], axis=0)[:SAMPLE]
    kernel = _compare_all if isinstance(dominates, Dispatcher) else _compare_all.py_func
    beats = kernel(sample, dominates)
    if (itself := np.flatnonzero(beats.diagonal())).size:
        raise PreferenceError(f"dominates is not a strict order: {sample[itself[0]].tolist()} dominates itself")
    chains = beats.astype(np.int64) @ beats.astype(np.int64)
    if (broken := np.argwhere((chains > 0) & ~beats)).size:
        first, last = broken[0]
        middle = int(np.flatnonzero(beats[first] & beats[:, last])[0])
        one, two, three = (sample[place].tolist() for place in (first, middle, last))
        raise PreferenceError(
            f"dominates is not transitive: {one} dominates {two}, which dominates {three}, but {one} does not dominate "
            f"{three}; results of parts of a window could not be merged"
        )


@njit
def _nested_loop(points, dominates):  # pragma: no cover - compiled
    """Return the rows of the skyline: a block nested loop that asks the last dominator first."""
    kept = np.empty(points.shape[0], dtype=np.int64)
    found = 0
    for row in range(points.shape[0]):
        dominator = -1
        for place in range(found):
            if dominates(points[kept[place]], points[row]):
                dominator = place
                break
        if dominator >= 0:
            first = kept[0]
            kept[0] = kept[dominator]
            kept[dominator] = first
            continue
        left = 0
        for place in range(found):
            if not dominates(points[row], points[kept[place]]):
                kept[left] = kept[place]
                left += 1
        kept[left] = row
        found = left + 1
    return kept[:found]


@njit
def _compare_all(points, dominates):  # pragma: no cover - compiled
    beats = np.zeros((points.shape[0], points.shape[0]), dtype=np.bool_)
    for one in range(points.shape[0]):
        for other in range(points.shape[0]):
            beats[one, other] = bool(dominates(points[one], points[other]))
    return beats
