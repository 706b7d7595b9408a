"""Reduce rows to those that no other row dominates, with all their columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mead.arrays import FloatArray, IntArray
from mead.preference.kernels.block_nested_loop import nested_loop_factors, nested_loop_skyline
from mead.preference.kernels.dominance import Preferences, best_first
from mead.preference.kernels.relation import check_relation, relation_skyline
from mead.preference.kernels.skyline import skyline
from mead.preference.kernels.top_delta import choose_best, dominance_factors
from mead.preference.spark.query_spec import NUMBER, Kernel, QuerySpec


def preferred_points(rows: pa.Table, preferences: Preferences) -> FloatArray:
    """Return the preferred columns; less is better."""
    return preferences.points({name: rows.column(name).to_numpy() for name in preferences.columns})


def reduce_rows(rows: pa.Table, spec: QuerySpec, kernel: Kernel, results: IntArray | None = None) -> pa.Table:
    """Return the skyline. The skyline of several such results is the skyline of all their tuples.

    A top-delta query keeps no factors: those among the tuples of a window's skyline are exact, and computed once when
    the window is complete. A relation of the user is checked on a sample of the rows. The nested loop does not compare
    tuples of one of the ``results`` with each other again; the sorted pass would not gain by that.

    >>> from mead.preference.windows.panes import Windows
    >>> spec = QuerySpec(Preferences.of(price="min", stars="max"), Windows(1000, 1000))
    >>> hotels = pa.table({"price": [80, 90, 95], "stars": [3, 4, 4], "_number": [0, 1, 2]})
    >>> reduce_rows(hotels, spec, Kernel.SORTED).column("price").to_pylist()
    [80, 90]
    """
    if rows.num_rows == 0:
        return rows
    points = preferred_points(rows, spec.preferences)
    if spec.relation is not None:
        dominates = spec.relation.load()
        check_relation(points, dominates)
        return rows.take(relation_skyline(points, dominates))
    if kernel is Kernel.SORTED:
        kept = skyline(points)
    else:
        kept = (nested_loop_skyline if spec.delta is None else nested_loop_factors)(points, results).rows
    return rows.take(np.sort(kept))


def answer(rows: pa.Table, spec: QuerySpec) -> pa.Table:
    """Return the answer of a window, best first; by number for a relation of the user.

    It does not depend on the order of the rows.
    """
    rows = reduce_rows(rows, spec, Kernel.SORTED).sort_by(NUMBER)
    if rows.num_rows == 0 or spec.relation is not None:
        return rows
    points = preferred_points(rows, spec.preferences)  # of the skyline alone: its range scales the sums
    order = best_first(points)
    if spec.delta is not None:
        order = order[choose_best(dominance_factors(points[order]), spec.delta).rows]
    return rows.take(order)
