"""Cost of work by the number of tuples alone: attributes are never drawn.

A worker compares every tuple with the result so far, so the r-th tuple of a partition costs ``c E|SKY(r)|``. A merger
of two results compares each tuple of one with the remaining tuples of the other.

There are two values of c, both fitted to the authors' logs of evenly split panes. The cost is convex: a pane of twice
the size costs more than twice as much. A formula that uses the mean size needs a c that makes up for the burstiness of
the panes. A run has that burstiness, and would count it twice with the formula's c.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mead.arrays import FloatArray, frozen

SMALLEST = 1 << 16
"""Tables are made for this many tuples times a power of two, so that few are made."""

FORMULA_COMPARISON_S = 0.205e-6
"""c where every pane has the mean size. With it the formula is within 8 % of the logs (``closed_utilization``)."""

RUN_COMPARISON_S = 0.184e-6
"""c where panes are as bursty as the stream, fitted in runs by ``python -m experiments ppq-fit``."""


@lru_cache(maxsize=8)
def expected_sizes(most: int, attributes: int = 8) -> FloatArray:
    """Return the mean size of a skyline of n tuples, for n from 0 to ``most``.

    For independent continuous attributes, ``E|SKY(n, d)| = sum over i <= n of E|SKY(i, d-1)| / i`` with
    ``E|SKY(n, 1)| = 1``, whatever the distributions are (Bentley, Kung, Schkolnick and Thompson, "On the Average
    Number of Maxima", 1978). Single samples scatter widely.

    >>> expected_sizes(8000)[[1, 1000, 8000]].round(1).tolist()
    [1.0, 537.0, 2260.3]
    """
    if attributes < 1:
        raise ValueError(f"attributes must be at least 1; got {attributes}")
    sizes = np.ones(most)
    numbers = np.arange(1, most + 1)
    for _ in range(attributes - 1):
        sizes = np.cumsum(sizes / numbers)
    return frozen(np.concatenate(([0.0], sizes)))


@dataclass(frozen=True)
class CostModel:
    """Seconds of one worker of the paper's machine (a Xeon Phi 7210 at 1.3 GHz).

    >>> cost = CostModel()
    >>> round(1e6 * cost.insert_s(8000)[8000])  # us, for the last tuple of a pane that was not split
    416
    """

    comparison_s: float = RUN_COMPARISON_S
    """Time to compare two tuples of a skyline query."""
    message_s: float = 0.3e-6
    """Time of every message beyond that; not fitted to anything."""
    attributes: int = 8
    weight: float = 1.0
    """Cost of a comparison relative to the skyline query."""

    def sizes(self, tuples: int) -> FloatArray:
        """Return the expected number of results of 0, 1, 2 and more tuples, at least up to ``tuples``."""
        return expected_sizes(max(SMALLEST, 1 << tuples.bit_length()), self.attributes)

    def insert_s(self, tuples: int) -> FloatArray:
        """Return the time of the r-th tuple of a partition, for r from 0 to at least ``tuples``."""
        return self.message_s + self.weight * self.comparison_s * self.sizes(tuples)

    def merge_s(self, one: int, other: int) -> float:
        """Return the time to merge the results of ``one`` and of ``other`` tuples.

        Tuples are exchangeable, so the survivors of the first result are its fair share of the merged one. Half of its
        losses count as compared.
        """
        if not one or not other:
            return self.message_s
        sizes = self.sizes(one + other)
        survivors = sizes[one + other] * one / (one + other)
        pairs = (sizes[one] + survivors) / 2 * sizes[other]
        return self.message_s + self.weight * self.comparison_s * float(pairs)


SKYLINE = CostModel()

TOP_DELTA = CostModel(weight=1.2)
"""Fitted to the window workers of the authors' tables: ``python -m experiments ppq-fit --query top-delta``."""
