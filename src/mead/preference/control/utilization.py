"""Utilization factors of the two stages: how much of the load that arrived could be served, weighted by where it went.

A stage whose load is spread unevenly is slower than the sum of its workers. So the utilization of each worker counts by
the part of the arrivals that it received (Elastic-PPQ, section 3.1): the factor is at least ``lambda / (mu n)`` and
reaches that if all receive the same (Proposition 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mead.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Load:
    """What each active worker received and did in an interval; the service time is that of all workers together."""

    interval_s: float
    received: FloatArray
    done: FloatArray
    busy_s: FloatArray
    service_s: float
    """Mean service time over all workers, including those switched off; NaN if none has done anything."""

    @classmethod
    def of(
        cls,
        interval_s: float,
        received: FloatArray,
        done: FloatArray,
        busy_s: FloatArray,
        active: npt.NDArray[np.bool_],
    ) -> Load:
        """Build it from the counts of all workers; only the active ones are kept."""
        finished = float(np.sum(done))
        service_s = float(np.sum(busy_s)) / finished if finished > 0 else float("nan")
        return cls(interval_s, received[active], done[active], busy_s[active], service_s)

    @property
    def capacity(self) -> FloatArray:
        """What each worker could have done: what it did, and what fits into the time it was idle."""
        return np.asarray(self.done + np.maximum(0.0, self.interval_s - self.busy_s) / self.service_s)

    @property
    def pane_utilization(self) -> float:
        """``rho_1``: of the stage whose workers have a queue each.

        >>> even = Load(1.0, np.array([8.0, 8.0]), np.array([8.0, 8.0]), np.array([0.8, 0.8]), 0.1)
        >>> round(even.pane_utilization, 9)
        0.8
        """
        total = float(np.sum(self.received))
        return self._finite(self.received**2 / (total * self.capacity)) if total > 0 else 0.0

    def window_utilization(self, pending: int) -> float:
        """``rho_2``: of the stage that hands out a task when a worker is ready; what still waits counts as received.

        >>> Load(1.0, np.array([4.0]), np.array([4.0]), np.array([1.0]), 0.25).window_utilization(pending=2)
        1.5
        """
        total = float(np.sum(self.received))
        if total == 0:
            return 0.0
        part = self.received / total
        return self._finite(part * (total + pending) * part / self.capacity)

    @property
    def idle_ratio(self) -> float:
        """The part of the workers' time in which they had nothing to do."""
        if self.busy_s.size == 0:
            return 0.0
        return float(np.mean(np.maximum(0.0, self.interval_s - self.busy_s)) / self.interval_s)

    @staticmethod
    def _finite(terms: FloatArray) -> float:
        """The sum of the terms; without measurements it counts as no load, as in the released code."""
        value = float(np.sum(terms))
        return value if np.isfinite(value) else 0.0
