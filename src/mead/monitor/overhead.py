"""The overhead of a micro-batch, learned while the pipeline runs.

A micro-batch of n tuples takes ``overhead + n demand / cores``. The demand is learned from CPU time; the rest of the
duration is the overhead. It is mostly that of the engine, and grows when the machine is busy.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from statistics import median

KEPT = 60
LONGEST = 3.0
LEAST = 5
"""With fewer intervals the declared value is used."""


@dataclass
class OverheadEstimator:
    """The overhead of one operator: the mean, with every interval cut off at ``LONGEST`` times the median.

    A mean, because tuples wait for long micro-batches too; cut off, because a pause of ten seconds is no overhead.

    >>> estimator = OverheadEstimator(declared_s=0.1)
    >>> for tuples in range(100, 600, 100):
    ...     estimator.add(batches=2, serving_s=2 * 0.05 + tuples * 0.002, work_s=tuples * 0.002)
    >>> round(estimator.overhead_s, 9)
    0.05
    """

    declared_s: float
    _seen: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=KEPT), repr=False)
    """Micro-batches of an interval, and the overhead of one."""

    def add(self, batches: int, serving_s: float, work_s: float) -> None:
        """Add an interval: micro-batches that ended, their duration, and the time of their tuples alone."""
        if batches > 0:
            self._seen.append((batches, (serving_s - work_s) / batches))

    @property
    def overhead_s(self) -> float:
        """Seconds per micro-batch."""
        if len(self._seen) < LEAST:
            return self.declared_s
        usual_s = median(overhead_s for _, overhead_s in self._seen)
        longest_s = LONGEST * usual_s if usual_s > 0 else inf
        spent_s = sum(batches * min(overhead_s, longest_s) for batches, overhead_s in self._seen)
        return max(spent_s / sum(batches for batches, _ in self._seen), 0.0)
