"""How large a skyline is, on average, without computing one.

For n independent tuples with d independent continuous attributes,
``E|SKY(n, d)| = sum over i <= n of E|SKY(i, d-1)| / i`` with ``E|SKY(n, 1)| = 1`` (Bentley, Kung, Schkolnick and
Thompson, "On the Average Number of Maxima", 1978). It holds whatever the distributions are, and is what the cost model
of virtual time rests on. Single samples scatter widely.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mead.arrays import FloatArray, frozen


@lru_cache(maxsize=8)
def expected_sizes(most: int, attributes: int = 8) -> FloatArray:
    """``E|SKY(n)|`` for n from 0 to ``most``.

    >>> expected_sizes(8000)[[1, 1000, 8000]].round(1).tolist()
    [1.0, 537.0, 2260.3]
    """
    if attributes < 1:
        raise ValueError(f"a tuple has at least one attribute; got {attributes}")
    sizes = np.ones(most)
    numbers = np.arange(1, most + 1)
    for _ in range(attributes - 1):
        sizes = np.cumsum(sizes / numbers)
    return frozen(np.concatenate(([0.0], sizes)))
