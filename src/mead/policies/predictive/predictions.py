"""Predicted response times: of several models the worst, of several operators the sum."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from mead.queueing import PH, NetworkSolution, Part, QueueSolution, ResponseTime, Unstable, check_percent, overloaded
from mead.values import Allocation, Prediction, Requirement


class LazySolutions(Mapping[str, QueueSolution]):
    """Solutions by name, each computed once and only if it is used.

    A search needs the paths that have a requirement; solving the others too would cost as much again.
    """

    def __init__(self, names: Iterable[str], solve: Callable[[str], QueueSolution]) -> None:
        self._names, self._solve = tuple(names), solve
        self._known: dict[str, QueueSolution] = {}

    def __getitem__(self, name: str) -> QueueSolution:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._known:
            self._known[name] = self._solve(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def known(self) -> Mapping[str, QueueSolution]:
        """The solutions computed so far."""
        return self._known


@dataclass(frozen=True, eq=False)
class WorstResponse:
    """The longest of several response times, statistic by statistic, each computed once."""

    each: tuple[ResponseTime, ...]
    _percentiles_s: dict[float, float] = field(default_factory=dict, repr=False)

    @cached_property
    def utilization(self) -> float:
        """The highest utilization."""
        return max(one.utilization for one in self.each)

    @cached_property
    def mean_s(self) -> float:
        """The longest mean."""
        return max(one.mean_s for one in self.each)

    def percentile_s(self, percent: float) -> float:
        """The longest percentile."""
        if percent not in self._percentiles_s:
            self._percentiles_s[percent] = max(one.percentile_s(percent) for one in self.each)
        return self._percentiles_s[percent]


@dataclass(frozen=True, eq=False)
class SumOfResponses:
    """The total time at several operators, if a tuple that is late at one of them is late at all.

    The mean is exact in any case. A percentile is the sum of the percentiles, which is too long if tuples are late at
    different operators.
    """

    each: tuple[ResponseTime, ...]

    @cached_property
    def utilization(self) -> float:
        """Utilization of the busiest operator."""
        return max(one.utilization for one in self.each)

    @cached_property
    def mean_s(self) -> float:
        """Mean response time."""
        return sum(one.mean_s for one in self.each)

    def percentile_s(self, percent: float) -> float:
        """No less than the response time that ``percent`` of the tuples do not exceed."""
        return sum(one.percentile_s(percent) for one in self.each)


@dataclass(frozen=True, eq=False)
class LongerService:
    """A response time that was found for faster servers than those that serve a tuple."""

    found: ResponseTime
    extra_s: float
    """Mean extra time of the true services."""
    services: tuple[PH, ...]
    """The true services. No percentile of the response is below that of one of them."""

    @property
    def utilization(self) -> float:
        """Utilization of the busiest operator."""
        return self.found.utilization

    @property
    def mean_s(self) -> float:
        """Mean response time."""
        return self.found.mean_s + self.extra_s

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed, if every tuple takes ``extra_s`` longer."""
        late = check_percent(percent)
        longest_s = max(Part.of_service(service).quantile_s(late) for service in self.services)
        return max(self.found.percentile_s(percent) + self.extra_s, longest_s)


def worst_response(solutions: Sequence[QueueSolution]) -> QueueSolution:
    """The worst of several answers about one queue; overload is worse than any number."""
    stable = tuple(s for s in solutions if not isinstance(s, Unstable))
    if len(stable) < len(solutions):
        return Unstable(max(s.utilization for s in solutions))
    return WorstResponse(stable)


def sum_of(solutions: Sequence[QueueSolution]) -> QueueSolution:
    """The time at several operators in a row; one that is overloaded makes the path so."""
    stable = tuple(s for s in solutions if not isinstance(s, Unstable))
    if len(stable) < len(solutions):
        return Unstable(max(s.utilization for s in solutions))
    return stable[0] if len(stable) == 1 else SumOfResponses(stable)


def worst_solution(solutions: Sequence[NetworkSolution]) -> NetworkSolution:
    """The worst of several answers about one network, operator by operator and path by path."""
    first = solutions[0]
    return NetworkSolution(
        LazySolutions(first.operators, lambda name: worst_response([s.operators[name] for s in solutions])),
        LazySolutions(first.paths, lambda path: worst_response([s.paths[path] for s in solutions])),
    )


def response_s(solution: QueueSolution, percent: float | None = None) -> float:
    """Mean or percentile, infinite for an overloaded queue: for comparisons, not for reports."""
    if isinstance(solution, Unstable):
        return inf
    return solution.mean_s if percent is None else solution.percentile_s(percent)


def mean_s(solution: QueueSolution) -> float | None:
    """The mean response time, or None of an overloaded queue."""
    return None if isinstance(solution, Unstable) else solution.mean_s


def meets(solution: NetworkSolution, requirement: Requirement) -> bool:
    """Whether a prediction meets a requirement."""
    return response_s(solution.paths[requirement.path], requirement.percent) <= requirement.bound_s


def overloads(solution: NetworkSolution) -> dict[str, float]:
    """The operators that cannot keep up, with their utilizations.

    Behind such an operator, a model may have no response time for others either. Those keep up, and are left out.
    """
    unstable = {name: queue for name, queue in solution.operators.items() if isinstance(queue, Unstable)}
    busy = {name: queue.utilization for name, queue in unstable.items() if overloaded(queue.utilization)}
    return busy or {name: queue.utilization for name, queue in unstable.items()}


def meets_all(solution: NetworkSolution, requirements: Iterable[Requirement]) -> bool:
    """Whether a prediction meets every requirement, and every operator keeps up, on whatever path."""
    return all(meets(solution, requirement) for requirement in requirements) and not overloads(solution)


def predictions(solution: NetworkSolution) -> dict[str, Prediction]:
    """By path, the prediction that a plan reports."""
    return {path: _prediction(queue) for path, queue in solution.paths.items()}


def _prediction(queue: QueueSolution) -> Prediction:
    if isinstance(queue, Unstable):
        return Prediction(None, None, stable=False)
    return Prediction(queue.mean_s, queue.percentile_s(95))


def memoize(
    predict: Callable[[Allocation], NetworkSolution], known: dict[Allocation, NetworkSolution] | None = None
) -> Callable[[Allocation], NetworkSolution]:
    """A predictor that solves no allocation twice. ``known`` holds its solutions."""
    known = {} if known is None else known

    def predict_once(allocation: Allocation) -> NetworkSolution:
        if allocation not in known:
            known[allocation] = predict(allocation)
        return known[allocation]

    return predict_once
