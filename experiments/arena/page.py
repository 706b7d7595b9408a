"""The arena as one HTML file: the leaderboard, a picture of it, and the boards of all workloads."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from io import StringIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from experiments.arena.board import Bounds, Standing, WorkloadBoard
from experiments.arena.report import COLUMNS, NOTE, cells, workload_cells
from mead.reports.models.plots import STYLE
from mead.reports.pages import html_table
from mead.reports.runs.run_plot import COLOURS

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }}
figure {{ background: white; margin: 1rem 0; overflow-x: auto; }} svg {{ height: auto; max-width: 100%; }}
div {{ overflow-x: auto; }} table {{ border-collapse: collapse; }} caption {{ font-weight: bold; text-align: left; }}
th, td {{ border-bottom: 1px solid #8886; padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }}
.no {{ color: #d55e00; font-weight: bold; }}
</style></head><body><h1>{title}</h1>
{parts}
</body></html>
"""


def arena_page(
    standings: Sequence[Standing], workloads: Sequence[WorkloadBoard], bounds: Bounds, titles: Sequence[str]
) -> str:
    """The whole page. ``titles`` say what was run."""
    parts = [
        *(f"<p>{escape(title)}</p>" for title in titles),
        _board("Leaderboard", standings),
        f"<p>{escape(NOTE)}</p>",
        f"<figure>{_picture(standings)}</figure>",
        html_table(
            "First by workload",
            ["workload", "bound, cores", "first", *COLUMNS[:2], ""],
            [workload_cells(one, bounds) for one in workloads],
        ),
        *(_board(one.workload, one.standings) for one in workloads),
    ]
    return PAGE.format(title="The arena", parts="\n".join(parts))


def _board(title: str, standings: Sequence[Standing]) -> str:
    rows = [[str(one.rank), one.policy, "yes" if one.dependable else "NO", *cells(one)] for one in standings]
    return html_table(title, ["", "policy", "dependable", *COLUMNS], rows)


def _picture(standings: Sequence[Standing]) -> str:
    """Requirements met over cores; the upper left corner is best."""
    with rc_context(STYLE | {"svg.fonttype": "none", "text.parse_math": False, "svg.hashsalt": "arena"}):
        figure = Figure(figsize=(10.0, 4.5), layout="constrained")
        axes = figure.subplots()
        for one in standings:
            met = 100 * one.met / max(one.possible, 1)
            axes.plot(one.cores, met, "o", color=COLOURS[0] if one.dependable else COLOURS[1])
            axes.annotate(one.policy, (one.cores, met), xytext=(5, 4), textcoords="offset points")
        axes.set(xlabel="cores of the matcher", ylabel="met, % of all met by any", ylim=(-5, 108), xlim=(0, None))
        drawn = StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]
