"""From a requirement and its price to the rule that an operator is controlled by.

A price is in cores: what the policy would pay to have the whole allowance of a requirement back. In the sum of all
costs every requirement has one price (its Lagrange multiplier), and every operator on its path is charged for what
its backlog uses of the allowance. So operators need not know of each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from mead.arrays import FloatArray
from mead.policies.adaptive.decision import BACKLOGS, Charges, Decisions, Server, backlogs
from mead.policies.adaptive.kernel import Rule
from mead.policies.adaptive.knobs import Knobs, OneKnob
from mead.policies.adaptive.rates import RateModel
from mead.policies.adaptive.standby import Surge, ready_replicas
from mead.queueing import PATH_SEPARATOR, gate_s
from mead.values import Batches, Operator, Pipeline, Requirement, Resources

PRICES = 0.04 * 2 ** (np.arange(17) / 2)
"""As parts of the cores that the path needs. Below the first, a rule would not react to a burst such as was never seen;
at the last, it does nothing but keep the backlog away."""

CHANGE_COSTS = 0.03 * 2 ** (np.arange(13) / 2)
"""Core-seconds per change. The first spares changes that bring next to nothing; every second step doubles the cost."""

EXCESS = 1.5
"""Under a mean, a stay is charged more than in proportion: long ones break windows, and the model may be wrong. Between
1, at which one long stay is as good as many short ones, and 2, at which the last of a backlog costs twice the first."""

STEEPNESS = 12.0
"""Under a percentile, where a tuple will end up is known to about a fifth: 6 % of those that are foreseen at 0.8 of the
bound count as late, half at the bound, and 90 % at 1.2 of it."""

UNASKED_S, UNASKED_PRICE = 10.0, 0.2
"""An operator on no path with a requirement is to answer in this time, if that is cheap: at this price, as ``PRICES``.

At a third of it, no backlog would be worth a higher level: it would grow for ever.
"""

LEAST_LEFT = 0.1
"""The part of the bound that an operator is left with even if the others use it all up."""

KEPT = 64
"""How many value functions, each for one price, are remembered for an operator."""

FIRST_SWEEPS, NEXT_SWEEPS = 60, 8
"""Value iterations for a rule that is new, and for one that has been improved before; fewer if they have converged."""


@dataclass(frozen=True)
class Setting:
    """What the slow clock chooses: places in ``PRICES`` by requirement and in ``CHANGE_COSTS``, and spare replicas."""

    prices: dict[Requirement, int]
    change_cost: int = 0
    spare: int = 0
    """Replicas of every operator that are held beyond those that are kept ready anyway."""


@dataclass
class Rulebook:
    """Makes rules, and remembers their values: what was found for one price is a good start for the next."""

    period_s: float
    knobs: Knobs = field(default_factory=OneKnob)
    sooner: int = 0
    """By how many periods a share acts sooner than replicas."""
    _values: dict[tuple[str, tuple[int, ...], int], FloatArray] = field(default_factory=dict, repr=False)

    def rules(
        self, pipeline: Pipeline, model: RateModel, setting: Setting, stays_s: Mapping[str, float]
    ) -> dict[str, Rule]:
        """One for every operator. ``stays_s`` is how long a tuple stays at each, as far as that is known."""
        return {o.name: self._rule(o, pipeline, model, setting, stays_s) for o in pipeline.operators}

    def _rule(
        self,
        operator: Operator,
        pipeline: Pipeline,
        model: RateModel,
        setting: Setting,
        stays_s: Mapping[str, float],
    ) -> Rule:
        mine = [r for r in pipeline.requirements if operator.name in r.path.split(PATH_SEPARATOR)]
        given = self.knobs.levels(operator)
        cores = np.array([r.cores for r in given])
        visits = pipeline.visits[operator.name]
        most_work = float((2 * max((r.bound_s for r in mine), default=UNASKED_S) + self.period_s) * cores[-1])
        charges = _Charges(operator, given, backlogs(most_work), self.period_s, model.mean * visits)
        elsewhere_s = {r: _elsewhere_s(operator.name, r, stays_s) for r in mine}
        for requirement in mine:
            price = PRICES[setting.prices[requirement]] * _needed(requirement.path, pipeline, model, self.period_s)
            charges.add(requirement, elsewhere_s[requirement], price)
        if not mine:
            price = UNASKED_PRICE * _needed(operator.name, pipeline, model, self.period_s)
            charges.add(Requirement(operator.name, UNASKED_S), 0.0, price)
        values, sweeps = self._start(
            operator.name, tuple(setting.prices[r] for r in mine), setting.change_cost, cores.size, model.rates.size
        )
        server = Server(operator.demand_s, self.knobs.rents(given), _speeds(operator, cores), _gate_s(operator))
        arrivals = model.scaled(visits)
        late_s = self.sooner * self.period_s
        change_costs = self.knobs.change_costs(given, float(CHANGE_COSTS[setting.change_cost]), late_s)
        decisions = Decisions(server, arrivals, charges.total, self.period_s, most_work, change_costs, values)
        batches = operator.batches or Batches(0.0)
        return Rule(
            period_s=self.period_s,
            demand_s=server.demand_s,
            gate_s=server.gate_s,
            shares=np.array([r.share for r in given]),
            replicas=np.array([float(r.replicas) for r in given]),
            cores=cores,
            speeds=server.speeds,
            overhead_s=batches.overhead_s,
            trigger_s=batches.trigger_s or 0.0,
            max_tuples=float(batches.max_tuples or inf),
            rates=arrivals.rates,
            smoothing=arrivals.smoothing,
            most_work=most_work,
            change_costs=change_costs,
            costs=decisions.costs(sweeps) if cores.size > 1 else values,
            partners=self.knobs.partners(given),
            sooner=self.sooner,
            ready=self._ready(operator, elsewhere_s, arrivals),
        )

    def _ready(self, operator: Operator, elsewhere_s: Mapping[Requirement, float], arrivals: RateModel) -> float:
        """Replicas to hold ready for a jump of the arrivals, if more would come too late for it.

        The jump is as high as the busiest period of the past, or as ``surge`` if that is higher.
        """
        if self.sooner == 0 or self.knobs.surge == 0:
            return float(operator.min_replicas)
        height_per_s = max(arrivals.highest / self.period_s, self.knobs.surge * operator.most.cores / operator.demand_s)
        spent_s = {r: min(s + _gate_s(operator), (1 - LEAST_LEFT) * r.bound_s) for r, s in elsewhere_s.items()}
        surge = Surge(height_per_s, self.period_s, self.sooner * self.period_s)
        return float(ready_replicas(surge, operator, spent_s, arrivals.mean / self.period_s))

    def _start(
        self, name: str, prices: tuple[int, ...], change_cost: int, count: int, rates: int
    ) -> tuple[FloatArray, int]:
        """Values to start from, and how often to improve them."""
        key = (name, prices, change_cost)
        if key in self._values:
            self._values[key] = self._values.pop(key)  # the last used are the last to be forgotten
            return self._values[key], NEXT_SWEEPS
        for forgotten in [known for known in self._values if known[0] == name][: -KEPT + 1]:
            del self._values[forgotten]
        near = min(
            (known for known in self._values if known[0] == name),
            key=lambda known: sum(abs(a - b) for a, b in zip(known[1], prices, strict=True)),
            default=None,
        )
        self._values[key] = np.zeros((rates, BACKLOGS, count)) if near is None else self._values[near].copy()
        return self._values[key], FIRST_SWEEPS if near is None else FIRST_SWEEPS // 2


class _Charges:
    """What the backlogs of a grid cost, by level."""

    def __init__(
        self, operator: Operator, given: tuple[Resources, ...], grid: FloatArray, period_s: float, tuples: float
    ) -> None:
        self.period_s, self.tuples = period_s, max(tuples, 1e-9)
        cores = np.array([r.cores for r in given])
        own_s = operator.demand_s / np.array([r.share for r in given]) + _gate_s(operator)
        self.sojourn_s = grid[:, None] / operator.demand_s / (self.tuples / period_s) + own_s
        """Time that a tuple spends here, by Little's law, if the backlog stays."""
        ahead_s = period_s + (grid[:, None] - cores * period_s) / cores[-1]
        self.response_s = np.where(grid[:, None] <= cores * period_s, grid[:, None] / cores, ahead_s) + own_s
        """Response time of a tuple that arrives now, if the highest level is given from the next period on."""
        self.total = Charges(np.zeros_like(self.sojourn_s), np.zeros_like(self.sojourn_s))

    def add(self, requirement: Requirement, elsewhere_s: float, price: float) -> None:
        """Charge for what a requirement's allowance loses.

        A mean is a sum over the operators of a path, and each pays for its own part. For a percentile, a tuple is late
        by what it has spent ``elsewhere_s`` too.
        """
        bound_s = requirement.bound_s
        if requirement.percent is None:
            self.total.waiting[...] += price * self.period_s * charged(self.sojourn_s / bound_s)
        else:
            left_s = max(bound_s - elsewhere_s, LEAST_LEFT * bound_s)
            late = lateness(self.response_s / left_s)
            self.total.arriving[...] += price * self.period_s / self.tuples * late / (1 - requirement.percent / 100)


def charged(stay: FloatArray) -> FloatArray:
    """What a stay costs; both are relative to the bound of a mean.

    >>> charged(np.array([0.25, 1.0, 4.0])).tolist()  # x sqrt(x)
    [0.125, 1.0, 8.0]
    """
    return np.asarray(stay**EXCESS)


def lateness(response: FloatArray) -> FloatArray:
    """Probability that a tuple is late, from its foreseen response time relative to the time that it has left.

    >>> lateness(np.array([0.5, 1.0, 2.0])).round(6).tolist()  # 1 / (1 + 2**12), one half, and 4096 / 4097
    [0.000244, 0.5, 0.999756]
    """
    return np.asarray(1 / (1 + response**-STEEPNESS))


def _elsewhere_s(name: str, requirement: Requirement, stays_s: Mapping[str, float]) -> float:
    """What the tuples of a path spend at its other operators."""
    return sum(stays_s.get(other, 0.0) for other in requirement.path.split(PATH_SEPARATOR) if other != name)


def _needed(path: str, pipeline: Pipeline, model: RateModel, period_s: float) -> float:
    """Cores that the operators of a path are busy with, or have at least."""
    operators = [pipeline.operator(name) for name in path.split(PATH_SEPARATOR)]
    busy = [model.mean * pipeline.visits[o.name] * o.demand_s / period_s for o in operators]
    return sum(max(o.least.cores, load) for o, load in zip(operators, busy, strict=True))


def _gate_s(operator: Operator) -> float:
    """The gate of an operator that never idles: that is when its backlog matters. Services are added by level."""
    if operator.batches is None:
        return 0.0
    return gate_s(inf, 0.0, operator.batches.overhead_s, operator.batches.trigger_s or 0.0)


def _speeds(operator: Operator, cores: FloatArray) -> FloatArray:
    """Work per second; batches of limited size are held up by their overhead."""
    if operator.batches is None or operator.batches.max_tuples is None:
        return cores
    work = operator.batches.max_tuples * operator.demand_s
    return np.asarray(work / (operator.batches.overhead_s + work / cores))
