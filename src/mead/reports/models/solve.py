"""Response times of operators and paths for a case from a file, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from mead.config.solve_case import ArrivalKeys, OperatorKeys, SolveCase
from mead.keys import ConfigError
from mead.queueing import (
    MAP,
    MAP_MODEL,
    MODELS,
    PATH_SEPARATOR,
    PH,
    Arrivals,
    Edge,
    Network,
    NetworkSolution,
    Operator,
    QueueSolution,
    Unstable,
    independent_path,
    solve_each,
    solve_network,
)
from mead.reports.tables import TimeUnit, number, plain_table


@dataclass(frozen=True)
class QueueTimes:
    """Utilization and response times of one operator or path; an overloaded one has no response times."""

    utilization: float
    times_s: tuple[float, ...]
    """The mean, then the percentiles."""

    @property
    def stable(self) -> bool:
        """Whether it is not overloaded."""
        return bool(self.times_s)


@dataclass(frozen=True)
class Answer:
    """The answer of ``mead solve``, by operator and by path such as ``parser>matcher``."""

    model: str
    rate_per_s: float
    percents: tuple[float, ...]
    operators: Mapping[str, QueueTimes]
    paths: Mapping[str, QueueTimes]

    def as_json(self) -> dict[str, Any]:
        """The document of the reference page."""
        return {
            "operators": {name: self._entry(figures) for name, figures in self.operators.items()},
            "paths": {name: self._entry(figures) for name, figures in self.paths.items()},
        }

    def _entry(self, figures: QueueTimes) -> dict[str, Any]:
        state = {"stable": figures.stable, "utilization": figures.utilization}
        if not figures.stable:
            return state
        labels = [f"{percent:.12g}" for percent in self.percents]
        return state | {
            "mean_response_s": figures.times_s[0],
            "percentiles_s": dict(zip(labels, figures.times_s[1:], strict=True)),
        }


def solve_case(case: SolveCase) -> Answer:
    """Solve a case. An error of a model becomes a ConfigError that names the key.

    >>> mm1 = {"name": "a", "mean_service_s": 1.0, "service": {"type": "erlang", "phases": 1}}
    >>> case = SolveCase(arrival={"rate_per_s": 0.5, "scv": 1.0}, operators=(mm1,), percentiles=(95.0,))
    >>> [round(time_s, 6) for time_s in solve_case(case).operators["a"].times_s]
    [2.0, 5.991465]
    """
    with _errors_at("arrival"):
        arrivals = arrivals_of(case.arrival)
    operators = []
    for index, keys in enumerate(case.operators):
        with _errors_at(f"operators[{index}].service"):
            service = service_of(keys)
        with _errors_at(f"operators[{index}]"):
            operators.append(Operator(keys.name, service, keys.servers))
    with _errors_at("operators"):
        Network(operators)
    with _errors_at("edges"):
        network = Network(operators, [Edge(*edge) for edge in case.edges])
    with _errors_at("model"):
        solution = _solution(network, arrivals, case)
        return Answer(
            model=case.model,
            rate_per_s=arrivals.rate_per_s,
            percents=case.percentiles,
            operators={name: _figures(queue, case.percentiles) for name, queue in solution.operators.items()},
            paths={name: _figures(queue, case.percentiles) for name, queue in solution.paths.items()},
        )


def _solution(network: Network, arrivals: MAP, case: SolveCase) -> NetworkSolution:
    if case.model == MAP_MODEL or case.arrival.scv is None:
        return solve_network(network, arrivals, case.model)
    # A MAP with few phases cannot be very regular. Models of rate and SCV get the given SCV instead.
    source = Arrivals(arrivals.rate_per_s, case.arrival.scv)
    operators = solve_each(network, source, MODELS[case.model])
    paths = {PATH_SEPARATOR.join(path): independent_path([operators[name] for name in path]) for path in network.paths}
    return NetworkSolution(operators, paths)


def arrivals_of(keys: ArrivalKeys) -> MAP:
    """The given MAP, or a renewal process with the given rate and SCV."""
    if keys.D0 is not None and keys.D1 is not None:
        return MAP(keys.D0, keys.D1)
    if keys.rate_per_s is None or keys.scv is None:
        raise AssertionError("the file was checked to have one of the two forms")
    iat = PH.with_moments(1 / keys.rate_per_s, keys.scv)
    return MAP.renewal(iat)


def service_of(keys: OperatorKeys) -> PH:
    """The service time of one tuple at the operator's share."""
    if keys.service.alpha is not None and keys.service.T is not None:
        shape = PH(keys.service.alpha, keys.service.T)
    else:
        shape = PH.erlang(keys.service.phases or 2, 1.0)
    mean_s = shape.mean_s if keys.mean_service_s is None else keys.mean_service_s
    return shape.scaled(mean_s / shape.mean_s / keys.share)


@contextmanager
def _errors_at(key: str) -> Iterator[None]:
    """Turn errors of the models and of the arithmetic into a ConfigError at this key."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError) as error:
        raise ConfigError(f"{key}: the numbers are too far apart to compute with; check the units") from error
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{key}: {error}") from error


def _figures(solution: QueueSolution, percents: tuple[float, ...]) -> QueueTimes:
    if isinstance(solution, Unstable):
        return QueueTimes(solution.utilization, ())
    times_s = (solution.mean_s, *(solution.percentile_s(percent) for percent in percents))
    if not all(isfinite(value) and value >= 0 for value in (solution.utilization, *times_s)):
        raise OverflowError  # only rounding errors are left
    return QueueTimes(solution.utilization, times_s)


def solution_table(answer: Answer) -> Table:
    """Utilization, and mean and percentiles of the response time, by operator and by path."""
    both = (*answer.operators.items(), *answer.paths.items())
    unit = TimeUnit.of(time_s for _, figures in both for time_s in figures.times_s)
    title = f"Response time in {unit.name} (model {answer.model}, {number(answer.rate_per_s)} tuples/s)"
    table = plain_table(title, "operator", "utilization", "mean", *(f"p{percent:.12g}" for percent in answer.percents))
    for name, figures in answer.operators.items():
        table.add_row(Text(name), *_solution_cells(figures, unit))
    table.add_section()
    for name, figures in answer.paths.items():
        table.add_row(Text(f"path {name}"), *_solution_cells(figures, unit))
    return table


def _solution_cells(figures: QueueTimes, unit: TimeUnit) -> list[Text]:
    if not figures.stable:
        return [Text(cell, style="bold red") for cell in (number(figures.utilization), "overloaded")]
    return [Text(number(figures.utilization)), *(Text(unit.show(time_s)) for time_s in figures.times_s)]
