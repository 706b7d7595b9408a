"""Plot a simulated run: response times with their bounds, and the cores of every operator, over time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mead.arrays import FloatArray
from mead.reports.models.plots import SECONDS, STYLE
from mead.simulator import Responses, SimulatedRun

MOST_POINTS = 1800
"""Most bins of the time axis; a bin is one second or longer."""

# Okabe and Ito's palette, as in the plots of fits.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")


def plot_run(run: SimulatedRun, path: Path) -> None:
    """Draw to a file; its ending sets the format."""
    with rc_context(STYLE):
        draw_run(run).savefig(path, dpi=150)


def draw_run(run: SimulatedRun) -> Figure:
    """One panel per path that has a requirement (all paths if none has), and one for the cores."""
    asked = {requirement.path: None for requirement in run.pipeline.requirements}
    paths = list(asked) or list(run.pipeline.paths)
    figure = Figure(figsize=(11.0, 2.6 * (len(paths) + 1)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(len(paths) + 1, 1, sharex=True))
    figure.suptitle(f"{run.pipeline.name} under {run.policy}", x=0.01, ha="left", weight="bold", size=11)
    for axes, path in zip(panels, paths, strict=False):
        _draw_responses(axes, run, path)
    _draw_cores(panels[-1], run)
    return figure


def _draw_responses(axes: Axes, run: SimulatedRun, path: str) -> None:
    width_s = max(1.0, run.duration_s / MOST_POINTS)
    time_s, mean_s, p95_s = by_arrival(run.simulation.responses(path), run.duration_s, width_s)
    axes.set_title(f"Response time on {path}, by arrival in bins of {width_s:g} s")
    axes.plot(time_s, p95_s, color=COLOURS[5], lw=0.8, label="p95")
    axes.plot(time_s, mean_s, color=COLOURS[0], lw=1.2, label="mean")
    for requirement, style in zip(
        (r for r in run.pipeline.requirements if r.path == path), ("--", "-.", ":", "-") * 9, strict=False
    ):
        label = f"bound of the {requirement.statistic}"
        axes.axhline(requirement.bound_s, color=COLOURS[1], ls=style, lw=1.2, label=label)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(SECONDS)
    axes.legend(ncols=4)


def by_arrival(responses: Responses, duration_s: float, width_s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Starts of the bins of arrivals, with mean and p95 of the tuples in each; empty bins are left out."""
    order = np.argsort(responses.arrival_s, kind="stable")
    arrival_s, response_s = responses.arrival_s[order], responses.response_s[order]
    starts_s = np.arange(0.0, duration_s + width_s, width_s)
    bounds = np.searchsorted(arrival_s, starts_s)
    parts = [response_s[i:j] for i, j in pairwise(bounds)]
    some = [k for k, part in enumerate(parts) if part.size]
    means_s = np.array([parts[k].mean() for k in some])
    return starts_s[some], means_s, np.array([np.percentile(parts[k], 95) for k in some])


def _draw_cores(axes: Axes, run: SimulatedRun) -> None:
    timeline = run.simulation.timeline
    axes.set_title("CPU cores of every operator")
    for place, operator in enumerate(run.pipeline.operators):
        cores = [allocation[operator.name].cores for allocation in timeline.allocations]
        axes.step(
            [*timeline.times_s, max(run.duration_s, timeline.times_s[-1])],
            [*cores, cores[-1]],
            where="post",
            color=COLOURS[place % len(COLOURS)],
            lw=max(1.0, 4.6 - 1.6 * place),  # lines of equal levels overlap; all must be visible
            label=operator.name,
        )
    axes.set(xlabel="time in s", xlim=(0.0, run.duration_s or 1.0))
    axes.set_ylim(bottom=0.0)
    axes.legend(ncols=4)
