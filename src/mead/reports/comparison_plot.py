"""Draw a comparison of policies: response time and cores over time, one row of panels per policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from mead.reports.comparison import Course
from mead.reports.judge import Outcome
from mead.reports.models.plots import KINGMAN, MG1, MODEL, SECONDS, STYLE


class Panel(NamedTuple):
    """One run of one policy."""

    policy: str
    outcome: Outcome
    course: Course


def plot_comparison(title: str, panels: Sequence[Panel], path: Path) -> None:
    """Draw to a file. The ending of its name chooses the format."""
    with rc_context(STYLE):
        comparison_figure(title, panels).savefig(path, dpi=120)


def comparison_figure(title: str, panels: Sequence[Panel]) -> Figure:
    """Response time beside the first bound on the left, cores of all operators on the right."""
    figure = Figure(figsize=(13.0, 0.6 + 1.35 * len(panels)), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", weight="bold", size=11)
    grid = figure.subplots(len(panels), 2, sharex=True, sharey="col", squeeze=False)
    for (left, right), (policy, outcome, course) in zip(grid, panels, strict=True):
        verdict = outcome.verdicts[0]
        bound_s = verdict.requirement.bound_s
        left.semilogy(course.time_s, course.response_s, color=MODEL, lw=1.0)
        left.axhline(bound_s, color=MG1, ls="--", lw=1.0)
        left.fill_between(course.time_s, bound_s, np.maximum(course.response_s, bound_s), color=MG1, alpha=0.4, lw=0)
        left.yaxis.set_major_formatter(SECONDS)
        left.set_title(
            f"{policy}: {verdict.response_s or 0:.3g} s, {verdict.broken_windows or 0:.0%} of windows broken"
        )
        times_s = [*course.change_s.tolist(), outcome.duration_s]
        cores = [*course.cores.tolist(), float(course.cores[-1])]
        right.step(times_s, cores, where="post", color=KINGMAN, lw=0.8)
        right.set_title(f"cores: {100 * outcome.cpu:.1f} % CPU per operator, {outcome.changes} changes")
        right.set(ylim=(0.0, None), xlim=(0.0, outcome.duration_s))
    for axes in grid[-1:].ravel():
        axes.set_xlabel("time in s")
    return figure
