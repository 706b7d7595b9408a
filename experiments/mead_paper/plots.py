"""The figures of the MEAD paper as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from experiments.comparison import PROBABILITIES
from experiments.mead_paper.fig3 import Curve
from experiments.mead_paper.traces import LAGS, TraceCourse
from mead.arrays import FloatArray
from mead.reports.models.plots import KINGMAN, MG1, MODEL, SECONDS, STYLE, TRACE
from mead.values import Requirement


def plot_curves(curves: Sequence[Curve], path: Path) -> None:
    """Draw to a file, whose ending names the format."""
    with rc_context(STYLE):
        curves_figure(curves).savefig(path, dpi=150)


def curves_figure(curves: Sequence[Curve]) -> Figure:
    """Fig. 3: mean response over utilization, models as lines and measured times as points, one panel per trace."""
    figure = Figure(figsize=(4.6 * len(curves), 3.6), layout="constrained")
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    for axes, one in zip(panels, curves, strict=True):
        axes.set_title(one.workload.title)
        axes.set(xlabel="utilization", yscale="log")
        axes.yaxis.set_major_formatter(SECONDS)
        utilizations = [point.utilization for point in one.points]
        axes.plot(utilizations, [point.measured_s for point in one.points], "o", color=TRACE, label="simulated")
        axes.plot(utilizations, [point.mg1_s for point in one.points], "-.", color=MG1, label="M/PH/1")
        axes.plot(utilizations, [point.kingman_s for point in one.points], ":", color=KINGMAN, label="Kingman")
        for style, model, label in (("-", "kpc", "MAP/PH/1"), ("--", "map", "MAP/PH/1, calibrated")):
            fitted = [(point.utilization, getattr(point, f"{model}_s")) for point in one.points]
            known = [(utilization, mean_s) for utilization, mean_s in fitted if mean_s is not None]
            axes.plot([u for u, _ in known], [s for _, s in known], style, color=MODEL, label=label)
    panels[0].legend(loc="upper left")
    return figure


def plot_distributions(title: str, quantiles_s: Mapping[str, FloatArray], required: Requirement, path: Path) -> None:
    """Draw Fig. 10 to a file."""
    with rc_context(STYLE):
        distribution_figure(title, quantiles_s, required).savefig(path, dpi=150)


def distribution_figure(title: str, quantiles_s: Mapping[str, FloatArray], required: Requirement) -> Figure:
    """Fig. 10: the part of the tuples that have left after some time, one line per policy, and the bound."""
    figure = Figure(figsize=(7.5, 4.2), layout="constrained")
    axes = figure.subplots()
    figure.suptitle(title, x=0.01, ha="left", size=9)
    for (label, times_s), style in zip(quantiles_s.items(), cycle(("-", "--", "-.", ":")), strict=False):
        axes.plot(times_s, PROBABILITIES, style, label=label)
    axes.axvline(required.bound_s, color=TRACE, lw=0.8)
    if required.percent is not None:
        axes.axhline(required.percent / 100, color=TRACE, lw=0.8)
    axes.set(xlabel="response time", ylabel="part of the tuples", xscale="log", ylim=(0.0, 1.0))
    axes.xaxis.set_major_formatter(SECONDS)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def plot_traces(courses: Sequence[TraceCourse], path: Path) -> None:
    """Draw Figs. 2, 6 and 7 to a file."""
    with rc_context(STYLE):
        traces_figure(courses).savefig(path, dpi=150)


def traces_figure(courses: Sequence[TraceCourse]) -> Figure:
    """Figs. 2, 6 and 7: arrival rate over time on the left, autocorrelation of the IATs on the right."""
    figure = Figure(figsize=(11.0, 2.2 * len(courses)), layout="constrained")
    grid = figure.subplots(len(courses), 2, sharey="col", squeeze=False, width_ratios=(2, 1))
    for (left, right), one in zip(grid, courses, strict=True):
        left.plot(one.time_s, one.rate_per_s, color=MODEL, lw=0.8)
        left.set_title(one.title)
        left.set(ylim=(0.0, None), ylabel="tuples/s")
        right.plot(LAGS[: len(one.acf)], one.acf, color=MODEL)
        right.axhline(0.0, color=TRACE, lw=0.8)
        right.set(xscale="log", title=f"autocorrelation, SCV {one.scv:.2f}")
    grid[-1, 0].set_xlabel("time in s")
    grid[-1, 1].set_xlabel("lag")
    return figure
