"""How many replicas are held ready for a jump of the arrivals that nobody has seen before.

Shares can be raised at once, replicas come late. So a jump finds what the replicas that are there can do at their
highest share. A rule that was learned from the past does not know jumps that were not in it, and under a p99 the first
one of a run can use up all that a window allows. Nobody knows how high it will be; but whoever allows an operator so
many replicas has a load in mind that needs them. So the jump to survive is a part of what all of them can do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray
from mead.policies.adaptive.account import margin, usage
from mead.policies.adaptive.kernel import stays_s
from mead.values import COUNT_BIN_S, WINDOW_S, Operator, Requirement

FOLLOWED_S = 10.0
"""How long a jump is followed after all replicas have come."""


@dataclass(frozen=True)
class Surge:
    """A jump, and how an operator answers: by shares after ``noticed_s``, by replicas ``late_s`` later."""

    rate_per_s: float
    """Arrival rate from the jump on."""
    noticed_s: float
    late_s: float

    def response_s(self, operator: Operator, replicas: int) -> FloatArray:
        """Response times of the tuples that arrive from the jump on, in bins, first come, first served.

        Before it, nothing waits and every replica has the lowest share.

        >>> jump = Surge(rate_per_s=150.0, noticed_s=1.0, late_s=2.0)
        >>> one = Operator("matcher", 0.01, shares=(0.5, 1.0), max_replicas=2)
        >>> jump.response_s(one, replicas=2)[[4, 9, 14]].round(2).tolist()  # in the first second half a core is short
        [0.24, 0.27, 0.15]
        """
        times_s = np.arange(0.0, self.noticed_s + self.late_s + FOLLOWED_S, COUNT_BIN_S)
        shares = np.where(times_s < self.noticed_s, operator.shares[0], operator.shares[-1])
        there = np.where(times_s < self.noticed_s + self.late_s, replicas, operator.max_replicas)
        possible = shares * there * COUNT_BIN_S / operator.demand_s
        came = np.full(times_s.size, self.rate_per_s * COUNT_BIN_S)
        # The backlog of a fluid queue (Reich's formula): how far the net input is above its least so far.
        net = np.concatenate([[0.0], np.cumsum(came - possible)])
        backlog = net - np.minimum.accumulate(net)
        served = came - np.diff(backlog)
        waits_s = stays_s(0.0, came, served, COUNT_BIN_S, operator.most.cores / operator.demand_s)
        return np.asarray(waits_s + operator.demand_s / operator.shares[-1])

    def survived(
        self, operator: Operator, replicas: int, elsewhere_s: Mapping[Requirement, float], usual: float
    ) -> bool:
        """Whether every requirement stays within its margin, in a window of ``usual`` tuples/s and the jump."""
        own_s, came = self.response_s(operator, replicas), self.rate_per_s * COUNT_BIN_S
        tuples = WINDOW_S * usual + own_s.size * came
        return all(came * usage(r, own_s + spent_s).sum() <= margin(r) * tuples for r, spent_s in elsewhere_s.items())


def ready_replicas(surge: Surge, operator: Operator, elsewhere_s: Mapping[Requirement, float], usual: float) -> int:
    """The fewest replicas with which a jump is survived; all, if it is not.

    ``elsewhere_s`` is what tuples spend at other operators, by requirement; ``usual`` how many come in a second.
    """
    fewer = range(operator.min_replicas, operator.max_replicas)
    enough = bisect_left(fewer, x=True, key=lambda replicas: surge.survived(operator, replicas, elsewhere_s, usual))
    return operator.min_replicas + enough
