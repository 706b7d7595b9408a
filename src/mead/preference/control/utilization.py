"""Utilization factors of the two stages, weighted by the load of workers.

A stage with uneven load is slower than the sum of its workers. So the utilization of each worker is weighted by its
part of the arrivals (Elastic-PPQ, section 3.1): the factor is at least ``lambda / (mu n)``, and equal to it if all
workers receive the same (Proposition 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mead.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Load:
    """Messages received and done by each active worker in an interval."""

    interval_s: float
    received: FloatArray
    done: FloatArray
    busy_s: FloatArray
    service_s: float
    """Mean service time of all workers, including those switched off; NaN if none has done anything."""

    @classmethod
    def of(
        cls,
        interval_s: float,
        received: FloatArray,
        done: FloatArray,
        busy_s: FloatArray,
        active: npt.NDArray[np.bool_],
    ) -> Load:
        """Build it from the counts of all workers; only active ones are kept."""
        finished = float(np.sum(done))
        service_s = float(np.sum(busy_s)) / finished if finished > 0 else float("nan")
        return cls(interval_s, received[active], done[active], busy_s[active], service_s)

    @property
    def capacity(self) -> FloatArray:
        """Messages that each worker could have done: those it did, and those that fit into its idle time."""
        return np.asarray(self.done + np.maximum(0.0, self.interval_s - self.busy_s) / self.service_s)

    @property
    def pane_utilization(self) -> float:
        """``rho_1``: utilization of the stage whose workers have a queue each.

        >>> even = Load(1.0, np.array([8.0, 8.0]), np.array([8.0, 8.0]), np.array([0.8, 0.8]), 0.1)
        >>> round(even.pane_utilization, 9)
        0.8
        """
        total = float(np.sum(self.received))
        return self._finite(self.received**2 / (total * self.capacity)) if total > 0 else 0.0

    def window_utilization(self, pending: int) -> float:
        """Return ``rho_2``, of the stage that assigns tasks to ready workers; pending tasks count as received.

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
        """Idle part of the workers' time."""
        if self.busy_s.size == 0:
            return 0.0
        return float(np.mean(np.maximum(0.0, self.interval_s - self.busy_s)) / self.interval_s)

    @staticmethod
    def _finite(terms: FloatArray) -> float:
        """Return the sum of the terms; 0 without measurements, as in the released code."""
        value = float(np.sum(terms))
        return value if np.isfinite(value) else 0.0
