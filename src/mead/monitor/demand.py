"""How much CPU a tuple costs, learned while the pipeline runs.

The MEAD paper measures demands beforehand and leaves this for the future. Busy CPU time is regressed on completed
tuples, interval by interval. Both grow with the load, so the slope is the demand, and the intercept what an operator
burns without tuples. An interval that does not fit (a garbage collection, a cold cache, a wrong counter) is given
little weight by Huber's rule; old intervals fade, so that a drift is followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

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
    _time_s: list[float] = field(default_factory=list, repr=False)
    _completed: list[float] = field(default_factory=list, repr=False)
    _busy_s: list[float] = field(default_factory=list, repr=False)

    def add(self, time_s: float, completed: int, busy_s: float) -> None:
        """One interval that ended at ``time_s``. Readings that cannot be true are not used."""
        if completed < LEAST_TUPLES or not 0 < busy_s < np.inf:
            return
        for values, value in ((self._time_s, time_s), (self._completed, float(completed)), (self._busy_s, busy_s)):
            values.append(value)
            del values[:-MOST_INTERVALS]

    @property
    def demand_s(self) -> float:
        """CPU seconds per tuple at full share."""
        if len(self._time_s) < LEAST_INTERVALS:
            return self.declared_s
        tuples, busy_s = np.array(self._completed), np.array(self._busy_s)
        age_s = self._time_s[-1] - np.array(self._time_s)
        # A longer interval knows more, in proportion to its tuples: the noise of a sum grows like its root.
        weights = 0.5 ** (age_s / HALF_LIFE_S) / tuples
        trust = np.ones(tuples.size)
        demand_s = float(np.median(busy_s / tuples))
        for _ in range(ROUNDS):
            residual = (busy_s - demand_s * tuples) / np.sqrt(tuples)
            typical = 1.4826 * float(np.median(np.abs(residual))) + 1e-15
            trust = np.minimum(1.0, HUBER * typical / np.maximum(np.abs(residual), 1e-300))
            demand_s = float((weights * trust * tuples * busy_s).sum() / (weights * trust * tuples**2).sum())
        return demand_s
