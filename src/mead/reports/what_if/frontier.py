"""The frontier of cost and speed: the cheapest allocation for shorter and longer bounds than required."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from mead.policies.predictive.predictions import meets_all, predictions
from mead.policies.predictive.search import Predictor, exact_search, heuristic_search
from mead.values import Allocation, Pipeline, Prediction, Requirement

FACTORS = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
"""The bounds of the frontier, as multiples of those required."""


@dataclass(frozen=True)
class FrontierPoint:
    """The cheapest allocation for bounds that are ``factor`` times those required."""

    factor: float
    requirements: tuple[Requirement, ...]
    allocation: Allocation
    predicted: Mapping[str, Prediction]
    met: bool
    """Whether it meets those bounds; if not, it comes closest."""


@dataclass(frozen=True)
class Frontier:
    """One point for each factor; none without requirements."""

    points: tuple[FrontierPoint, ...]
    allocations: int
    """Number of possible allocations."""
    exact: bool
    """Whether the search was exact, or by the paper's heuristic."""


def find_frontier(pipeline: Pipeline, predict: Predictor, most_exact: int) -> Frontier:
    """Find the frontier: exactly for at most ``most_exact`` allocations, otherwise by the heuristic."""
    allocations = prod(len(o.levels) for o in pipeline.operators)
    search = exact_search if allocations <= most_exact else heuristic_search
    points = []
    for factor in FACTORS if pipeline.requirements else ():
        asked = tuple(replace(r, bound_s=r.bound_s * factor) for r in pipeline.requirements)
        allocation = search(pipeline.with_requirements(asked), predict)
        solution = predict(allocation)
        points.append(FrontierPoint(factor, asked, allocation, predictions(solution), met=meets_all(solution, asked)))
    return Frontier(tuple(points), allocations, exact=search is exact_search)
