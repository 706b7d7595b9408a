"""The cost of every decision: a Markov decision process of a backlog, solved by value iteration.

A period costs its cores, a change of level has a cost of its own, and a backlog costs its price, which stands for the
requirement (the Lagrangian of a constrained process; Altman, Constrained Markov Decision Processes, 1999,
chapter 3). The state is the backlog, the rate of arrivals and the level in force. Values are found on a grid of the
first two by value iteration (Puterman, Markov Decision Processes, 1994, section 6.3), interpolated between its points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.policies.adaptive.rates import CHANCES, RateModel
from mead.queueing import gate_s
from mead.values import Operator, Requirement, Resources

BACKLOGS = 32
"""Points of the grid of backlogs, from 0 up, quadratically spaced: they are dense where decisions differ."""

DISCOUNT = 0.98
"""Discount per period. The effect of a decision on the backlog is over long before 50 periods have passed."""

CONVERGED = 0.003
"""Values have converged once they move by less than this, in core-seconds: a tenth of what a change costs at least."""


EXCESS = 1.5
"""Under a mean, a stay is charged more than in proportion: long ones break windows, and the model may be wrong. Between
1, at which one long stay is as good as many short ones, and 2, at which the last of a backlog costs twice the first."""

STEEPNESS = 12.0
"""Under a percentile, a response time is predicted to about a fifth: 6 % of the tuples that are predicted at 0.8 of the
bound count as late, half at the bound, and 90 % at 1.2 of it."""

LEAST_LEFT = 0.1
"""The part of the bound that an operator is left with even if the others use it all up."""


@dataclass(frozen=True, eq=False)
class Server:
    """An operator at its levels. Work is in CPU seconds."""

    demand_s: float
    rents: FloatArray
    """The cost of a level, in cores."""
    speeds: FloatArray
    """The work per second that a level can do."""
    gate_s: float = 0.0
    """How long a tuple waits in an idle micro-batch server; 0 for an operator that serves tuple by tuple."""

    def served(self, work: FloatArray, came: FloatArray, span_s: float) -> FloatArray:
        """Work done at every level (last axis) in a span that began with ``work``, while ``came`` arrived evenly.

        At a micro-batch server every tuple has to wait for its batch. In equilibrium the server answers in
        ``gate + V / u`` if it holds V, so as a fluid it works at the rate ``V / (gate + V / u)`` (Little's law).
        """
        work, came = work[..., None], came[..., None]
        if self.gate_s > 0:
            patience_s = self.gate_s + (work + 0.5 * came) / self.speeds
            return np.asarray((work + came) * (1 - np.exp(-span_s / patience_s)))
        return np.asarray(np.minimum(work + came, self.speeds * span_s))


@dataclass(frozen=True, eq=False)
class Charges:
    """The price of a backlog, by point of the grid and level."""

    waiting: FloatArray
    """Price per period that the backlog is there."""
    arriving: FloatArray
    """Price per tuple that arrives at that backlog."""


def backlogs(most_work: float) -> FloatArray:
    """The grid of backlogs.

    >>> backlogs(961.0)[:4].round(9).tolist()
    [0.0, 1.0, 4.0, 9.0]
    """
    return np.asarray(most_work * (np.arange(BACKLOGS) / (BACKLOGS - 1)) ** 2)


class PricedBacklogs:
    """The prices of the backlogs of a grid, by level."""

    def __init__(
        self, operator: Operator, given: tuple[Resources, ...], grid: FloatArray, period_s: float, tuples: float
    ) -> None:
        self.period_s, self.tuples = period_s, max(tuples, 1e-9)
        cores = np.array([r.cores for r in given])
        own_s = operator.demand_s / np.array([r.share for r in given]) + gate_of(operator)
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
    """The cost of a stay; both are relative to the bound of a mean.

    >>> charged(np.array([0.25, 1.0, 4.0])).tolist()  # x sqrt(x)
    [0.125, 1.0, 8.0]
    """
    return np.asarray(stay**EXCESS)


def lateness(response: FloatArray) -> FloatArray:
    """Probability that a tuple is late, from its predicted response time over the time that it has left.

    >>> lateness(np.array([0.5, 1.0, 2.0])).round(6).tolist()  # 1 / (1 + 2**12), one half, and 4096 / 4097
    [0.000244, 0.5, 0.999756]
    """
    return np.asarray(1 / (1 + response**-STEEPNESS))


def gate_of(operator: Operator) -> float:
    """The gate of an operator that never idles: that is when its backlog matters. Services are added by level."""
    if operator.batches is None:
        return 0.0
    return gate_s(inf, 0.0, operator.batches.overhead_s, operator.batches.trigger_s or 0.0)


@dataclass(eq=False)
class Decisions:
    """The decision process of one operator.

    ``values[rate, backlog, level]`` are costs to go, improved from what they were.
    """

    server: Server
    arrivals: RateModel
    """At this operator."""
    charges: Charges
    period_s: float
    most_work: float
    """The end of the grid of backlogs."""
    change_costs: FloatArray
    """``[from, to]``, in core-seconds; nothing on the diagonal."""
    values: FloatArray = field(repr=False)

    def costs(self, sweeps: int) -> FloatArray:
        """``[rate, backlog, level]``: cost of a period at that level and of all that follows, but for the change."""
        rates, outcomes = self.arrivals.rates, self.arrivals.outcomes
        shape = (rates.size, BACKLOGS, CHANCES.size)
        work = np.broadcast_to(backlogs(self.most_work)[None, :, None], shape)
        count = np.broadcast_to(outcomes[:, None, :], shape)
        now = self.server.rents * self.period_s + CHANCES @ self._priced(work, count, rates[:, None, None])
        left = self._left(work, count)
        v, g = between(left, self.most_work)
        j, e = _among(rates[:, None] + self.arrivals.smoothing * (outcomes - rates[:, None]), rates)
        levels = np.arange(self.server.rents.size)
        j, e = j[:, None, :, None], e[:, None, :, None]
        corners = [
            ((j * BACKLOGS + v) * levels.size + levels, (1 - e) * (1 - g)),
            ((j * BACKLOGS + v + 1) * levels.size + levels, (1 - e) * g),
            (((j + 1) * BACKLOGS + v) * levels.size + levels, e * (1 - g)),
            (((j + 1) * BACKLOGS + v + 1) * levels.size + levels, e * g),
        ]
        costs = now
        for _ in range(sweeps):
            flat = self.values.ravel()
            ahead = sum(weight * flat[place] for place, weight in corners)
            costs = now + DISCOUNT * np.einsum("x,rvxl->rvl", CHANCES, ahead)
            values = (costs[:, :, None, :] + self.change_costs).min(axis=3)
            values -= values.min()  # only differences count: they would all grow to cost / (1 - discount)
            moved = np.abs(values - self.values).max()
            self.values[...] = values
            if moved < CONVERGED:
                break
        return costs

    def _priced(self, work: FloatArray, count: FloatArray, rate: FloatArray) -> FloatArray:
        """``[rate, backlog, outcome, level]``: what the backlog costs in a period in which ``count`` tuples come."""
        # A backlog is predicted with an error. If more came than predicted, more will come, because bursts last.
        held = np.maximum(work + self.arrivals.errors * rate * self.server.demand_s, 0.0)
        left = self._left(held, count)
        # A queue that runs empty is priced for the part of the period in which it was not.
        spare = self.server.speeds * self.period_s - count[..., None] * self.server.demand_s
        busy = np.where(left > 0, 1.0, np.clip(held[..., None] / np.maximum(spare, 1e-12), 0.0, 1.0))
        start = self._price(held[..., None], count[..., None])
        end = self._price(left, count[..., None])
        idle = self.charges.waiting[0] + count[..., None] * self.charges.arriving[0]
        return np.asarray(0.5 * busy * (start + end) + (1 - busy) * idle)

    def _left(self, work: FloatArray, count: FloatArray) -> FloatArray:
        """The backlog at the end of a period, by level (last axis)."""
        came = count * self.server.demand_s
        left = (work + came)[..., None] - self.server.served(work, came, self.period_s)
        return np.asarray(np.maximum(left, 0.0))

    def _price(self, work: FloatArray, count: FloatArray) -> FloatArray:
        v, g = between(work, self.most_work)
        levels = np.arange(self.server.rents.size)
        waiting, arriving = self.charges.waiting, self.charges.arriving
        lower = waiting[v, levels] + count * arriving[v, levels]
        upper = waiting[v + 1, levels] + count * arriving[v + 1, levels]
        return np.asarray((1 - g) * lower + g * upper)


def between(work: FloatArray, most_work: float) -> tuple[IntArray, FloatArray]:
    """The point of the grid below a backlog, and how far it lies towards the next; beyond the last, farther."""
    v = np.minimum((np.sqrt(work / most_work) * (BACKLOGS - 1)).astype(np.int64), BACKLOGS - 2)
    step = most_work / (BACKLOGS - 1) ** 2
    return v, (work - step * v**2) / (step * (2 * v + 1))


def _among(rate: FloatArray, rates: FloatArray) -> tuple[IntArray, FloatArray]:
    """The point of the grid below a rate, and how far it lies towards the next; never beyond the ends."""
    i = np.clip(np.searchsorted(rates, rate, side="right") - 1, 0, rates.size - 2)
    return i, np.clip((rate - rates[i]) / (rates[i + 1] - rates[i]), 0.0, 1.0)
