"""Points to compare, many of them equal, and the definitions written down as plainly as can be."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mead.arrays import FloatArray

WIDTHS = st.integers(1, 10)
SMALL = st.integers(-2, 2).map(float)
ANY = st.floats(allow_nan=False, allow_infinity=False)
NEAR = st.sampled_from([1.0, np.nextafter(1.0, 2.0), 1e16, -1e16, 0.1, 0.2, 0.3, 5e-324, 1.7e308, -1.7e308])
"""Values whose sums round: the sum of a dominator is then no lower than that of those it dominates."""


@st.composite
def points(draw: st.DrawFn, widths: st.SearchStrategy[int] = WIDTHS, most: int = 40) -> FloatArray:
    width = draw(widths)
    values = draw(st.sampled_from([SMALL, ANY, NEAR]))
    rows = draw(st.lists(st.lists(values, min_size=width, max_size=width), max_size=most))
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def dominates(one: FloatArray, other: FloatArray) -> bool:
    return bool((one <= other).all() and (one < other).any())


def brute_skyline(rows: FloatArray) -> list[int]:
    return [i for i, row in enumerate(rows) if not any(dominates(other, row) for other in rows)]


def brute_factor(rows: FloatArray, row: FloatArray) -> int:
    return max(int((other <= row).sum()) if (other < row).any() else 0 for other in rows)


def as_multiset(rows: FloatArray) -> list[tuple[float, ...]]:
    return sorted(map(tuple, rows.tolist()))
