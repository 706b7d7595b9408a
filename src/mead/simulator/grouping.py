"""Grouping: the replica that gets a tuple if each has its own queue."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import get_args

from mead.config import GroupingKeys, GroupingKind
from mead.simulator.kernel import LEAST_UTILISED, ROUND_ROBIN, SHUFFLE, WEIGHTED_RANDOM

NUMBERS: dict[GroupingKind, int] = {
    "shuffle": SHUFFLE,
    "least_utilised": LEAST_UTILISED,
    "weighted_random": WEIGHTED_RANDOM,
    "round_robin": ROUND_ROBIN,
}
"""The numbers by which compiled code knows the kinds."""


@dataclass(frozen=True)
class Grouping:
    """Rule by which an operator hands tuples to replicas of unequal speed.

    - ``shuffle``: any active replica, all equally likely.
    - ``round_robin``: active replicas in turn. Storm's shuffle grouping does this, in an order that it shuffles once.
    - ``least_utilised``: Algorithm 1 of PA-SPS. The replica of least load gets the tuple, and its load rises by what a
      tuple takes it; if all are full, it is their turn one after the other. Once an interval is over, loads are
      measured anew.
    - ``weighted_random``: as the authors' program has it, at random with the integer weight 101 - 100 load. Their load
      is Storm's, of the queue; ours is the same utilization as above.

    Equation 1 of the paper multiplies the tuples of a replica by the execution time of the operator. We take the
    replica's own: with a common one, a slow replica, which does less, would look idle.
    """

    kind: GroupingKind
    speeds: tuple[float, ...] = ()
    """Speeds of the replicas in the order of the pool, relative to the operator's share; those not named have 1."""
    interval_s: float = 1.0
    """Time between two measurements of the loads."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(GroupingKind):
            raise ValueError(f"there is no grouping {self.kind!r}; there are {', '.join(get_args(GroupingKind))}")
        if not all(0 < speed < inf for speed in self.speeds):
            raise ValueError(f"speeds of replicas must be above 0 and finite; got {list(self.speeds)}")
        if not 0 < self.interval_s < inf:
            raise ValueError(f"interval_s of a grouping must be above 0 and finite; got {self.interval_s:g}")

    @classmethod
    def of(cls, keys: GroupingKeys) -> Grouping:
        """The grouping that a pipeline file describes."""
        return cls(keys.kind, keys.speeds, keys.interval_s)
