"""What has been ordered, what of it is still to come into force, and whether anybody obeys.

In advise mode nobody does, and an engine may fail to. What was not obeyed is no order under way, and predictions of
what it would have done cannot be held against what came.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf

from mead.knowledge.allocation import Allocation


@dataclass
class Orders:
    """Of one policy that decides every ``interval_s``.

    >>> from mead.knowledge.allocation import Resources
    >>> low, high = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(1.0))
    >>> orders = Orders(interval_s=1.0)
    >>> orders.add(10.0, high)
    >>> orders.notice(11.0, low, delay_s=2.0)  # it needs two seconds
    >>> orders.in_force(12.0, low, delay_s=2.0) == high, orders.ignored_s
    (True, -inf)
    """

    interval_s: float
    ignored_s: float = -inf
    """When something was in force for the last time that had not been ordered."""
    _given: deque[tuple[float, Allocation]] = field(default_factory=deque, repr=False)

    def add(self, time_s: float, allocation: Allocation) -> None:
        """An order, given at that time."""
        self._given.append((time_s, allocation))

    def notice(self, time_s: float, allocation: Allocation, delay_s: float) -> None:
        """See what is in force at that time. A change may take a little less than ``delay_s``, or a little more."""
        slack_s = 2 * self.interval_s
        due = [given for s, given in self._given if time_s - delay_s - slack_s <= s <= time_s - delay_s + slack_s]
        if due and self._given[0][0] <= time_s - delay_s - self.interval_s and allocation not in due:
            self.ignored_s = time_s
            self._given.clear()
        while self._given and self._given[0][0] < time_s - delay_s - 2 * slack_s:
            self._given.popleft()

    def in_force(self, time_s: float, seen: Allocation, delay_s: float) -> Allocation:
        """What will be in force at that time; what was seen, if no order acts by then."""
        return next((given for s, given in reversed(self._given) if s + delay_s <= time_s + 1e-9), seen)

    def last(self, seen: Allocation) -> Allocation:
        """The last order that counts, or what was seen."""
        return self._given[-1][1] if self._given else seen
