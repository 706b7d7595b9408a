"""The levels of an operator, and the costs to hold and to change them; here for one knob, the cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.policies.adaptive.kernel import Rule
from mead.policies.reasons import KnobChoice
from mead.values import Allocation, Candidate, Operator, Resources


class Knobs(Protocol):
    """The levels of an operator and what they cost, from which a rule is made and explained."""

    @property
    def surge(self) -> float:
        """Replicas are kept ready for a jump of the arrivals to this part of what all replicas can do."""

    def levels(self, operator: Operator) -> tuple[Resources, ...]:
        """The levels of an operator, cheapest first."""

    def rents(self, operator: Operator, given: Sequence[Resources]) -> FloatArray:
        """The cost of holding each level; with a price of 1, in cores."""

    def change_costs(self, given: Sequence[Resources], change_cost: float, late_s: float) -> FloatArray:
        """``[from, to]``: core-seconds that a change costs, if one of a share costs ``change_cost``.

        ``late_s`` is how much later than shares replicas come.
        """

    def partners(self, given: Sequence[Resources]) -> IntArray:
        """``[a, b]``: the level that has the share of a and the replicas of b."""

    def explain(
        self, operator: str, rule: Rule, now: int, chosen: int, work: float, rate: float
    ) -> tuple[KnobChoice, ...]:
        """The knob that a decision turns, and the cost of turning the other; empty if there is only one."""

    def sooner(self, delay: int, share_delay: int) -> int:
        """By how many periods a share acts sooner than replicas; 0 if that is not made use of."""


def levels(operator: Operator) -> tuple[Resources, ...]:
    """The resources of an operator that differ in cores.

    Among equal ones, the cheapest with the fewest replicas.

    >>> levels(Operator("matcher", 0.001, shares=(0.5, 1.0), max_replicas=2))[1]
    Resources(share=1.0, replicas=1)
    """
    distinct: dict[float, Resources] = {}
    for resources in operator.levels:
        cores = round(resources.cores, 9)
        distinct[cores] = min(distinct.get(cores, resources), resources, key=operator.cost)
    return tuple(distinct.values())


class OneKnob:
    """One knob, the cores: how share and replicas make them up does not matter, and all changes cost the same."""

    surge = 0.0

    def levels(self, operator: Operator) -> tuple[Resources, ...]:
        """All that differ in cores."""
        return levels(operator)

    def rents(self, operator: Operator, given: Sequence[Resources]) -> FloatArray:
        """The cost of its cores."""
        return np.array([operator.cost(resources) for resources in given])

    def change_costs(self, given: Sequence[Resources], change_cost: float, late_s: float) -> FloatArray:
        """The same for every change."""
        del late_s
        return change_cost * (1 - np.eye(len(given)))

    def partners(self, given: Sequence[Resources]) -> IntArray:
        """Zeros that are never used: with one knob, orders are not split into shares and replicas."""
        return np.zeros((len(given), len(given)), dtype=np.int64)

    def explain(
        self, operator: str, rule: Rule, now: int, chosen: int, work: float, rate: float
    ) -> tuple[KnobChoice, ...]:
        """Nothing: there is only one knob."""
        del operator, rule, now, chosen, work, rate
        return ()

    def sooner(self, delay: int, share_delay: int) -> int:
        """0: one knob acts when both share and replicas do."""
        del delay, share_delay
        return 0


@dataclass(frozen=True)
class LevelCosts:
    """The levels of an operator and the cost of each, as its rule compares them."""

    given: Sequence[Resources]
    costs: FloatArray
    chosen: int
    free: bool = True
    """Whether the rule had a choice; otherwise the costs of the other levels only keep it from them."""

    def neighbours(self) -> Iterator[tuple[Resources, float | None]]:
        """One level less and one more than the chosen one, each with the core-seconds that it would cost more.

        None if the rule had no choice.
        """
        for level in (self.chosen - 1, self.chosen + 1):
            if 0 <= level < len(self.given):
                yield self.given[level], float(self.costs[level] - self.costs[self.chosen]) if self.free else None


def list_neighbours(allocation: Allocation, operators: Mapping[str, LevelCosts]) -> tuple[Candidate, ...]:
    """The chosen allocation and its neighbours, the cheapest in cores first.

    A neighbour differs by one level of one operator.

    >>> import numpy as np
    >>> costs = LevelCosts([Resources(0.4), Resources(0.7), Resources(1.0)], np.array([2.5, 2.0, 2.25]), chosen=1)
    >>> for one in list_neighbours(Allocation.of(matcher=Resources(0.7)), {"matcher": costs}):
    ...     print(one.allocation, one.extra_cost)
    matcher 0.4 0.5
    matcher 0.7 0.0
    matcher 1 0.25
    """
    others = [
        Candidate(allocation.with_(name, resources), extra_cost=extra_cost, considered=extra_cost is not None)
        for name, costs in operators.items()
        for resources, extra_cost in costs.neighbours()
    ]
    return tuple(sorted([Candidate(allocation, extra_cost=0.0), *others], key=lambda one: one.allocation.cores))
