"""The account of a requirement: the part of its allowance that is used up, and the part that is left.

On average, every tuple may use one unit of the allowance. For a mean, a tuple uses its response time over the bound;
for the 95th percentile, a late tuple uses 20 units and the others none. So both kinds are accounted for, predicted and
controlled in the same way.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from mead.arrays import FloatArray
from mead.values import WINDOW_S, PathReading, Requirement

LONG_S = 1800.0
"""A requirement is accounted for over its window and over this longer time."""

MARGIN_MEAN, MARGIN_PERCENTILE = 0.85, 0.5
"""The part of the allowance to plan with. Late tuples come in crowds, so a percentile needs a larger reserve."""

SPENDING_S = 60.0
"""The rest of the window's allowance may be used up in this time."""

USED_UP = 0.95
"""Units per tuple over the long time at which an allowance counts as used up. The rest is a reserve."""

LEAST_SCARCE = 0.1
"""The least part of the margin to plan with. A tenth already gives every operator its highest level."""

LEAST_OF_WINDOW = 0.5
"""The least part of the margin to plan with after a bad window, which passes in minutes."""


def margin(requirement: Requirement) -> float:
    """The part of its allowance to plan with."""
    return MARGIN_MEAN if requirement.percent is None else MARGIN_PERCENTILE


def usage(requirement: Requirement, response_s: FloatArray) -> FloatArray:
    """Units of the allowance that response times use.

    >>> import numpy as np
    >>> usage(Requirement("a", bound_s=0.5, percent=95), np.array([0.4, 0.6])).round(9).tolist()
    [0.0, 20.0]
    """
    if requirement.percent is None:
        return response_s / requirement.bound_s
    return (response_s > requirement.bound_s) / (1 - requirement.percent / 100)


@dataclass
class Account:
    """The use of one requirement's allowance over the last ``LONG_S``."""

    requirement: Requirement
    _entries: deque[tuple[float, float, float]] = field(default_factory=deque, repr=False)
    """Time, tuples, units used."""

    def add(self, time_s: float, reading: PathReading) -> None:
        """Book the tuples that have left the path."""
        self._entries.append((time_s, float(reading.completed), self._used(reading)))
        while self._entries[0][0] <= time_s - LONG_S:
            self._entries.popleft()

    def _used(self, reading: PathReading) -> float:
        if self.requirement.percent is None:
            return reading.response_sum_s / self.requirement.bound_s
        late = reading.beyond.get(self.requirement.bound_s, reading.late)
        return late / (1 - self.requirement.percent / 100)

    def since(self, start_s: float) -> tuple[float, float]:
        """Tuples, and units used, after a time."""
        tuples = used = 0.0
        for time_s, completed, units in reversed(self._entries):
            if time_s <= start_s:
                break
            tuples, used = tuples + completed, used + units
        return tuples, used

    def pending(self, waiting: float, rate_per_s: float) -> float:
        """Units already used by tuples that are still inside; the oldest of them came ``waiting / rate`` ago."""
        if rate_per_s <= 0:
            return 0.0
        bound_s, percent = self.requirement.bound_s, self.requirement.percent
        if percent is None:
            return waiting**2 / (2 * rate_per_s) / bound_s
        return max(0.0, waiting - rate_per_s * bound_s) / (1 - percent / 100)

    def target(self, now_s: float, waiting: float, rate_per_s: float) -> float:
        """Units per tuple that the near future may use, so that window and run stay within the margin.

        The rest of the window's allowance is for the tuples of the next ``SPENDING_S``. As the use over the long time
        goes from the margin towards ``USED_UP``, the part to plan with shrinks in proportion.

        >>> mean = Account(Requirement("a", bound_s=1.0))
        >>> mean.add(10.0, PathReading(completed=1000, response_sum_s=870.0, late=0))
        >>> round(mean.target(10.0, waiting=0.0, rate_per_s=10.0), 6)  # 0.85 x (0.95 - 0.87) / (0.95 - 0.85)
        0.68
        >>> mean.add(20.0, PathReading(completed=200, response_sum_s=10.0, late=0))
        >>> round(mean.target(20.0, waiting=0.0, rate_per_s=10.0), 6)  # (0.85 x 1800 - 880) / 600 is more than planned
        0.85
        """
        planned = margin(self.requirement)
        tuples, used = self.since(now_s - WINDOW_S)
        used += self.pending(waiting, rate_per_s)
        ahead = max(SPENDING_S * rate_per_s, 1.0)
        target = (planned * (tuples + waiting + ahead) - used) / ahead
        long_tuples, long_used = self.since(now_s - LONG_S)
        long_run = long_used / max(long_tuples, 1.0)
        scarce = min(max((USED_UP - long_run) / (USED_UP - planned), LEAST_SCARCE), 1.0)
        return min(max(target, LEAST_OF_WINDOW * planned), planned * scarce)
