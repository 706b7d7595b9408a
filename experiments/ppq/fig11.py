"""Fig. 11 of the Elastic-PPQ paper: why panes are not always split evenly over all workers.

The smaller the partitions, the more of their tuples reach the window stage. The filter ratio is measured on real tuples
through the real kernel, and held against the formula for the size of a skyline. Virtual time draws no tuples and takes
sizes from that formula. Its ratio shows only what uneven panes do to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
from rich.table import Table

from experiments.ppq.fig9 import PANES_ONLY
from experiments.ppq.measures import WARM_UP_INTERVALS, during_stream, mean, plain
from experiments.ppq.streams import markovian
from mead.preference.control.degrees import Degrees
from mead.preference.kernels.skyline import skyline
from mead.preference.simulator.cost import expected_sizes
from mead.preference.simulator.system import simulate
from mead.preference.windows.owner_table import Splitting
from mead.reports.tables import number, number_or_nothing, plain_table

PANE_TUPLES = 7868
"""The mean of the authors' runs."""

REAL_PANES = 40
"""Panes of real tuples: enough that the mean of their skylines is known to a percent."""

EVEN = {
    1: (2195.5, 20.39), 2: (2788.8, 6.27), 3: (3172.0, 3.32), 4: (3457.7, 2.03), 5: (3687.4, 1.40), 6: (3874.1, 1.01),
    7: (4036.6, 0.754), 8: (4176.4, 0.595), 10: (4415.8, 0.404), 12: (4607.2, 0.296), 16: (4911.4, 0.182),
    20: (5145.9, 0.122),
}  # fmt: skip
"""The authors' logs: workers to results per pane and utilization."""

BY_PID = {
    1: (1.0, 20.46), 2: (1.99, 6.65), 4: (3.96, 2.18), 6: (5.93, 1.125), 7: (5.79, 0.975), 8: (5.19, 0.958),
    10: (4.32, 0.932), 12: (3.82, 0.909), 16: (3.25, 0.957), 20: (3.19, 0.952),
}  # fmt: skip
"""The authors' logs: workers to splitting factor and utilization."""


@dataclass(frozen=True)
class SplitPoint:
    """One number of workers."""

    workers: int
    real_ratio: float
    """Results over tuples, of a pane that is split evenly: of real tuples, in panes of the mean size of the logs."""
    formula_ratio: float
    """The same ratio by the formula."""
    logged_ratio: float
    even_ratio: float
    """The same ratio in the virtual run, whose sizes are those of the formula, summed over panes of all sizes."""
    even_utilization: float
    logged_even_utilization: float
    pid_splitting: float
    pid_ratio: float
    pid_utilization: float
    logged_splitting: float | None
    logged_utilization: float | None

    def as_json(self) -> dict[str, Any]:
        """One entry of ``points``."""
        result: dict[str, Any] = plain(self)
        return result


def points(seed: int, duration_s: float, workers: Sequence[int]) -> Iterator[SplitPoint]:
    """Static runs, evenly split and by the PID."""
    trace = markovian(80e3, 1e3, duration_s, seed)
    panes = [1000.0 * np.random.default_rng([seed, 3, place]).random((PANE_TUPLES, 8)) for place in range(REAL_PANES)]
    for count in workers:
        static = replace(PANES_ONLY, elastic=False, start=Degrees(count, 1))
        even = simulate(trace, replace(static, splitting=Splitting.EVEN))
        by_pid = simulate(trace, static)
        steady = during_stream(by_pid, WARM_UP_INTERVALS)
        logged_splitting, logged_utilization = BY_PID.get(count, (None, None))
        real = np.mean([sum(skyline(pane[part::count].copy()).size for part in range(count)) for pane in panes])
        yield SplitPoint(
            count,
            float(real) / PANE_TUPLES,
            formula_ratio(count),
            EVEN[count][0] / PANE_TUPLES,
            even.results_per_pane / even.tuples_per_pane,
            mean(during_stream(even), lambda one: one.pane_utilization),
            EVEN[count][1],
            mean(steady, lambda one: one.splitting),
            by_pid.results_per_pane / by_pid.tuples_per_pane,
            mean(steady, lambda one: one.pane_utilization),
            logged_splitting,
            logged_utilization,
        )


def fig11_parts(done: Sequence[SplitPoint]) -> Iterator[Table | str]:
    """Both halves of the figure, and what follows."""
    even = plain_table(
        "Fig. 11, left: panes split evenly (authors' logs in parentheses)",
        "workers", "filter ratio of real tuples, %", "formula", "virtual run", "utilization",
    )  # fmt: skip
    by_pid = plain_table(
        "Fig. 11, right: panes split by the PID (authors' logs in parentheses)",
        "workers", "splitting", "filter ratio, %", "utilization",
    )  # fmt: skip
    for point in done:
        even.add_row(
            str(point.workers),
            f"{100 * point.real_ratio:.1f} ({100 * point.logged_ratio:.1f})",
            f"{100 * point.formula_ratio:.1f}",
            f"{100 * point.even_ratio:.1f}",
            f"{number(point.even_utilization)} ({number(point.logged_even_utilization)})",
        )
        by_pid.add_row(
            str(point.workers),
            f"{number(point.pid_splitting)} ({number_or_nothing(point.logged_splitting)})",
            f"{100 * point.pid_ratio:.1f}",
            f"{number(point.pid_utilization)} ({number_or_nothing(point.logged_utilization)})",
        )
    yield even
    yield by_pid
    off, logged = (
        max(abs(point.real_ratio / ratio(point) - 1) for point in done)
        for ratio in (attrgetter("formula_ratio"), attrgetter("logged_ratio"))
    )
    yield (
        f"Of real tuples, {100 * done[0].real_ratio:.1f} % to {100 * done[-1].real_ratio:.1f} % reach the window "
        f"stage: within {100 * off:.1f} % of the formula and {100 * logged:.1f} % of the logs."
    )
    fewer = [point.workers for point in done if point.pid_splitting < point.workers - 0.5]
    yield (
        f"The PID splits less than it could from {min(fewer)} workers on (the paper: from 7 on)."
        if fewer
        else "The PID splits as much as it can with every number of workers here (the paper: up to 6)."
    )


def formula_ratio(workers: int, tuples: float = PANE_TUPLES) -> float:
    """``k E|SKY(n / k)| / n``.

    >>> [round(formula_ratio(workers), 3) for workers in (1, 12)]
    [0.284, 0.595]
    """
    return workers * float(expected_sizes(1 << 16)[round(tuples / workers)]) / tuples
