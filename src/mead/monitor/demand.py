"""How much CPU a tuple costs, learned while the pipeline runs.

The MEAD paper measures demands beforehand and leaves this for the future. Here busy CPU time and completed tuples of
each interval are laid on a line: its slope is the demand of a tuple, its intercept what an interval costs whatever it
brings (a Python worker burns CPU for every batch, and some while it waits).

Which way to fit the line matters, for both numbers are noisy. Least squares of busy time on tuples takes all noise for
noise of the busy time. Behind a backlog it is the other way round: the operator is busy all the time that its share
allows, and only the number of tuples varies. That line would be too flat, in the extreme a constant, and the demand
nothing. Least squares of tuples on busy time errs on the other side only: noise makes it too steep. Too steep is safe,
and has an end: an intercept is not negative, so the demand is never more than busy time over tuples. Hence the rule:
the slope is taken that is steepest among those within ``ERRORS`` standard errors, and if that leaves no intercept, the
quotient. Where tuple counts vary too little to tell slope and intercept apart, the slope is uncertain, and the quotient
is what remains.

An interval that does not fit (a garbage collection, a cold cache, a wrong counter) is given little weight by the rule
of Huber, "Robust estimation of a location parameter" (1964); old intervals fade, so that a drift is followed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np

from mead.arrays import FloatArray

HALF_LIFE_S = 120.0
"""An interval of this age counts half."""

LEAST_TUPLES = 30
"""Intervals are added up until there are so many tuples: fewer say more about rounding than about the demand. And a
micro-batch may take longer than an interval; its busy time belongs to the tuples that are completed at its end."""

MOST_ADDED = 60
"""After this many intervals with hardly a tuple, what they burnt says nothing about tuples, and is forgotten."""

HUBER = 2.0
"""Residuals larger than this many typical ones count in proportion, not squared."""

MAD_TO_SIGMA = 1.4826
"""The standard deviation of a normal distribution over the median of its absolute deviations."""

ERRORS = 3.0
"""An intercept counts only if it shows by this many standard errors of the slope."""

MOST_INTERCEPT = 0.5
"""The most that an intercept may be of the busy time: a demand that rises while the rate falls looks like one."""

ROUNDS = 3
LEAST_INTERVALS = 3
LINE_INTERVALS = 8
"""With fewer, a standard error is itself a guess."""

MOST_INTERVALS = 240


@dataclass
class DemandEstimator:
    """The demand of one operator. ``declared_s`` is believed until there is something better.

    >>> estimator = DemandEstimator(declared_s=0.001)
    >>> for second in range(10):
    ...     tuples = 100 + 10 * second
    ...     estimator.add(time_s=float(second), completed=tuples, busy_s=0.05 + 0.002 * tuples)
    >>> round(estimator.demand_s, 6)
    0.002
    """

    declared_s: float
    _seen: FloatArray = field(default_factory=lambda: np.empty((4, 0)), repr=False)
    """Times, completed tuples, busy seconds, and of how many intervals: a column for each."""
    _added: tuple[int, float, int] = field(default=(0, 0.0, 0), repr=False)
    """Tuples, busy seconds and number of the intervals that together have too few tuples for a column yet."""

    def add(self, time_s: float, completed: int, busy_s: float) -> None:
        """One interval that ended at ``time_s``. Readings that cannot be true are not used."""
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
    """The steepest line by least squares of tuples on busy time, in s per tuple; infinite if it may be vertical."""
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
