"""The answer of a queueing model: a response time, or ``Unstable``.

Every model of this package returns ``ResponseTime | Unstable``. An overloaded queue has no response time, and a
number in its place (infinity, NaN, a negative mean) would travel on into a plan. So it is a value of its own
that the caller has to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias


class ResponseTime(Protocol):
    """The stationary response time (waiting and service) of one operator or path."""

    @property
    def utilization(self) -> float:
        """Load offered to the busiest server, below 1."""

    @property
    def mean_s(self) -> float:
        """Mean response time."""

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed."""


@dataclass(frozen=True)
class Unstable:
    """More work arrives than the servers can do: the queue grows without end.

    >>> Unstable(utilization=1.2).stable
    False
    """

    utilization: float
    stable: bool = False


QueueSolution: TypeAlias = ResponseTime | Unstable

SATURATED = 1 - 1e-5
"""From this utilization on a queue counts as overloaded. Closer to 1 the answer is mostly rounding error, and no real
server stays that busy and no busier."""


def overloaded(utilization: float) -> bool:
    """Whether a queue has no response time; also true if its utilization is not a number.

    >>> [overloaded(u) for u in (0.999, 1 - 1e-9, 1.0, float("nan"))]
    [False, True, True, True]
    """
    return not utilization < SATURATED


def check_percent(percent: float) -> float:
    """``percent`` as the probability of being later than it; 0 and 100 have no finite percentile."""
    if not 0 < percent < 100:
        raise ValueError(f"a percentile must lie between 0 and 100, both excluded; got {percent:g}")
    return 1.0 - percent / 100.0
