"""How much CPU a tuple costs, learned while the pipeline runs.

The MEAD paper measures demands beforehand and leaves this for the future. Busy CPU time is regressed on completed
tuples, interval by interval. Both grow with the load, so the slope is the demand, and the intercept what an operator
burns without tuples. An interval that does not fit (a garbage collection, a cold cache, a wrong counter) is given
little weight by Huber's rule; old intervals fade, so that a drift is followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mead.models.arrays import FloatArray

HALF_LIFE_S = 120.0
"""An interval of this age counts half."""

LEAST_TUPLES = 30
"""Intervals with fewer tuples say more about rounding than about the demand."""

HUBER = 2.0
"""Residuals beyond so many typical ones count in proportion, not in square."""

ROUNDS = 3
LEAST_INTERVALS = 3
MOST_INTERVALS = 240


@dataclass
class DemandEstimator:
    """The demand of one operator. ``declared_s`` is believed until there is something better.

    >>> estimator = DemandEstimator(declared_s=0.001)
    >>> for second in range(10):
    ...     estimator.add(time_s=float(second), completed=100 + 10 * second, busy_s=0.002 * (100 + 10 * second))
    >>> round(estimator.demand_s, 6)
    0.002
    """

    declared_s: float
    _seen: FloatArray = field(default_factory=lambda: np.empty((3, 0)), repr=False)
    """Times, completed tuples and busy seconds, an interval per column."""

    def add(self, time_s: float, completed: int, busy_s: float) -> None:
        """One interval that ended at ``time_s``. Readings that cannot be true are not used."""
        if completed < LEAST_TUPLES or not 0 < busy_s < np.inf:
            return
        new = np.array([[time_s], [completed], [busy_s]])
        self._seen = np.concatenate([self._seen[:, 1 - MOST_INTERVALS :], new], axis=1)

    @property
    def demand_s(self) -> float:
        """CPU seconds per tuple at full share."""
        if self._seen.shape[1] < LEAST_INTERVALS:
            return self.declared_s
        time_s, tuples, busy_s = self._seen
        # The noise of a sum grows like the root of its tuples. Over that root, every interval is as noisy as the next,
        # and least squares become a quotient of weighted sums.
        root = np.sqrt(tuples)
        weights = np.exp2((time_s - time_s[-1]) / HALF_LIFE_S)
        demand_s = _median(busy_s / tuples)
        for _ in range(ROUNDS):
            residual = np.abs(busy_s / root - demand_s * root)
            typical = 1.4826 * _median(residual) + 1e-15
            trusted = weights * np.minimum(1.0, HUBER * typical / np.maximum(residual, 1e-300))
            demand_s = float(trusted @ busy_s / (trusted @ tuples))
        return demand_s


def _median(values: FloatArray) -> float:
    """As np.median, which spends ten times as long on its own arguments."""
    values = np.sort(values)
    return float(values[(values.size - 1) // 2] + values[values.size // 2]) / 2
