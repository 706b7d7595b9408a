"""The CPU demand of a tuple, learned while the pipeline runs.

The MEAD paper measures demands beforehand. Here a line is fitted to the busy CPU time and the completed tuples of each
interval. Its slope is the demand of a tuple, its intercept the cost of an interval without tuples: a Python worker uses
CPU for every batch, and some while it waits.

Both numbers are noisy, so the direction of the fit matters. Least squares of busy time on tuples attributes all noise
to the busy time. Behind a backlog the opposite holds: the operator is busy all the time that its share allows, and only
the number of tuples varies. That line would be too flat, in the extreme a constant, and the demand 0. Least squares of
tuples on busy time only errs on the steep side. That is safe and bounded: an intercept is not negative, so the demand
is at most busy time over tuples. Hence the estimate is the steepest slope within ``ERRORS`` standard errors, or the
quotient if that leaves no intercept. If tuple counts vary too little to tell slope and intercept apart, the slope is
uncertain and the quotient is used.

Huber's rule ("Robust estimation of a location parameter", 1964) gives little weight to outliers such as a garbage
collection, a cold cache or a wrong counter. Old intervals fade, so that the estimate follows a drift.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np

from mead.arrays import FloatArray

HALF_LIFE_S = 120.0
"""An interval of this age counts half."""

LEAST_TUPLES = 30
"""Intervals are added up until they have this many tuples: fewer say more about rounding than about the demand. And a
micro-batch may take longer than an interval; its busy time belongs to the tuples completed at its end."""

MOST_ADDED = 60
"""After this many intervals with too few tuples, their busy time is forgotten."""

HUBER = 2.0
"""Residuals larger than this many typical ones count in proportion, not squared."""

MAD_TO_SIGMA = 1.4826
"""The standard deviation of a normal distribution over the median of its absolute deviations."""

ERRORS = 3.0
"""An intercept counts only if it shows by this many standard errors of the slope."""

MOST_INTERCEPT = 0.5
"""Largest part of the busy time that may be intercept: a demand that rises while the rate falls looks like one."""

ROUNDS = 3
LEAST_INTERVALS = 3
LINE_INTERVALS = 8
"""With fewer, a standard error is itself a guess."""

MOST_INTERVALS = 240


@dataclass
class DemandEstimator:
    """The demand of one operator: ``declared_s`` until enough intervals have been seen.

    >>> estimator = DemandEstimator(declared_s=0.001)
    >>> for second in range(10):
    ...     tuples = 100 + 10 * second
    ...     estimator.add(time_s=float(second), completed=tuples, busy_s=0.05 + 0.002 * tuples)
    >>> round(estimator.demand_s, 6)
    0.002
    """

    declared_s: float
    _seen: FloatArray = field(default_factory=lambda: np.empty((4, 0)), repr=False)
    """One column per sum of intervals: time, completed tuples, busy seconds, number of intervals."""
    _added: tuple[int, float, int] = field(default=(0, 0.0, 0), repr=False)
    """Tuples, busy seconds and number of the intervals that have too few tuples for a column."""

    def add(self, time_s: float, completed: int, busy_s: float) -> None:
        """Add an interval that ended at ``time_s``. Impossible readings are ignored."""
        if completed < 0 or not 0 <= busy_s < inf or (busy_s == 0 and completed > 0):
            return
        tuples, burnt_s, intervals = self._added
        tuples, burnt_s, intervals = tuples + completed, burnt_s + busy_s, intervals + 1
        if tuples < LEAST_TUPLES:
            self._added = (tuples, burnt_s, intervals) if intervals < MOST_ADDED else (0, 0.0, 0)
            return
        new = np.array([[time_s], [tuples], [burnt_s], [intervals]])
        self._added = (0, 0.0, 0)
        self._seen = np.concatenate([self._seen[:, 1 - MOST_INTERVALS :], new], axis=1)

    @property
    def demand_s(self) -> float:
        """CPU seconds per tuple at full share."""
        if self._seen.shape[1] < LEAST_INTERVALS:
            return self.declared_s
        time_s, tuples, busy_s, intervals = self._seen
        # The noise of a sum grows like the root of its tuples. Over that root, every interval is as noisy as the next.
        root = np.sqrt(tuples)
        fading = np.exp2((time_s - time_s[-1]) / HALF_LIFE_S)
        quotient_s = _median(busy_s / tuples)
        trust = np.ones_like(root)
        for _ in range(ROUNDS):
            trust = _trust((busy_s - quotient_s * tuples) / root)
            weights = fading * trust
            # Least squares through the origin become a quotient of weighted sums.
            quotient_s = float(weights @ busy_s / (weights @ tuples))
        demand_s = quotient_s
        for _ in range(ROUNDS):
            # A wild busy time has leverage on this line, so that distrust counts twice.
            weights = fading * trust**2 / tuples
            steepest_s = _steepest_s(tuples, busy_s, intervals, weights)
            if steepest_s >= quotient_s:
                return quotient_s
            demand_s = max(steepest_s, (1.0 - MOST_INTERCEPT) * quotient_s)
            rest_s = busy_s - demand_s * tuples
            spent = weights * intervals
            trust = _trust((rest_s - float(spent @ rest_s / (spent @ intervals)) * intervals) / root)
        return demand_s


def _trust(residual: FloatArray) -> FloatArray:
    """Huber's weights: 1 for a residual of the usual size, less the further off."""
    residual = np.abs(residual)
    typical = MAD_TO_SIGMA * _median(residual) + 1e-15
    return np.minimum(1.0, HUBER * typical / np.maximum(residual, 1e-300))


def _steepest_s(tuples: FloatArray, busy_s: FloatArray, intervals: FloatArray, weights: FloatArray) -> float:
    """The steepest least-squares line of tuples on busy time, in s per tuple.

    Infinite if it may be vertical.
    """
    # Numbers that do not vary become zeros here, and not differences of rounded sums.
    ends = intervals / intervals[-1]
    columns = np.stack([intervals, tuples - tuples[-1] * ends, busy_s - busy_s[-1] * ends])
    (total, sum_n, sum_b), (_, sum_nn, sum_nb), (_, _, sum_bb) = ((columns * weights) @ columns.T).tolist()
    count = float(weights.sum()) ** 2 / float(
        weights @ weights
    )  # as many as count, by Kish's rule for weighted samples
    with_tuples = sum_nb - sum_n * sum_b / total
    with_itself = sum_bb - sum_b * sum_b / total
    if count < LINE_INTERVALS or with_tuples <= 0.0 or with_itself <= 0.0:
        return inf
    per_busy_s = with_tuples / with_itself
    unexplained = max(sum_nn - sum_n * sum_n / total - per_busy_s * with_tuples, 0.0)
    least_per_busy_s = per_busy_s - ERRORS * sqrt(unexplained / with_itself / (count - 2.0))
    return 1.0 / least_per_busy_s if least_per_busy_s > 0.0 else inf


def _median(values: FloatArray) -> float:
    """The same as np.median, which takes ten times as long to look at its own arguments."""
    values = np.sort(values)
    return float(values[(values.size - 1) // 2] + values[values.size // 2]) / 2
