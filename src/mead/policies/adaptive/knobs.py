"""What an operator may be given, and what it costs to hold it and to change it; here for one knob, which is cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.policies.adaptive.kernel import Rule
from mead.values import Operator, Resources


class Knobs(Protocol):
    """The levels of an operator and what they cost, from which a rule is made and explained."""

    @property
    def surge(self) -> float:
        """Replicas are kept ready for a jump of the arrivals to this part of what all replicas can do."""

    def levels(self, operator: Operator) -> tuple[Resources, ...]:
        """What an operator may be given, the cheapest first."""

    def rents(self, given: Sequence[Resources]) -> FloatArray:
        """What it costs to hold each level, in cores."""

    def change_costs(self, given: Sequence[Resources], change_cost: float, late_s: float) -> FloatArray:
        """``[from, to]``: core-seconds that a change costs, if one of a share costs ``change_cost``.

        ``late_s`` is how much later than shares replicas come.
        """

    def partners(self, given: Sequence[Resources]) -> IntArray:
        """``[a, b]``: the level that has the share of a and the replicas of b."""

    def why(self, rule: Rule, now: int, chosen: int, work: float, rate: float) -> str:
        """Which knob a decision turns, and why, in words; empty if there is nothing to say."""

    def sooner(self, delay: int, share_delay: int) -> int:
        """By how many periods a share acts sooner than replicas; 0 if that is not made use of."""


def levels(operator: Operator) -> tuple[Resources, ...]:
    """The resources of an operator that differ in cores; among equal ones, those with the fewest replicas.

    >>> levels(Operator("matcher", 0.001, shares=(0.5, 1.0), max_replicas=2))[1]
    Resources(share=1.0, replicas=1)
    """
    distinct: dict[float, Resources] = {}
    for resources in operator.levels:
        distinct.setdefault(round(resources.cores, 9), resources)
    return tuple(distinct.values())


class OneKnob:
    """One knob, the cores: how share and replicas make them up does not matter, and all changes cost the same."""

    surge = 0.0

    def levels(self, operator: Operator) -> tuple[Resources, ...]:
        """All that differ in cores."""
        return levels(operator)

    def rents(self, given: Sequence[Resources]) -> FloatArray:
        """Cores."""
        return np.array([resources.cores for resources in given])

    def change_costs(self, given: Sequence[Resources], change_cost: float, late_s: float) -> FloatArray:
        """The same for every change."""
        del late_s
        return change_cost * (1 - np.eye(len(given)))

    def partners(self, given: Sequence[Resources]) -> IntArray:
        """Zeros that are never used: with one knob, orders are not split into shares and replicas."""
        return np.zeros((len(given), len(given)), dtype=np.int64)

    def why(self, rule: Rule, now: int, chosen: int, work: float, rate: float) -> str:
        """Empty: there is only one knob."""
        del rule, now, chosen, work, rate
        return ""

    def sooner(self, delay: int, share_delay: int) -> int:
        """0: one knob acts when both share and replicas do."""
        del delay, share_delay
        return 0
