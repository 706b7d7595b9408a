"""The orders of a policy: which of them are under way, and whether they are followed.

In mode advise they are not, and an engine may fail. An ignored order is not under way, and its prediction cannot be
compared with observations.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from mead.values import Allocation, Knowledge, Resources


class Delays(NamedTuple):
    """Times from an order to its effect."""

    share_s: float
    replicas_s: float
    """No shorter than that of a share."""

    @classmethod
    def of(cls, knowledge: Knowledge) -> Delays:
        """The delays of shares and replicas."""
        return cls(knowledge.shares_after_s, knowledge.actuation_delay_s)


@dataclass
class Orders:
    """The orders of one policy that decides every ``interval_s``.

    >>> low, high = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(1.0))
    >>> orders = Orders(interval_s=1.0)
    >>> orders.add(10.0, high)
    >>> orders.notice(11.0, low, Delays(2.0, 2.0))  # it needs two seconds
    >>> orders.in_force(12.0, low, Delays(2.0, 2.0)) == high, orders.ignored_s
    (True, -inf)
    """

    interval_s: float
    ignored_s: float = -inf
    """The last time at which an allocation was in force that had not been ordered."""
    _given: deque[tuple[float, Allocation]] = field(default_factory=deque, repr=False)

    def add(self, time_s: float, allocation: Allocation) -> None:
        """Add an order that was given at that time."""
        self._given.append((time_s, allocation))

    def notice(self, time_s: float, allocation: Allocation, delays: Delays) -> None:
        """Compare the allocation in force with the orders. A change may take a little less or more than its delay."""
        slack_s = 2 * self.interval_s

        def due(delay_s: float) -> list[Allocation]:
            around_s = time_s - delay_s
            return [given for s, given in self._given if around_s - slack_s <= s <= around_s + slack_s]

        shares, replicas = due(delays.share_s), due(delays.replicas_s)
        obeyed = any(_compose(a, b) == allocation for a in shares for b in replicas)
        if replicas and self._given[0][0] <= time_s - delays.replicas_s - self.interval_s and not obeyed:
            self.ignored_s = time_s
            self._given.clear()
        while self._given and self._given[0][0] < time_s - delays.replicas_s - 2 * slack_s:
            self._given.popleft()

    def in_force(self, time_s: float, seen: Allocation, delays: Delays) -> Allocation:
        """The allocation that will be in force at that time; ``seen`` if no order acts by then."""

        def acting(delay_s: float) -> Allocation:
            return next((given for s, given in reversed(self._given) if s + delay_s <= time_s + 1e-9), seen)

        return _compose(acting(delays.share_s), acting(delays.replicas_s))

    def last(self, seen: Allocation) -> Allocation:
        """The last order that is not ignored, or ``seen``."""
        return self._given[-1][1] if self._given else seen


def _compose(shares: Allocation, replicas: Allocation) -> Allocation:
    """The shares of one allocation and the replicas of another."""
    if shares is replicas:
        return shares
    return Allocation.of({name: Resources(r.share, replicas[name].replicas) for name, r in shares.items()})
