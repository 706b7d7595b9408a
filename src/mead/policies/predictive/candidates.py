"""The candidates of a search that are kept with its decision, out of those that it has solved."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from mead.policies.predictive.predictions import LazySolutions, response_s
from mead.queueing import PATH_SEPARATOR, NetworkSolution, Unstable
from mead.values import Allocation, Candidate, Pipeline, Requirement

MOST_KEPT = 12
"""The most candidates that are kept: those nearest in cost to the chosen one, where the decision was close."""


def list_candidates(
    solutions: Mapping[Allocation, NetworkSolution], pipeline: Pipeline, target: Allocation, *others: Allocation
) -> tuple[Candidate, ...]:
    """The target, ``others`` and the candidates nearest to the target, cheapest first.

    There are none without requirements.
    """
    requirements = pipeline.requirements
    if not requirements:
        return ()
    fixed = (target, *others)
    known = [a for a, solution in solutions.items() if a not in fixed and _known(solution, requirements)]
    cost = pipeline.cost(target)
    nearest = sorted(known, key=lambda a: abs(pipeline.cost(a) - cost))[: MOST_KEPT - 1 - len(others)]
    listed = dict.fromkeys((*fixed, *nearest))
    return tuple(
        Candidate(allocation, tuple(predicted_s(solutions[allocation], r) for r in requirements))
        for allocation in sorted(listed, key=pipeline.cost)
    )


def predicted_s(solution: NetworkSolution, requirement: Requirement) -> float | None:
    """The predicted mean or percentile that a requirement bounds; None where its path is overloaded."""
    value_s = response_s(solution.paths[requirement.path], requirement.percent)
    return value_s if isfinite(value_s) else None


def _known(solution: NetworkSolution, requirements: tuple[Requirement, ...]) -> bool:
    """Whether a search has asked for the paths of all requirements.

    Paths that it gave up for an overloaded operator count as asked for.
    """
    paths, operators = solution.paths, solution.operators
    if not isinstance(paths, LazySolutions) or not isinstance(operators, LazySolutions):
        return False
    overloaded = {name for name, queue in operators.known.items() if isinstance(queue, Unstable)}
    return all(r.path in paths.known or overloaded.intersection(r.path.split(PATH_SEPARATOR)) for r in requirements)
