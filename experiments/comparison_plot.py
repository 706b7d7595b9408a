"""A case of a comparison as a picture: how every policy answered and what share it gave, over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

from experiments.summary import Row
from mead.reports.models.fit_plot import KINGMAN, MG1, MODEL, SECONDS, STYLE


def plot_courses(title: str, rows: Sequence[Row], path: Path) -> None:
    """Draw to a file, whose ending names the format."""
    with rc_context(STYLE):
        drawn(title, rows).savefig(path, dpi=120)


def drawn(title: str, rows: Sequence[Row]) -> Figure:
    """One line of panels per policy, its first seed: response time against the bound, and share of the matcher."""
    shown = [(row, row.results[0]) for row in rows if row.results[0].course is not None]
    figure = Figure(figsize=(13.0, 0.6 + 1.35 * len(shown)), layout="constrained")
    figure.suptitle(f"{title}, seed {shown[0][1].seed}" if shown else title, x=0.01, ha="left", weight="bold", size=11)
    panels = figure.subplots(len(shown), 2, sharex=True, sharey="col", squeeze=False)
    for (response, share), (row, result) in zip(panels, shown, strict=True):
        course, bound_s = result.course, row.case.requirement.bound_s
        if course is None or result.outcome is None:
            continue
        response.semilogy(course.time_s, course.response_s, color=MODEL, lw=1.0)
        response.axhline(bound_s, color=MG1, ls="--", lw=1.0)
        response.fill_between(
            course.time_s,
            bound_s,
            course.response_s,
            where=(course.response_s > bound_s).tolist(),
            color=MG1,
            alpha=0.4,
            lw=0,
        )
        response.yaxis.set_major_formatter(SECONDS)
        verdict = result.outcome.verdicts[0]
        response.set_title(
            f"{row.label}: {verdict.response_s:.3g} s, {100 * (verdict.broken_windows or 0.0):.0f} % of windows broken"
        )
        times_s = [*course.change_s.tolist(), result.outcome.duration_s]
        shares = [*course.share.tolist(), float(course.share[-1])]
        share.step(times_s, shares, where="post", color=KINGMAN, lw=0.8)
        share.set_title(f"share: {100 * result.outcome.cpu:.1f} % CPU, {result.outcome.changes} changes")
        share.set(ylim=(0.0, None), xlim=(0.0, result.outcome.duration_s))
    for axes in panels[-1:].ravel():
        axes.set_xlabel("time in s")
    return figure
