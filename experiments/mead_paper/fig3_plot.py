"""Fig. 3 as a picture: one panel per trace, models as lines, what was measured as points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from experiments.mead_paper.fig3 import Curve
from mead.reports.models.plots import KINGMAN, MG1, MODEL, SECONDS, STYLE, TRACE


def plot_curves(curves: Sequence[Curve], path: Path) -> None:
    """Draw to a file, whose ending names the format."""
    with rc_context(STYLE):
        drawn(curves).savefig(path, dpi=150)


def drawn(curves: Sequence[Curve]) -> Figure:
    """Mean response over utilization, on a logarithmic axis."""
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
        fitted = [(point.utilization, point.map_s) for point in one.points if point.map_s is not None]
        axes.plot([u for u, _ in fitted], [s for _, s in fitted], color=MODEL, label="MAP/PH/1")
    panels[0].legend(loc="upper left")
    return figure
