"""Search for the cheapest allocation that meets every requirement.

There are the paper's heuristic and an exact search. Both get response times from the predictor of the policy (M/G/1,
fitted MAPs, replay). Every operator has to keep up, even one that no requirement depends on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import TypeAlias

from mead.policies.predictive.predictions import meets, meets_all, response_s
from mead.policies.rules import ROUNDING, one_up
from mead.queueing import PATH_SEPARATOR, NetworkSolution, Unstable, overloaded
from mead.values import Allocation, Operator, Pipeline, Requirement, Resources

Predictor: TypeAlias = Callable[[Allocation], NetworkSolution]

MOST_TRIED = 2000
"""Allocations that exact search may solve. With more, a round would take longer than the interval between two."""

LEAST_GAIN = 0.05
"""The paper's delta, which it does not give: a step that gains less than this part of the bound is not worth it."""


def heuristic_search(pipeline: Pipeline, predict: Predictor) -> Allocation:
    """Fig. 5 of the MEAD paper: from the lowest level up, path by path.

    It always raises the operator that answers latest.

    A step that gains less than ``LEAST_GAIN`` of the bound while the bound is still broken is undone, and the path
    given up. An overloaded operator is raised in any case, on any path. Beyond the paper, replicas are added
    where the share is at its highest; where they were, the share is lowered again as far as the requirements allow.
    An operator whose cores cost twice as much as another's must answer twice as late to be raised before it.
    """
    allocation = _steady(pipeline, predict, _upward)
    for requirement in pipeline.requirements:
        solution = predict(allocation)
        while not meets(solution, requirement):
            if isinstance(solution.paths[requirement.path], Unstable):
                break  # even with all that there is, it cannot keep up
            names = requirement.path.split(PATH_SEPARATOR)
            raised = {name: one_up(pipeline.operator(name), allocation[name]) for name in names}
            growing = [name for name in names if raised[name] != allocation[name]]
            prices = {name: _price(pipeline.operator(name), allocation[name], raised[name]) for name in growing}
            if not growing:
                break
            slowest = growing[0]
            if len(growing) > 1:
                slowest = max(growing, key=lambda name: response_s(solution.operators[name]) / prices[name])
            grown = allocation.with_(slowest, raised[slowest])
            after = predict(grown)
            before_s = response_s(solution.paths[requirement.path], requirement.percent)
            after_s = response_s(after.paths[requirement.path], requirement.percent)
            if before_s - after_s < LEAST_GAIN * requirement.bound_s and after_s > requirement.bound_s:
                break
            allocation, solution = grown, after
    if not meets_all(predict(allocation), pipeline.requirements):
        return allocation
    for operator in pipeline.operators:
        if (replicas := allocation[operator.name].replicas) > operator.min_replicas:
            lower = (allocation.with_(operator.name, Resources(share, replicas)) for share in operator.shares)
            allocation = next(a for a in lower if meets_all(predict(a), pipeline.requirements))
    return allocation


def _price(operator: Operator, now: Resources, raised: Resources) -> float:
    """The price of each core that an operator would get more."""
    return (operator.cost(raised) - operator.cost(now)) / (raised.cores - now.cores)


def _upward(operator: Operator) -> list[Resources]:
    """From the least to the most, as the paper climbs: the share first."""
    steps = [operator.least]
    while (above := one_up(operator, steps[-1])) != steps[-1]:
        steps.append(above)
    return steps


def _steady(pipeline: Pipeline, predict: Predictor, steps: Callable[[Operator], Sequence[Resources]]) -> Allocation:
    """For every operator the first of its steps at which it keeps up, or the last if it never does.

    Whether it does depends on its own speed alone, if those before it keep up; they have their turn first.
    """
    allocation = Allocation.of({operator.name: operator.least for operator in pipeline.operators})
    for name in pipeline.order:
        if not _keeps_up(name, pipeline, predict, allocation):
            tried = [allocation.with_(name, resources) for resources in steps(pipeline.operator(name))]
            place = bisect_left(tried, 1, hi=len(tried) - 1, key=partial(_keeps_up, name, pipeline, predict))
            allocation = tried[place]
    return allocation


def _keeps_up(name: str, pipeline: Pipeline, predict: Predictor, allocation: Allocation) -> bool:
    """Whether an operator keeps up. Behind one that does not, a model may have no answer; then it is taken to."""
    operators = predict(allocation).operators
    queue = operators[name]
    if not isinstance(queue, Unstable):
        return True
    before = (edge.source for edge in pipeline.edges if edge.target == name and edge not in pipeline.returns)
    return not overloaded(queue.utilization) and any(isinstance(operators[source], Unstable) for source in before)


def exact_search(pipeline: Pipeline, predict: Predictor) -> Allocation:
    """The cheapest allocation that meets every requirement; where there is none, the one that comes closest.

    Allocations are tried in the order of their cost. It relies on more CPU never making a predicted response time
    longer, and so leaves out what need not be tried: levels at which an operator falls behind, or breaks a requirement
    even if all others have all they may have; and, where a path has failed, whatever gives no more to those it depends
    on. Kingman's formula breaks that where a faster operator smooths less what it sends on; then something cheaper may
    be missed. Many operators with many replicas are still too many: after ``MOST_TRIED`` it gives up with an error.
    """
    steady = _steady(pipeline, predict, lambda operator: operator.levels)
    top = _all_that_helps(pipeline, steady)
    if not meets_all(predict(top), pipeline.requirements):
        return top
    levels = {
        operator.name: [
            (operator.cost(resources), resources)
            for resources in _from(steady, operator)
            if all(meets(predict(top.with_(operator.name, resources)), r) for r in pipeline.requirements)
        ]
        for operator in pipeline.operators
        if operator.name in involved(pipeline, *pipeline.requirements)
    }
    upstream = {r: sorted(involved(pipeline, r)) for r in pipeline.requirements}
    failed: dict[Requirement, list[list[Resources]]] = {r: [] for r in pipeline.requirements}
    for choice in _by_cost(levels):
        allocation = Allocation.of({**top, **choice})
        given = {r: [allocation[name] for name in names] for r, names in upstream.items()}
        if any(_no_more(given[r], before) for r in failed for before in failed[r]):
            continue
        broken = next((r for r in pipeline.requirements if not meets(predict(allocation), r)), None)
        if broken is None:
            return allocation
        failed[broken].append(given[broken])
        if sum(map(len, failed.values())) > MOST_TRIED:
            raise ValueError(
                f"exact search has tried {MOST_TRIED} allocations of {pipeline.name} in vain; "
                f"use search: heuristic, or fewer shares and replicas"
            )
    return top


def trim(pipeline: Pipeline, predict: Predictor) -> Allocation:
    """Lower every operator in turn, from all that can help, as long as all bounds hold.

    The dearest operator comes first.

    Not always the cheapest, but it gives up nothing that can be met, and tries every level of every operator once.
    """
    steady = _steady(pipeline, predict, lambda operator: operator.levels)
    allocation = _all_that_helps(pipeline, steady)
    for operator in sorted(pipeline.operators, key=lambda o: -o.cost(o.most)):
        if operator.name in involved(pipeline, *pipeline.requirements):
            levels = (allocation.with_(operator.name, resources) for resources in _from(steady, operator))
            meeting = (a for a in levels if all(meets(predict(a), r) for r in pipeline.requirements))
            allocation = next(meeting, allocation)
    return allocation


def most_that_helps(pipeline: Pipeline, predict: Predictor) -> Allocation:
    """The allocation that helps the requirements most.

    Operators on a required path get the most, others get what they need.
    """
    return _all_that_helps(pipeline, _steady(pipeline, predict, lambda operator: operator.levels))


def _all_that_helps(pipeline: Pipeline, steady: Allocation) -> Allocation:
    helpful = involved(pipeline, *pipeline.requirements)
    return Allocation.of({o.name: o.most if o.name in helpful else _from(steady, o)[0] for o in pipeline.operators})


def _from(steady: Allocation, operator: Operator) -> list[Resources]:
    """The levels at which an operator keeps up, cheapest first."""
    least = steady[operator.name].cores - ROUNDING
    return sorted((level for level in operator.levels if level.cores >= least), key=operator.cost)


def involved(pipeline: Pipeline, *requirements: Requirement) -> set[str]:
    """The operators on the paths of these requirements, and all from which tuples get there."""
    names = {name for requirement in requirements for name in requirement.path.split(PATH_SEPARATOR)}
    while more := {edge.source for edge in pipeline.edges if edge.target in names} - names:
        names |= more
    return names


def _by_cost(levels: dict[str, list[tuple[float, Resources]]]) -> Iterator[dict[str, Resources]]:
    """All combinations of levels, the cheapest first; those of every operator are in the order of their cost."""
    names = list(levels)

    def entry(places: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        return sum(levels[name][place][0] for name, place in zip(names, places, strict=True)), places

    heap = [entry((0,) * len(names))]
    while heap:
        _, places = heappop(heap)
        yield {name: levels[name][place][1] for name, place in zip(names, places, strict=True)}
        # Raising only from the last raised place on reaches every combination once.
        last = max((i for i, place in enumerate(places) if place), default=0)
        for i in range(last, len(names)):
            if places[i] + 1 < len(levels[names[i]]):
                heappush(heap, entry((*places[:i], places[i] + 1, *places[i + 1 :])))


def _no_more(given: list[Resources], before: list[Resources]) -> bool:
    return all(a.share <= b.share and a.replicas <= b.replicas for a, b in zip(given, before, strict=True))
