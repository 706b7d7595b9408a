"""What is left of tuples: those that nobody dominates, with all their columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mead.arrays import FloatArray, IntArray
from mead.preference.kernels.block_nested_loop import nested_loop_factors, nested_loop_skyline
from mead.preference.kernels.dominance import Preferences, best_first
from mead.preference.kernels.skyline import skyline
from mead.preference.kernels.top_delta import Dominants, factors_among
from mead.preference.spark.query_spec import NUMBER, Asked, Kernel


def points_of(rows: pa.Table, preferences: Preferences) -> FloatArray:
    """The preferred columns; less is better."""
    return preferences.points({name: rows.column(name).to_numpy() for name in preferences.columns})


def reduced(rows: pa.Table, asked: Asked, kernel: Kernel, results: IntArray | None = None) -> pa.Table:
    """The skyline. That of several such results together is the skyline of all tuples behind them.

    For a top-delta query this is kept as well, and no factors: those among the tuples of a window's skyline are exact,
    and are found once, when the window is complete. The nested loop does not compare again what comes from one of the
    ``results`` before; the sorted pass would not gain by that.

    >>> from mead.preference.windows.panes import Windows
    >>> asked = Asked(Preferences.of(price="min", stars="max"), Windows(1000, 1000))
    >>> hotels = pa.table({"price": [80, 90, 95], "stars": [3, 4, 4], "_number": [0, 1, 2]})
    >>> reduced(hotels, asked, Kernel.SORTED).column("price").to_pylist()
    [80, 90]
    """
    if rows.num_rows == 0:
        return rows
    points = points_of(rows, asked.preferences)
    if kernel is Kernel.SORTED:
        kept = skyline(points)
    else:
        kept = (nested_loop_skyline if asked.delta is None else nested_loop_factors)(points, results).rows
    return rows.take(np.sort(kept))


def answer(rows: pa.Table, asked: Asked) -> pa.Table:
    """What a window answers, best first. In whatever order its tuples come, the order of the answer is the same."""
    rows = reduced(rows, asked, Kernel.SORTED).sort_by(NUMBER)
    if rows.num_rows == 0:
        return rows
    points = points_of(rows, asked.preferences)  # of the skyline alone: sums are scaled by the range of all of them
    order = best_first(points)
    if asked.delta is not None:
        best = points[order]
        order = order[Dominants(best, factors_among(best)).top(asked.delta).rows]
    return rows.take(order)
