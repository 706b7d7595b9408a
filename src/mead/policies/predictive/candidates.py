"""The candidates of a search, as they are kept with its decision: only those that the search has solved anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from mead.arrays import FloatArray
from mead.policies.predictive.predictions import Asked, response_s
from mead.queueing import PATH_SEPARATOR, NetworkSolution, Unstable
from mead.values import Allocation, Candidate, Pipeline, Requirement, Resources

MOST_KEPT = 12
"""How many candidates are kept: those nearest in cost to the chosen one, because there the decision was close."""


def weighed(
    solved: Mapping[Allocation, NetworkSolution], pipeline: Pipeline, target: Allocation, *others: Allocation
) -> tuple[Candidate, ...]:
    """The cheapest first: the target and ``others`` in any case, beside them those that were nearest to the target.

    Where nothing is required there is nothing to weigh.
    """
    requirements = pipeline.requirements
    if not requirements:
        return ()
    asked = [a for a, solution in solved.items() if a not in (target, *others) and _known(solution, requirements)]
    nearest = sorted(asked, key=lambda a: abs(a.cores - target.cores))[: MOST_KEPT - 1 - len(others)]
    kept = dict.fromkeys((target, *others, *nearest))
    return tuple(
        Candidate(allocation, tuple(predicted_s(solved[allocation], r) for r in requirements))
        for allocation in sorted(kept, key=lambda a: a.cores)
    )


def predicted_s(solution: NetworkSolution, requirement: Requirement) -> float | None:
    """The predicted mean or percentile that a requirement bounds; None where its path is overloaded."""
    value_s = response_s(solution.paths[requirement.path], requirement.percent)
    return value_s if isfinite(value_s) else None


def _known(solution: NetworkSolution, requirements: tuple[Requirement, ...]) -> bool:
    """Whether a search has asked for the paths of all requirements, or given them up for an overloaded operator."""
    paths, operators = solution.paths, solution.operators
    if not isinstance(paths, Asked) or not isinstance(operators, Asked):
        return False
    overloaded = {name for name, queue in operators.known.items() if isinstance(queue, Unstable)}
    return all(r.path in paths.known or overloaded.intersection(r.path.split(PATH_SEPARATOR)) for r in requirements)


@dataclass(frozen=True)
class Dearer:
    """An operator's levels and what each would cost, as weighed by a rule that decides by cost."""

    given: Sequence[Resources]
    costs: FloatArray
    chosen: int

    def neighbours(self) -> Iterator[tuple[Resources, float]]:
        """One level less and one more than the chosen one, each with the core-seconds that it would cost more."""
        for level in (self.chosen - 1, self.chosen + 1):
            if 0 <= level < len(self.given):
                yield self.given[level], float(self.costs[level] - self.costs[self.chosen])


def weighed_by_cost(allocation: Allocation, operators: Mapping[str, Dearer]) -> tuple[Candidate, ...]:
    """The chosen allocation, and those that differ from it by one level of one operator; the cheapest in cores first.

    >>> import numpy as np
    >>> levels = Dearer([Resources(0.4), Resources(0.7), Resources(1.0)], np.array([2.5, 2.0, 2.25]), chosen=1)
    >>> for one in weighed_by_cost(Allocation.of(matcher=Resources(0.7)), {"matcher": levels}):
    ...     print(one.allocation, one.extra_cost)
    matcher 0.4 0.5
    matcher 0.7 0.0
    matcher 1 0.25
    """
    others = [
        Candidate(allocation.with_(name, resources), extra_cost=extra_cost)
        for name, dearer in operators.items()
        for resources, extra_cost in dearer.neighbours()
    ]
    return tuple(sorted([Candidate(allocation, extra_cost=0.0), *others], key=lambda one: one.allocation.cores))
