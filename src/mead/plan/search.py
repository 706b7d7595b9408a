"""Which allocation is the cheapest that meets every requirement: the paper's heuristic, and the exact answer.

Both ask a predictor for response times; where those come from (M/G/1, fitted MAPs, replay) is the policy's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import inf
from typing import TypeAlias

from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.pipeline import Operator, Pipeline
from mead.knowledge.requirement import Requirement
from mead.models.network.graph import PATH_SEPARATOR
from mead.models.network.solve import NetworkSolution
from mead.models.queues.response import QueueSolution, Unstable

Predictor: TypeAlias = Callable[[Allocation], NetworkSolution]

LEAST_GAIN = 0.05
"""The paper's delta, which it does not give: a step that gains less than this part of the bound is not worth it."""


def response_s(solution: QueueSolution, percent: float | None = None) -> float:
    """Mean or percentile, and infinity for an overloaded queue: fit for comparisons, never for reports."""
    if isinstance(solution, Unstable):
        return inf
    return solution.mean_s if percent is None else solution.percentile_s(percent)


def meets(solution: NetworkSolution, requirement: Requirement) -> bool:
    """Whether a prediction keeps a requirement."""
    return response_s(solution.paths[requirement.path], requirement.percent) <= requirement.bound_s


def heuristic(pipeline: Pipeline, predict: Predictor) -> Allocation:
    """Fig. 5 of the MEAD paper: from the lowest level up, path by path, always the operator that answers latest.

    A step that gains less than ``LEAST_GAIN`` of the bound while the bound is still broken is undone, and the path
    given up. An overloaded operator is raised regardless.
    """
    allocation = Allocation.of({operator.name: operator.least for operator in pipeline.operators})
    for requirement in pipeline.requirements:
        names = requirement.path.split(PATH_SEPARATOR)
        solution = predict(allocation)
        while not meets(solution, requirement):
            growing = [name for name in names if _next_level(pipeline.operator(name), allocation[name])]
            if not growing:
                break
            slowest = max(growing, key=lambda name: response_s(solution.operators[name]))
            level = _next_level(pipeline.operator(slowest), allocation[slowest])
            grown = allocation.with_(slowest, level or allocation[slowest])
            after = predict(grown)
            before_s = response_s(solution.paths[requirement.path], requirement.percent)
            after_s = response_s(after.paths[requirement.path], requirement.percent)
            hopeless = before_s - after_s < LEAST_GAIN * requirement.bound_s
            if before_s < inf and hopeless and after_s > requirement.bound_s:
                break
            allocation, solution = grown, after
    return allocation


def exact(pipeline: Pipeline, predict: Predictor) -> Allocation:
    """The cheapest allocation that meets every requirement, by trying them in the order of their cost.

    If none does, the one that comes closest: with the least excess over its bound on the worst path.
    """
    levels = [_levels(operator) for operator in pipeline.operators]
    names = [operator.name for operator in pipeline.operators]
    candidates = [Allocation(tuple(zip(names, choice, strict=True))) for choice in product(*levels)]
    closest, least_excess = candidates[-1], inf
    for allocation in sorted(candidates, key=lambda a: a.cores):
        solution = predict(allocation)
        excess = max(
            (response_s(solution.paths[r.path], r.percent) / r.bound_s for r in pipeline.requirements), default=0.0
        )
        if excess <= 1:
            return allocation
        if excess < least_excess:
            closest, least_excess = allocation, excess
    return closest


def _levels(operator: Operator) -> list[Resources]:
    replicas = range(operator.min_replicas, operator.max_replicas + 1)
    return sorted((Resources(share, k) for share in operator.shares for k in replicas), key=lambda r: r.cores)


def _next_level(operator: Operator, now: Resources) -> Resources | None:
    """The next higher share, or None at the top."""
    higher = [share for share in operator.shares if share > now.share]
    return Resources(higher[0], now.replicas) if higher else None
