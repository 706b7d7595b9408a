"""The adaptive policy for both knobs: the cheapest pair of share and replicas that keeps the requirements.

It differs from ``adaptive`` in its costs. A share is a number in a file. A replica is a process: it takes memory and a
little CPU while it idles, it starts with a delay, and starting or stopping it costs work. A tuple is served by one
replica at its share, so two replicas at 0.5 are slower for it than one at 1.0; ``adaptive`` has that cost too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mead.arrays import FloatArray, IntArray
from mead.policies.adaptive.kernel import Rule, costs_at
from mead.policies.adaptive.policy import Adaptive, AdaptiveKeys
from mead.policies.reasons import KnobChoice
from mead.policies.registry import register
from mead.values import Operator, Resources


class HybridOptions(AdaptiveKeys):
    """MEAD's own policy for both knobs: `adaptive`, with higher costs to hold and change replicas than shares."""

    name: Literal["hybrid"] = "hybrid"
    replica_cost_cores: Annotated[float, Field(ge=0)] = Field(
        default=0.05, description="cost of each replica beyond the least, beside its share, cores"
    )
    replica_change_cost: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="cost of starting or stopping one replica, core-seconds"
    )
    surge: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.7,
        description="if replicas start later than shares change, keep enough for a jump of the arrivals to this part "
        "of the capacity of all replicas, or to the recent maximum; 0 keeps none",
    )


@register(HybridOptions)
class Hybrid(Adaptive):
    """The adaptive policy, with two knobs."""

    def __init__(self, options: HybridOptions) -> None:
        super().__init__(options, TwoKnobs(options.replica_cost_cores, options.replica_change_cost, options.surge))


@dataclass(frozen=True)
class TwoKnobs:
    """Every pair of share and replicas is a level of its own.

    >>> knobs = TwoKnobs(replica_cost_cores=0.1, replica_change_cost=2.0)
    >>> matcher = Operator("matcher", 0.001, shares=(0.5, 1.0), max_replicas=2)
    >>> given = knobs.levels(matcher)
    >>> [str(pair) for pair in given], knobs.rents(matcher, given).tolist()
    (['0.5', '1', '2 x 0.5', '2 x 1'], [0.5, 1.0, 1.1, 2.1])
    >>> knobs.change_costs(given, 0.03, late_s=0.0)[0].tolist()  # from one replica at 0.5: share, replica, both
    [0.0, 0.03, 2.0, 2.03]
    """

    replica_cost_cores: float
    """Cores that a replica takes beside its share. The least number of replicas is not charged for."""
    replica_change_cost: float
    """Core-seconds for each replica that comes or goes."""
    surge: float = 0.0
    """Replicas are kept ready for a jump of the arrivals to this part of what all replicas can do."""

    def levels(self, operator: Operator) -> tuple[Resources, ...]:
        """All pairs, the cheapest in cores first."""
        return operator.levels

    def rents(self, operator: Operator, given: Sequence[Resources]) -> FloatArray:
        """The cost of its cores, and of those that every replica beyond the least takes by itself."""
        replicas = _replicas(given)
        beside = self.replica_cost_cores * (replicas - replicas.min()) * operator.core_price
        return np.asarray([operator.cost(resources) for resources in given] + beside)

    def change_costs(self, given: Sequence[Resources], change_cost: float, late_s: float) -> FloatArray:
        """The share's part and the replicas' part; neither is below what any change costs.

        A replica that is starting does no work. The work that it could do meanwhile, at its highest share, is a part of
        the cost of starting it. So replicas that will be needed again are kept at a low share.
        """
        shares, replicas = _shares(given), _replicas(given)
        turned = shares[:, None] != shares[None, :]
        called = replicas[None, :] - replicas[:, None]
        moved = max(change_cost, self.replica_change_cost) * np.abs(called)
        return np.asarray(change_cost * turned + moved + late_s * shares.max() * np.maximum(called, 0.0))

    def partners(self, given: Sequence[Resources]) -> IntArray:
        """``[a, b]``: the level that has the share of a and the replicas of b."""
        places = {resources: place for place, resources in enumerate(given)}
        return np.array([[places[Resources(a.share, b.replicas)] for b in given] for a in given], dtype=np.int64)

    def explain(
        self, operator: str, rule: Rule, now: int, chosen: int, work: float, rate: float
    ) -> tuple[KnobChoice, ...]:
        """The knob that is turned, and by how much the best use of the other one is dearer."""
        if rule.replicas[0] == rule.replicas[-1]:
            return ()
        before, after = _level(rule, now), _level(rule, chosen)
        costs = costs_at(rule, work, rate) + rule.change_costs[now]
        same = rule.replicas == before.replicas
        others = same if after.replicas != before.replicas else ~same & (rule.replicas >= rule.ready)
        ready = int(rule.ready) if rule.ready > rule.replicas[0] else None
        if not others.any():  # all of them are kept ready
            return (KnobChoice(operator, before, after, None, ready=ready),)
        other = int(np.where(others, costs, np.inf).argmin())
        return (KnobChoice(operator, before, after, _level(rule, other), float(costs[other] - costs[chosen]), ready),)

    def sooner(self, delay: int, share_delay: int) -> int:
        """By how many periods a share acts sooner than replicas."""
        return max(delay - share_delay, 0)


def _level(rule: Rule, level: int) -> Resources:
    return Resources(float(rule.shares[level]), int(rule.replicas[level]))


def _shares(given: Sequence[Resources]) -> FloatArray:
    return np.array([resources.share for resources in given])


def _replicas(given: Sequence[Resources]) -> FloatArray:
    return np.array([float(resources.replicas) for resources in given])
