"""Find the cheapest shares with knowledge of the future: a bound for every policy.

The last operator of the required path has one of its levels in every interval of one or ten seconds; all other
operators have one level. Arrivals and demands are those of the simulator for the seed. The search minimizes CPU subject
to the requirement over the whole run.

The requirement becomes a price (Lagrangian relaxation, Everett 1963): on the time that tuples spend in the operator for
a mean, on late tuples for a percentile. At a given price, dynamic programming over the backlog finds the best levels.
The search raises the price until the requirement holds. It returns two costs; the optimum lies between them:

* ``cpu`` is the cost of a schedule that exists. The simulator has replayed it.
* ``proven_cpu`` is a lower bound for all schedules with decisions at these times: at any price, least cost minus price
  times allowance is a lower bound (weak duality). Backlogs are rounded down to the next state, and less backlog never
  costs more, so rounding only lowers the bound. This holds for means and percentiles, because time inside and lateness
  of a tuple are exact functions of the backlog (see the kernel).

Neither cost says what a policy can reach without knowledge of the future, and neither considers five-minute windows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, floor

import numpy as np

from experiments.clairvoyant_kernel import Future, best_levels, cost_to_go
from mead.arrays import FloatArray, IntArray
from mead.queueing import PATH_SEPARATOR
from mead.reports.judge import statistic_s
from mead.simulator import SimulatedRun, Simulation, demands_s
from mead.values import Operator, Pipeline, Requirement, Resources
from mead.workload import Trace

AT_ONCE = 1e12
"""A share so large that a tuple leaves an operator at once."""

NARROW = 1.04
"""Prices that differ by less lead to nearly the same schedule; a mixture of the two uses up the rest."""

HIGHEST = 1e9
"""A price this many times the first guess makes the cost of CPU negligible."""


@dataclass(frozen=True, eq=False)
class Clairvoyant:
    """The cheapest schedule that was found, and a cost that none can undercut."""

    interval_s: float
    cpu: float
    """Cost of the schedule: time average of the cores per operator."""
    proven_cpu: float
    """No schedule that keeps the requirement takes less."""
    response_s: float
    """The mean or percentile that the simulator finds for the schedule."""
    run: SimulatedRun = field(repr=False)


def clairvoyant(pipeline: Pipeline, trace: Trace, *, seed: int, interval_s: float) -> Clairvoyant | None:
    """The cheapest schedule for the first requirement of a pipeline; None if not even full share keeps it."""
    requirement = pipeline.requirements[0]
    operator = _bottleneck(pipeline, requirement)
    search = _Search(operator.shares, _Limit.of(pipeline, operator, trace, requirement, seed, interval_s))
    while True:
        levels = search.cheapest()
        if levels is None:
            return None
        run = _replayed(pipeline, operator, trace, levels, seed=seed, interval_s=interval_s)
        response_s = statistic_s(run.simulation.responses(requirement.path).response_s, requirement)
        if response_s <= requirement.bound_s:
            break
        search.allow_less()
    cpu = run.simulation.timeline.mean_cores_per_operator(run.duration_s)
    held = cpu - run.simulation.timeline.mean_cores(operator.name, run.duration_s) / len(pipeline.operators)
    proven = held + search.proven_cpu_s / run.duration_s / len(pipeline.operators)
    return Clairvoyant(interval_s, cpu, min(proven, cpu), response_s, run)


def _bottleneck(pipeline: Pipeline, requirement: Requirement) -> Operator:
    """The operator whose share is to be chosen, if the pipeline is one that the search understands."""
    name = requirement.path.split(PATH_SEPARATOR)[-1]
    others = [operator for operator in pipeline.operators if operator.name != name]
    if any(len(operator.shares) > 1 for operator in others):
        raise ValueError(f"a clairvoyant schedule is for {name} alone: give every other operator one share level")
    if any(operator.batches or operator.max_replicas > 1 for operator in pipeline.operators) or pipeline.returns:
        raise ValueError("a clairvoyant schedule needs operators of one replica that serve tuple by tuple, and no loop")
    if sum(name in path.split(PATH_SEPARATOR) for path in pipeline.paths) > 1:
        raise ValueError(f"a clairvoyant schedule needs one path to {name}; {pipeline.name} has several")
    return pipeline.operator(name)


@dataclass(frozen=True, eq=False)
class _Limit:
    """The future of an operator, and how much penalty the requirement allows."""

    future: Future
    allowed: float
    """Time in the operator, of all tuples together, or tuples that are late."""
    scale_s: float
    """Backlogs far below this make no difference."""

    @classmethod
    def of(
        cls,
        pipeline: Pipeline,
        operator: Operator,
        trace: Trace,
        requirement: Requirement,
        seed: int,
        interval_s: float,
    ) -> _Limit:
        """Let everything else of the pipeline happen, and note what reaches the operator when."""
        before = Simulation(
            pipeline, trace, seed, allocation=pipeline.most.with_(operator.name, Resources(share=AT_ONCE))
        )
        before.drain()
        reached = before.responses(requirement.path)
        times_s = reached.arrival_s + reached.response_s
        work_s = np.concatenate([[0.0], np.cumsum(demands_s(pipeline, operator.name, times_s.size, seed))])
        intervals = max(1, ceil(trace.duration_s / interval_s - 1e-9))
        starts_s = np.arange(intervals) * interval_s
        drained_s = max(trace.duration_s, float(times_s[-1])) + float(work_s[-1]) / operator.shares[0] + 1.0
        bounds_s = np.append(starts_s, drained_s)
        if requirement.percent is None:
            deadline_s = np.empty(0)
            allowed = requirement.bound_s * times_s.size - float(reached.response_s.sum())
        else:
            deadline_s = reached.arrival_s + requirement.bound_s
            # Of n sorted times, numpy takes the one at (n - 1) percent / 100, or a value between two of them.
            allowed = times_s.size - 1.0 - floor((times_s.size - 1) * requirement.percent / 100)
        future = Future(
            bounds_s=bounds_s,
            paid_s=np.minimum(starts_s + interval_s, trace.duration_s) - starts_s,
            firsts=_firsts(times_s, bounds_s),
            firsts_due=_firsts(deadline_s, bounds_s),
            times_s=times_s,
            times_sum=np.concatenate([[0.0], np.cumsum(times_s)]),
            work_s=work_s,
            work_sum=np.concatenate([[0.0], np.cumsum(work_s)]),
            deadline_s=deadline_s,
        )
        return cls(future, allowed, requirement.bound_s * operator.shares[0])


def _firsts(times_s: FloatArray, bounds_s: FloatArray) -> IntArray:
    return np.append(np.searchsorted(times_s, bounds_s[:-1]), times_s.size).astype(np.int64)


class _Search:
    """Searches for the price at which the best levels just keep the requirement, first on a coarse grid of backlogs."""

    def __init__(self, shares: tuple[float, ...], limit: _Limit) -> None:
        self.shares, self.limit, self.allowed = np.array(shares), limit, limit.allowed
        self.proven_cpu_s = float(shares[0] * limit.future.paid_s.sum())
        highest_s = _highest_backlog_s(limit.future, shares[0])
        self.coarse = _states_s(limit.scale_s / 40, highest_s, growth=0.06)
        # Whether a tuple is late jumps where the time it spends only bends, and is quicker to find.
        finest = 0.004 if limit.future.deadline_s.size else 0.01
        self.fine = _states_s(limit.scale_s * finest / 4, highest_s, growth=finest)

    def allow_less(self) -> None:
        """Be a little stricter, because the simulator has found more than the requirement allows."""
        self.allowed = 0.999 * self.allowed - 1.0

    def cheapest(self) -> FloatArray | None:
        """The shares of all intervals, or None if the highest do not keep the requirement."""
        lowest = self._always(0)
        if lowest.penalty <= self.allowed:
            return self.shares[lowest.levels]
        if self._always(len(self.shares) - 1).penalty > self.allowed:
            return None
        price = float(self.shares[-1] - self.shares[0]) * float(self.limit.future.paid_s.sum()) / lowest.penalty
        full = np.full(self.limit.future.paid_s.size, self.shares[-1])
        bracket = self._bracket(price, 4.0, self.coarse)
        if bracket is None:
            return full
        low, high = bracket
        while high.price > NARROW * low.price:
            middle = self._at((low.price * high.price) ** 0.5, self.coarse)
            low, high = (middle, high) if middle.penalty > self.allowed else (low, middle)
        bracket = self._bracket(high.price, NARROW, self.fine)
        if bracket is None:
            return full
        low, high = bracket
        self._prove((low.price * high.price) ** 0.5)
        return self.shares[self._mixed(low, high).levels]

    def _bracket(self, price: float, factor: float, states: FloatArray) -> tuple[_Schedule, _Schedule] | None:
        """Schedules at two prices ``factor`` apart: the first breaks the requirement, the second keeps it.

        None where full share all the time barely keeps it, and the grid is too coarse to show that nothing less does.
        """
        here = self._at(price, states)
        if here.penalty <= self.allowed:
            while (lower := self._at(here.price / factor, states)).penalty <= self.allowed:
                here = lower
            return lower, here
        while (higher := self._at(here.price * factor, states)).penalty > self.allowed:
            here = higher
            if here.price > HIGHEST * price:
                return None
        return here, higher

    def _mixed(self, low: _Schedule, high: _Schedule) -> _Schedule:
        """The lower price for as long as possible, then the higher: uses up what the jump between them leaves."""
        best, first, last = high, 0, len(high.levels)
        while last - first > 1:
            turn = (first + last) // 2
            prices = np.where(np.arange(len(high.levels)) < turn, low.price, high.price)
            least = np.concatenate([low.least[: turn + 1], high.least[turn + 1 :]])
            mixed = self._forward(high.price, prices, high.states, least)
            if mixed.penalty <= self.allowed:
                best, first = min(best, mixed, key=self._cpu_s), turn
            else:
                last = turn
        return best

    def _prove(self, price: float) -> None:
        least = cost_to_go(self.limit.future, self.shares, price, self.fine, False)  # noqa: FBT003 - compiled
        self.proven_cpu_s = max(self.proven_cpu_s, float(least[0, 0]) - price * self.limit.allowed)

    def _cpu_s(self, schedule: _Schedule) -> float:
        return float(self.shares[schedule.levels] @ self.limit.future.paid_s)

    def _at(self, price: float, states: FloatArray) -> _Schedule:
        least = cost_to_go(self.limit.future, self.shares, price, states, True)  # noqa: FBT003 - compiled
        return self._forward(price, np.full(len(least) - 1, price), states, least)

    def _forward(self, price: float, prices: FloatArray, states: FloatArray, least: FloatArray) -> _Schedule:
        levels, penalty = best_levels(self.limit.future, self.shares, prices, states, least)
        return _Schedule(price, levels, float(penalty), states, least)

    def _always(self, level: int) -> _Schedule:
        """The schedule with one level all the time, which leaves nothing to choose."""
        intervals = self.limit.future.paid_s.size
        least, prices = np.zeros((intervals + 1, 1)), np.zeros(intervals)
        _, penalty = best_levels(self.limit.future, self.shares[level : level + 1], prices, np.zeros(1), least)
        return _Schedule(0.0, np.full(intervals, level), float(penalty), np.zeros(1), least)


@dataclass(frozen=True, eq=False)
class _Schedule:
    """The best levels at a price."""

    price: float
    levels: IntArray
    penalty: float
    states: FloatArray
    least: FloatArray


def _highest_backlog_s(future: Future, share: float) -> float:
    """The backlog at the lowest share all the time: no schedule has more."""
    gained = future.work_s[1:] - share * future.times_s
    before = np.minimum.accumulate(future.work_s[:-1] - share * future.times_s)
    return float((gained - before).max())


def _states_s(finest_s: float, highest_s: float, *, growth: float) -> FloatArray:
    """Backlogs from none to the highest; the distance between two grows with them."""
    even = np.arange(0.0, min(finest_s / growth, highest_s) + finest_s, finest_s)
    steps = max(0, ceil(np.log(highest_s / even[-1]) / np.log1p(growth)))
    return np.concatenate([even, even[-1] * (1 + growth) ** np.arange(1, steps + 1)])


def _replayed(
    pipeline: Pipeline, operator: Operator, trace: Trace, shares: FloatArray, *, seed: int, interval_s: float
) -> SimulatedRun:
    """Replay the schedule in the simulator."""
    allocations = [pipeline.most.with_(operator.name, Resources(share)) for share in shares.tolist()]
    simulation = Simulation(pipeline, trace, seed, allocation=allocations[0])
    for k, allocation in enumerate(allocations[1:], start=1):
        if allocation != allocations[k - 1]:
            simulation.advance(k * interval_s)
            simulation.apply(allocation)
    simulation.advance(max(simulation.now_s, trace.duration_s))
    simulation.drain()
    return SimulatedRun(f"clairvoyant {interval_s:g} s", pipeline, trace.duration_s, simulation, [])
