"""Predict response times, CPU and changes of the closed loop of pipeline and rules.

The loop is followed over courses of arrivals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Literal

import numpy as np

from mead.arrays import FloatArray
from mead.policies.adaptive.account import usage
from mead.policies.adaptive.kernel import Rule, follow, stays_s
from mead.queueing import MAP, PATH_SEPARATOR, WindowFit, fit_calibrated
from mead.values import COUNT_BIN_S, Allocation, Observation, Operator, Pipeline, Prediction, Requirement, Resources

SEGMENTS_S = (600.0, 300.0, 120.0)
"""Lengths of the last stretches of arrivals to look at; the one with the worst outcome counts.

A long stretch remembers bursts that may come again, a short one follows a rate that has just changed.
"""


VARIED = 1.0
"""Squared coefficient of variation of demands above which sizes of tuples are drawn; below, all have the mean size."""

LEAST_TO_FIT = 1000
"""IATs that it takes to fit a MAP. From fewer it is a guess; until then only the past is used."""

REFIT_S = 60.0
SAMPLED_S = 600.0
"""The length of a course that is drawn from a MAP."""

SEED = 0


@dataclass
class Futures:
    """The past, samples of the MAP that fits it best, or both. The same seed draws the same samples."""

    kind: Literal["replay", "map", "both"]
    window: int
    _fit: WindowFit | None = field(default=None, repr=False)
    _fitted_s: float = -inf
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(SEED), repr=False)

    def courses(self, observation: Observation, past: FloatArray) -> list[FloatArray]:
        """Courses of arrivals, in tuples per bin, of which the worst counts; ``past`` is the observed one."""
        iats_s = observation.iats_s[-self.window :]
        if self.kind == "replay" or iats_s.size < LEAST_TO_FIT:
            return [past]
        if self._fit is None or observation.time_s >= self._fitted_s + REFIT_S:
            self._fit = fit_calibrated(iats_s, best=1, seed=SEED, previous=self._fit)
            self._fitted_s = observation.time_s
        sampled = self._sample(self._fit.models[0].map)
        return [sampled] if self.kind == "map" else [past, sampled]

    def _sample(self, arrivals: MAP) -> FloatArray:
        times_s = np.cumsum(arrivals.sample(int(arrivals.rate_per_s * SAMPLED_S) + 1, self._rng))
        times_s = times_s[times_s < SAMPLED_S]
        return np.bincount((times_s / COUNT_BIN_S).astype(int), minlength=round(SAMPLED_S / COUNT_BIN_S)).astype(float)


@dataclass(frozen=True)
class State:
    """Where a pipeline is when the loop begins: tuples inside every operator, and the levels until it acts."""

    backlog: Mapping[str, float]
    pending: Mapping[str, list[int]]


@dataclass(frozen=True, eq=False)
class Outlook:
    """The result of looking ahead through a course of arrivals."""

    usage: Mapping[Requirement, float]
    """Units of the allowance per tuple, in the worst segment."""
    cores: float
    """Mean cost of what is in force, in cores of the mean price, plus what it takes to clear the backlog at the end."""
    changes_per_s: float
    operator_s: Mapping[str, float]
    """Mean stay at every operator."""
    overloaded: frozenset[str]
    """Operators that got more work than their highest level can do."""
    fullest: bool
    """Whether everything was given, all the time, wherever it helps."""
    _counts: FloatArray = field(repr=False)
    _responses_s: Mapping[str, FloatArray] = field(repr=False)

    @cached_property
    def predictions(self) -> dict[str, Prediction]:
        """By path with a requirement; a path that nothing reaches is left out."""
        found = {}
        for path, response_s in self._responses_s.items():
            if self.overloaded.intersection(path.split(PATH_SEPARATOR)):
                found[path] = Prediction(None, None, stable=False)
                continue
            order = np.argsort(response_s)
            reached = np.cumsum(self._counts[order])
            if reached[-1] <= 0:
                continue  # where nothing comes, nothing takes any time
            p95 = response_s[order][min(np.searchsorted(reached, 0.95 * reached[-1]), reached.size - 1)]
            found[path] = Prediction(float(response_s @ self._counts / reached[-1]), float(p95))
        return found


def look_ahead(
    pipeline: Pipeline, rules: Mapping[str, Rule], counts: FloatArray, start: State, *, fullest: bool = False
) -> Outlook:
    """Send arrivals, in bins of ``COUNT_BIN_S``, through the operators, each under its rule.

    Tuples that an edge sends back are taken to come with their first visit.
    """
    out: dict[str, FloatArray] = {}
    stays: dict[str, FloatArray] = {}
    means: dict[str, float] = {}
    overloaded: set[str] = set()
    cores, changes = 0.0, 0
    duration_s = counts.size * COUNT_BIN_S
    for name in pipeline.order:
        operator, rule = pipeline.operator(name), rules[name]
        into = [edge for edge in pipeline.edges if edge.target == name and edge not in pipeline.returns]
        flows = [out[edge.source] * edge.selectivity for edge in into]
        inflow = np.sum(flows, axis=0) if flows else counts
        passed = inflow.sum()
        inflow = inflow * (counts.sum() * pipeline.visits[name] / passed if passed > 0 and pipeline.returns else 1.0)
        held = start.backlog[name]
        sizes, own_sizes = drawn_sizes(operator, inflow)
        served, given, changed = follow(
            rule,
            counts * pipeline.visits[name],
            sizes,
            COUNT_BIN_S,
            held * operator.demand_s,
            np.array(start.pending[name]),
        )
        own_s = operator.demand_s * own_sizes / rule.shares[given]
        stays[name] = stays_s(held, sizes, served, COUNT_BIN_S, rule.speeds[-1] / operator.demand_s) + own_s
        out[name] = served if sizes is inflow else _tuples(served, held, sizes, inflow)
        means[name] = float(stays[name] @ inflow / max(inflow.sum(), 1e-9))
        if inflow.sum() * operator.demand_s >= rule.speeds[-1] * duration_s:
            overloaded.add(name)
        left = held + sizes.sum() - served.sum()
        dear = rule.rents[-1] / rule.cores[-1]
        cores += float(rule.rents[given].mean()) + dear * left * operator.demand_s / duration_s
        changes += changed
    responses = {r.path: _along(r.path, stays) for r in pipeline.requirements}
    used = {r: _worst(usage(r, responses[r.path]) * counts, counts) for r in pipeline.requirements}
    return Outlook(used, cores, changes / duration_s, means, frozenset(overloaded), fullest, counts, responses)


def drawn_sizes(operator: Operator, inflow: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How large the tuples of every bin are together, and how large one of them is, in tuples of mean size.

    Where sizes differ more than those of exponential services do, a few large tuples make others late. Sums of n gamma
    distributed sizes of mean 1 are gamma distributed too. They are drawn anew with the same seed every time, so that
    settings are compared on the same sizes. Smaller differences are lost in the bursts of the arrivals.
    """
    if operator.scv <= VARIED:
        return inflow, np.ones(inflow.size)
    rng = np.random.default_rng(SEED)
    own_sizes = rng.gamma(1 / operator.scv, operator.scv, inflow.size)
    return operator.scv * rng.standard_gamma(inflow / operator.scv), own_sizes


def _tuples(served: FloatArray, held: float, sizes: FloatArray, inflow: FloatArray) -> FloatArray:
    """The tuples that leave in every bin, first come, first served, given the work ``served`` in each."""
    work = np.concatenate([[0.0, held], held + np.cumsum(sizes)])
    count = np.concatenate([[0.0, held], held + np.cumsum(inflow)])
    return np.diff(np.interp(np.cumsum(served), work, count), prepend=0.0)


def _along(path: str, stays: Mapping[str, FloatArray]) -> FloatArray:
    """Response times along a path: a tuple meets each operator as it is when the tuple gets there."""
    response_s = np.zeros(0)
    for name in path.split(PATH_SEPARATOR):
        if not response_s.size:
            response_s = stays[name]
            continue
        there = np.arange(response_s.size) + (response_s / COUNT_BIN_S).astype(int)
        response_s = response_s + stays[name][np.minimum(there, response_s.size - 1)]
    return response_s


def _worst(units: FloatArray, counts: FloatArray) -> float:
    bins = [min(round(seconds / COUNT_BIN_S), counts.size) for seconds in SEGMENTS_S]
    return max(float(units[-n:].sum() / max(counts[-n:].sum(), 1.0)) for n in bins)


def levels_of(allocation: Allocation, rules: Mapping[str, Rule]) -> dict[str, int]:
    """The level of every operator: that with the nearest number of cores, and of those the nearest of replicas."""
    return {name: _nearest(rule, allocation[name]) for name, rule in rules.items()}


def only(rule: Rule, level: int) -> Rule:
    """The rule with every level but one made prohibitively expensive."""
    prohibitive = np.full(rule.cores.size, 1e9)
    prohibitive[level] = 0.0
    return rule._replace(costs=rule.costs + prohibitive, ready=min(rule.ready, float(rule.replicas[level])))


def _nearest(rule: Rule, given: Resources) -> int:
    apart = np.abs(rule.cores - given.cores).round(9)
    return int(np.lexsort((np.abs(rule.replicas - given.replicas), apart))[0])
