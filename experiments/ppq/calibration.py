"""Fit the two constants of virtual time to the numbers that the authors published.

The cost of a comparison is fitted to the logs of evenly split panes, at the logged size of panes. What a comparison of
the top-delta query costs beyond that is fitted to the window workers of Tables 4 and 5, as ratios: what virtual time
gets wrong about both queries alike is not part of it. Both answer nearly in proportion, so that one step is a fit; from
the constants in use it should lead back to them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table

from experiments.ppq.fig9 import PANES_ONLY
from experiments.ppq.fig11 import EVEN, PANE_TUPLES
from experiments.ppq.measures import during_stream, mean, plain
from experiments.ppq.streams import SYNTHETIC_TUPLES, Stream, markovian
from experiments.ppq.tables import PUBLISHED
from mead.preference.control.degrees import Degrees
from mead.preference.simulator.cost import FORMULA_COMPARISON_S, SKYLINE, TOP_DELTA, CostModel, expected_sizes
from mead.preference.simulator.system import simulate
from mead.preference.windows.owner_table import Splitting
from mead.reports.tables import number, plain_table
from mead.workload import Trace

LOGGED_RATE_PER_S = 10.0 * PANE_TUPLES
"""The rate of the stream behind the logs, nominally 80,000."""

LOGGED_S = SYNTHETIC_TUPLES / LOGGED_RATE_PER_S

FITTED_WORKERS = tuple(count for count in EVEN if 2 <= count <= 12)
"""One worker is overloaded twentyfold, and what it did says more of the first seconds than of a comparison; beyond
twelve a service is so short that messages count."""

FITTED_STREAMS = ("ss6", "ss7", "map1k", "map2k")
"""Streams that do not saturate the machine, so that the number of workers shows the cost."""


@dataclass(frozen=True)
class EvenPoint:
    """Panes split evenly over some workers."""

    workers: int
    logged: float
    """Utilization in the authors' logs."""
    by_formula: float
    """Utilization by the formula, with its cost of a comparison, for panes of the mean size."""
    run: float
    """Utilization in virtual time with the cost in use, mean over the streams."""
    implied_comparison_s: float
    """The cost of a comparison with which the run would come to the logged utilization."""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``points``."""
        result: dict[str, Any] = plain(self)
        return result


@dataclass(frozen=True)
class WeightPoint:
    """Both queries on one stream."""

    stream: str
    published_ratio: float
    """Window workers of the top-delta query over those of the skyline."""
    ratio: float
    """The same ratio in virtual time, with the weight in use."""
    implied_weight: float

    def as_json(self) -> dict[str, Any]:
        """One entry of ``points``."""
        result: dict[str, Any] = plain(self)
        return result


def closed_utilization(workers: int, comparison_s: float = FORMULA_COMPARISON_S) -> float:
    """Of panes of the mean size, split evenly: ``(lambda / k) c`` times the mean of ``E|SKY(r)|`` up to ``n / k``.

    >>> [round(closed_utilization(workers), 2) for workers in (1, 2, 4, 8, 12)]
    [21.62, 6.72, 2.04, 0.6, 0.29]
    """
    sizes = expected_sizes(1 << 13)[1 : round(PANE_TUPLES / workers) + 1]
    return LOGGED_RATE_PER_S / workers * comparison_s * float(sizes.mean())


def even_points(
    seeds: Sequence[int], duration_s: float, workers: Sequence[int] = FITTED_WORKERS, cost: CostModel = SKYLINE
) -> Iterator[EvenPoint]:
    """A point for each number of workers."""
    traces = [markovian(LOGGED_RATE_PER_S, 1e3, duration_s, seed) for seed in seeds]
    for count in workers:
        found = float(np.mean([_even_utilization(trace, count, cost) for trace in traces]))
        logged = EVEN[count][1]
        yield EvenPoint(count, logged, closed_utilization(count), found, cost.comparison_s * logged / found)


def _even_utilization(trace: Trace, workers: int, cost: CostModel) -> float:
    static = replace(PANES_ONLY, elastic=False, start=Degrees(workers, 1), splitting=Splitting.EVEN, cost=cost)
    return mean(during_stream(simulate(trace, static)), lambda one: one.pane_utilization)


def weight_points(
    streams: Sequence[Stream], seeds: Sequence[int], duration_s: float | None, cost: CostModel = TOP_DELTA
) -> Iterator[WeightPoint]:
    """A point for each stream."""
    for stream in streams:
        ratios = []
        for seed in seeds:
            trace = stream.make(duration_s or stream.published_s, seed)
            top_delta, skyline = (_window_workers(trace, stream, one) for one in (cost, SKYLINE))
            ratios.append(top_delta / skyline)
        ratio = float(np.mean(ratios))
        of = {query: rows[stream.name].window_workers for query, rows in PUBLISHED.items()}
        published = of["top-delta"] / of["skyline"]
        yield WeightPoint(stream.name, published, ratio, cost.weight * published / ratio)


def _window_workers(trace: Trace, stream: Stream, cost: CostModel) -> float:
    return mean(during_stream(simulate(trace, stream.setting(cost))), lambda one: one.degrees.windows)


def fitted(implied: Sequence[float]) -> float:
    """The value with which the logarithms of ours and the published ones are nearest: the geometric mean.

    >>> round(fitted([1.0, 4.0]), 9)
    2.0
    """
    return float(np.exp(np.mean(np.log(implied))))


def even_parts(points: Sequence[EvenPoint]) -> Iterator[Table | str]:
    """The implied cost for each number of workers, and the fit."""
    table = plain_table(
        "Utilization of evenly split panes, and the cost of a comparison that the logs imply",
        "workers", "logs", f"formula, c = {_us(FORMULA_COMPARISON_S)} us", f"runs, c = {_us(SKYLINE.comparison_s)} us",
        "implied, us",
    )  # fmt: skip
    for one in points:
        values = (one.logged, one.by_formula, one.run)
        table.add_row(str(one.workers), *map(number, values), _us(one.implied_comparison_s))
    yield table
    c = fitted([one.implied_comparison_s for one in points])
    yield f"The fit is c = {_us(c)} us; in use is {_us(SKYLINE.comparison_s)} us."


def weight_parts(points: Sequence[WeightPoint]) -> Iterator[Table | str]:
    """The implied weight for each stream, and the fit."""
    table = plain_table(
        "Window workers of the top-delta query over those of the skyline, and the weight of a comparison implied",
        "stream", "paper", f"runs, weight {TOP_DELTA.weight:g}", "implied",
    )  # fmt: skip
    for one in points:
        table.add_row(one.stream, *(f"{value:.3f}" for value in (one.published_ratio, one.ratio, one.implied_weight)))
    yield table
    weight = fitted([one.implied_weight for one in points])
    yield f"The fit is a weight of {weight:.3f}; in use is {TOP_DELTA.weight:g}."


def _us(seconds: float) -> str:
    return f"{1e6 * seconds:.3f}"
