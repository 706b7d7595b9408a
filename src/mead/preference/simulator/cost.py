"""What work costs, by the number of tuples alone: the attributes are never drawn.

A worker compares every tuple with the result so far, so the r-th tuple of a partition costs ``c E|SKY(r)|``. A merger
of two results compares each tuple of one with those of the other that are still there.

There are two values of c, both fitted to the authors' logs of evenly split panes. The cost is convex: a pane of twice
the size costs more than twice as much. A formula that puts the mean size into it needs a c that makes up for the
burstiness of the panes. A run has that burstiness, and with the formula's c would count it twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from mead.arrays import FloatArray
from mead.preference.kernels.expected_size import expected_sizes

SMALLEST = 1 << 16
"""Tables are made for this many tuples or a power of two times as many, so that few are made."""


FORMULA_COMPARISON_S = 0.205e-6
"""c where every pane has the mean size. With it the formula is within 8 % of the logs (``closed_utilization``)."""

RUN_COMPARISON_S = 0.184e-6
"""c where panes are as bursty as the stream: fitted in runs by ``python -m experiments ppq-fit``."""


@dataclass(frozen=True)
class CostModel:
    """Seconds of one worker of the paper's machine (a Xeon Phi 7210 at 1.3 GHz).

    >>> cost = CostModel()
    >>> round(1e6 * cost.insert_s(8000)[8000])  # us, for the last tuple of a pane that was not split
    416
    """

    comparison_s: float = RUN_COMPARISON_S
    """The time to compare two tuples of a skyline query."""
    message_s: float = 0.3e-6
    """The time that every message takes beyond that; it is not fitted to anything."""
    attributes: int = 8
    weight: float = 1.0
    """A comparison of this query over one of the skyline query."""

    def sizes(self, tuples: int) -> FloatArray:
        """The expected number of results of 0, 1, 2 and more tuples, at least up to ``tuples``."""
        return expected_sizes(max(SMALLEST, 1 << tuples.bit_length()), self.attributes)

    def insert_s(self, tuples: int) -> FloatArray:
        """The time of the r-th tuple of a partition, for r from 0 to at least ``tuples``."""
        return self.message_s + self.weight * self.comparison_s * self.sizes(tuples)

    def merge_s(self, one: int, other: int) -> float:
        """The time to merge the results of ``one`` and of ``other`` tuples.

        Of the first result, those that survive are a fair share of the merged one, for tuples are exchangeable; on the
        way from all to those, half of the losses count.
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
