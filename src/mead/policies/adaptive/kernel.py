"""The rule of an operator at work: a decision after every period, on the backlog of a fluid in short bins.

All compiled functions are in this one file: a compiled function is kept until its own file changes, and would go on
calling an old version of what it calls elsewhere.
"""

# ruff: noqa: FURB136, PLR1730 - min and max take longer to compile than a comparison
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from math import ceil, exp, floor, sqrt
from typing import NamedTuple

import numpy as np
from numba import njit

from mead.arrays import FloatArray, IntArray

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # not in its stubs
"""Compiled as a part of its callers only."""

EITHER, SHARE_ONLY = 0, 1
"""The knobs that may be turned."""


class Rule(NamedTuple):
    """All that a decision at one operator depends on besides backlog, rate and level."""

    period_s: float
    demand_s: float
    gate_s: float
    shares: FloatArray
    replicas: FloatArray
    cores: FloatArray
    """Of every level; cores are the product of the two, and never fall from one level to the next."""
    rents: FloatArray
    """The cost of holding every level, in cores of the mean price of the pipeline."""
    speeds: FloatArray
    """Of ``mead.policies.adaptive.decision.Server``."""
    overhead_s: float
    trigger_s: float
    max_tuples: float
    """Of a micro-batch: what it costs, how far apart they begin at least, and how many tuples it takes at most."""
    rates: FloatArray
    smoothing: float
    """Of ``mead.policies.adaptive.rates.RateModel``."""
    most_work: float
    change_costs: FloatArray
    costs: FloatArray
    """Of ``mead.policies.adaptive.decision.Decisions``."""
    partners: IntArray
    """``[a, b]``: the level that has the share of a and the replicas of b."""
    sooner: int
    """Periods by which a share acts sooner than replicas that were ordered with it; 0 if that is not used."""
    ready: float
    """Replicas that are held at any cost."""


@inner
def served(work, came, speed, gate_s, span_s):  # pragma: no cover - compiled
    """As ``mead.policies.adaptive.decision.Server.served``, for one level."""
    if gate_s > 0:
        return (work + came) * (1 - exp(-span_s / (gate_s + (work + 0.5 * came) / speed)))
    possible = speed * span_s
    return possible if possible < work + came else work + came


@inner
def place(rule, work, rate):  # pragma: no cover - compiled
    """Where a backlog and a rate lie on the grid: the points below them, and how far they are towards the next."""
    points = rule.costs.shape[1]
    v = int(sqrt(work / rule.most_work) * (points - 1))
    if v > points - 2:
        v = points - 2
    step = rule.most_work / (points - 1) ** 2
    g = (work - step * v**2) / (step * (2 * v + 1))
    i = 0
    while i < rule.rates.size - 2 and rule.rates[i + 1] <= rate:
        i += 1
    f = (rate - rule.rates[i]) / (rule.rates[i + 1] - rule.rates[i])
    return v, g, i, 0.0 if f < 0 else 1.0 if f > 1 else f


@inner
def cost_at(rule, at, level):  # pragma: no cover - compiled
    """The cost of a level at such a place without the change, interpolated between the points of the grid."""
    v, g, i, f = at
    below = (1 - g) * rule.costs[i, v, level] + g * rule.costs[i, v + 1, level]
    above = (1 - g) * rule.costs[i + 1, v, level] + g * rule.costs[i + 1, v + 1, level]
    return (1 - f) * below + f * above


@njit(cache=True, error_model="numpy")
def costs_at(rule, work, rate):  # pragma: no cover - compiled
    """The cost of every level at a backlog and a rate, but for the change: what a decision compares."""
    at = place(rule, work, rate)
    costs = np.empty(rule.cores.size)
    for level in range(costs.size):
        costs[level] = cost_at(rule, at, level)
    return costs


@inner
def choose(rule, work, rate, now, knobs):  # pragma: no cover - compiled
    """The level of least cost, with the change if it is one, of those that have the ``ready`` replicas.

    With ``SHARE_ONLY``, of those that have the replicas of the level in force.
    """
    at = place(rule, work, rate)
    best, least = now, 1e300
    for level in range(rule.cores.size):
        if knobs == SHARE_ONLY and rule.replicas[level] != rule.replicas[now]:
            continue
        if knobs == EITHER and rule.replicas[level] < rule.ready:
            continue
        cost = cost_at(rule, at, level) + rule.change_costs[now, level]
        if cost < least:
            best, least = level, cost
    return best


@inner
def next_trigger(time_s, trigger_s):  # pragma: no cover - compiled
    """The first trigger from a time on; that time, if there are none."""
    return ceil(time_s / trigger_s) * trigger_s if trigger_s > 0 else time_s


@inner
def serve_batches(rule, queue, came, speed, start_s, span_s):  # pragma: no cover - compiled
    """Advance a micro-batch server by a short time; returns how many tuples have left.

    In that time, ``came`` tuples arrive evenly.

    ``queue`` holds tuples waiting, tuples in the batch, what is left of the batch's overhead (s) and work, and the
    earliest start of the next batch: at the first trigger after the start of the one before, or at the end of that one
    if it runs longer. Where nothing waits then, the first trigger after the first tuple counts.
    """
    time_s, seen_s, left = 0.0, 0.0, 0.0
    while True:
        if queue[1] > 0:
            needed_s = queue[2] + queue[3] / speed
            if time_s + needed_s > span_s:
                spent_s = span_s - time_s
                overhead_s = spent_s if spent_s < queue[2] else queue[2]
                queue[2] -= overhead_s
                queue[3] -= (spent_s - overhead_s) * speed
                break
            time_s += needed_s
            left += queue[1]
            queue[1] = 0.0
        if time_s < queue[4] - start_s:
            time_s = queue[4] - start_s
        if time_s > seen_s:
            seen = time_s if time_s < span_s else span_s
            queue[0] += came * (seen - seen_s) / span_s
            seen_s = seen
        if queue[0] < 1 - 1e-9:  # until the first tuple is there, but for rounding
            if came <= 0:
                break
            time_s += (1 - queue[0]) * span_s / came
            if time_s > span_s:
                break
            queue[0] = 1.0
            seen_s = time_s
            queue[4] = next_trigger(start_s + time_s - 1e-9, rule.trigger_s)
            continue
        if time_s >= span_s:
            break
        queue[4] = next_trigger(start_s + time_s + 1e-9, rule.trigger_s)
        taken = floor(queue[0] + 1e-9)  # what would be left of a tuple waited for the next one
        taken = taken if taken < rule.max_tuples else rule.max_tuples
        queue[0] -= taken
        queue[1] = taken
        queue[2] = rule.overhead_s
        queue[3] = taken * rule.demand_s
    queue[0] += came * (span_s - seen_s) / span_s
    return left


@njit(cache=True, error_model="numpy")
def decide(rule, work, rate, pending):  # pragma: no cover - compiled
    """The level to order now.

    ``pending`` are the levels of the periods until it acts, and the last one ordered.

    Where a share acts sooner than replicas do, its part of the order is for then, beside the replicas of then. The
    replicas are for when they will come. Until then the share follows the backlog, which is carried ahead with it.
    """
    came, last = rate * rule.demand_s, pending.size - 1
    for d in range(last - rule.sooner):
        work = work + came - served(work, came, rule.speeds[pending[d]], rule.gate_s, rule.period_s)
    if rule.sooner == 0:
        return choose(rule, work, rate, pending[last], EITHER)
    at = first = choose(rule, work, rate, pending[last - rule.sooner], SHARE_ONLY)
    for d in range(last - rule.sooner, last):
        work = work + came - served(work, came, rule.speeds[at], rule.gate_s, rule.period_s)
        at = choose(rule, work, rate, rule.partners[at, pending[d + 1]], SHARE_ONLY)
    return rule.partners[first, choose(rule, work, rate, at, EITHER)]


@njit(cache=True, error_model="numpy")
def follow(rule, counts, inflow, bin_s, work, pending):  # pragma: no cover - compiled
    """The closed loop: the rule decides after every period.

    ``counts`` are the tuples that make the rate, ``inflow`` those that come to the operator, per bin. ``pending`` are
    the levels of the first periods, until the first decision acts. Returns per bin the tuples served and the level,
    and how often another level was ordered.
    """
    per_period = int(rule.period_s / bin_s + 0.5)
    outflow, levels = np.empty(inflow.size), np.empty(inflow.size, dtype=np.int64)
    pending = pending.copy()
    queue = np.array([work / rule.demand_s, 0.0, 0.0, 0.0, 0.0])
    rate, changes = 0.0, 0
    for start in range(0, inflow.size, per_period):
        now, count = pending[0], 0.0
        end = start + per_period
        for b in range(start, end if end < inflow.size else inflow.size):
            came = inflow[b] * rule.demand_s
            if rule.gate_s > 0:
                outflow[b] = serve_batches(rule, queue, inflow[b], rule.cores[now], b * bin_s, bin_s)
                work = (queue[0] + queue[1]) * rule.demand_s
            else:
                done = served(work, came, rule.speeds[now], 0.0, bin_s)
                work = work + came - done
                outflow[b] = done / rule.demand_s
            levels[b] = now
            count += counts[b]
        weight = per_period / end
        rate += (weight if weight > rule.smoothing else rule.smoothing) * (count - rate)
        for d in range(pending.size - 1):
            pending[d] = pending[d + 1]
        chosen = decide(rule, work, rate, pending)
        changes += chosen != pending[-1]
        for d in range(pending.size - 1 - rule.sooner, pending.size - 1):
            pending[d] = rule.partners[chosen, pending[d]]
        pending[-1] = chosen
    return outflow, levels, changes


@njit(cache=True, error_model="numpy")
def stays_s(held, inflow, outflow, bin_s, last_per_s):  # pragma: no cover - compiled
    """How long the tuples of each bin stay, first come, first served: until as much has left as had come.

    ``held`` tuples were there at the start. Tuples that have not left at the end leave at the rate ``last_per_s``.
    """
    stays = np.empty(inflow.size)
    come, gone, end = held, 0.0, 0
    for b in range(inflow.size):
        middle = come + 0.5 * inflow[b]
        come += inflow[b]
        while end < inflow.size and gone + outflow[end] < middle:
            gone += outflow[end]
            end += 1
        if end < inflow.size:
            left = end + ((middle - gone) / outflow[end] if outflow[end] > 0 else 0.0)
        else:
            left = inflow.size + (middle - gone) / (last_per_s * bin_s)
        stay = (left - b - 0.5) * bin_s
        stays[b] = stay if stay > 0 else 0.0
    return stays
