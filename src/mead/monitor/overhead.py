"""What a micro-batch costs whatever its size, learned while the pipeline runs.

A micro-batch of n tuples takes ``overhead + n demand / cores``. The demand is learned from CPU time; what is left of
the time that micro-batches took is their overhead. It is mostly the engine's, and grows when the machine is busy.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

KEPT = 60
LEAST = 5
"""With fewer intervals the declared value is believed."""


@dataclass
class OverheadEstimator:
    """The overhead of one operator. The median, for a garbage collection makes a micro-batch three times as long.

    >>> estimator = OverheadEstimator(declared_s=0.1)
    >>> for tuples in range(100, 600, 100):
    ...     estimator.add(batches=2, serving_s=2 * 0.05 + tuples * 0.002, work_s=tuples * 0.002)
    >>> round(estimator.overhead_s, 9)
    0.05
    """

    declared_s: float
    _seen_s: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)

    def add(self, batches: int, serving_s: float, work_s: float) -> None:
        """One interval: how many micro-batches ended, how long they took, and their tuples alone would have taken."""
        if batches > 0:
            self._seen_s.append(max(serving_s - work_s, 0.0) / batches)

    @property
    def overhead_s(self) -> float:
        """Seconds per micro-batch."""
        return median(self._seen_s) if len(self._seen_s) >= LEAST else self.declared_s
