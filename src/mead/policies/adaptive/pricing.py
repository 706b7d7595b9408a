"""The rule of an operator, made from the prices of the requirements on its paths.

A price is the number of cores that the whole allowance of a requirement is worth. In the sum of all costs every
requirement has one price (its Lagrange multiplier), and every operator on its path is charged for the part of the
allowance that its backlog uses. So operators need not know of each other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np

from mead.arrays import FloatArray
from mead.policies.adaptive.account import margin, usage
from mead.policies.adaptive.decision import BACKLOGS, LEAST_LEFT, Decisions, PricedBacklogs, Server, backlogs, gate_of
from mead.policies.adaptive.kernel import Rule, stays_s
from mead.policies.adaptive.knobs import Knobs, OneKnob
from mead.policies.adaptive.rates import RateModel
from mead.queueing import PATH_SEPARATOR
from mead.values import COUNT_BIN_S, WINDOW_S, Batches, Operator, Pipeline, Requirement

PRICES = 0.04 * 2 ** (np.arange(17) / 2)
"""As parts of the cores that the path needs. Below the first, a rule would not react to a burst that was never seen;
at the last, it only avoids backlogs."""

CHANGE_COSTS = 0.03 * 2 ** (np.arange(13) / 2)
"""Core-seconds per change. The first spares changes that bring next to nothing; every second step doubles the cost."""

UNASKED_S, UNASKED_PRICE = 10.0, 0.2
"""An operator on no path with a requirement is to answer in this time, if that is cheap: at this price, as ``PRICES``.

At a third of it, no backlog would be worth a higher level, and it would grow without end.
"""

KEPT = 64
"""How many value functions, each for one price, are remembered for an operator."""

FIRST_SWEEPS, NEXT_SWEEPS = 60, 8
"""Value iterations for a rule that is new, and for one that has been improved before; fewer if they have converged."""


FOLLOWED_S = 10.0
"""How long a jump is followed after all replicas have come."""


@dataclass(frozen=True)
class Setting:
    """The result of a price search, and spare replicas.

    Prices are places in ``PRICES`` by requirement, and one in ``CHANGE_COSTS``.
    """

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
        charges = PricedBacklogs(operator, given, backlogs(most_work), self.period_s, model.mean * visits)
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
        rents = self.knobs.rents(operator, given) / pipeline.core_price  # only the ratios of prices matter
        server = Server(operator.demand_s, rents, _speeds(operator, cores), gate_of(operator))
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
            rents=np.array([operator.cost(r) for r in given]) / pipeline.core_price,
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
        spent_s = {r: min(s + gate_of(operator), (1 - LEAST_LEFT) * r.bound_s) for r, s in elsewhere_s.items()}
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


def _elsewhere_s(name: str, requirement: Requirement, stays_s: Mapping[str, float]) -> float:
    """The time that the tuples of a path spend at its other operators."""
    return sum(stays_s.get(other, 0.0) for other in requirement.path.split(PATH_SEPARATOR) if other != name)


def _needed(path: str, pipeline: Pipeline, model: RateModel, period_s: float) -> float:
    """The cost of the cores that the operators of a path are busy with, or have at least."""
    operators = [pipeline.operator(name) for name in path.split(PATH_SEPARATOR)]
    busy = [model.mean * pipeline.visits[o.name] * o.demand_s / period_s for o in operators]
    held = (max(o.least.cores, load) * o.core_price for o, load in zip(operators, busy, strict=True))
    return sum(held) / pipeline.core_price


def _speeds(operator: Operator, cores: FloatArray) -> FloatArray:
    """Work per second; batches of limited size are held up by their overhead."""
    if operator.batches is None or operator.batches.max_tuples is None:
        return cores
    work = operator.batches.max_tuples * operator.demand_s
    return np.asarray(work / (operator.batches.overhead_s + work / cores))


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
