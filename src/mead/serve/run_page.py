"""One live run as one HTML file: pictures, figures and decisions, readable without a network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from io import StringIO
from itertools import pairwise

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mead.evaluate.fit_plot import STYLE
from mead.evaluate.live_report import NOT_MEASURED, PERCENTS, LiveReport
from mead.evaluate.run_plot import COLOURS
from mead.evaluate.tables import NOTHING, number
from mead.knowledge.round import Round
from mead.live import LiveResult

MOST_DECISIONS = 500
"""The last so many changes are listed; all of them are in the history."""

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


def run_page(report: LiveReport, notes: Sequence[str] = ()) -> str:
    """The whole page. ``notes`` are sentences that stand at the top."""
    result = report.result
    parts = [
        *(f"<p>{escape(note)}</p>" for note in notes),
        *_tables(report),
        f"<figure>{_picture(result)}</figure>",
        _decisions(result),
    ]
    return PAGE.format(title=escape(f"{result.pipeline.name} under {result.policy}"), parts="\n".join(parts))


def _tables(report: LiveReport) -> Iterator[str]:
    result = report.result
    yield html_table(
        "Response time in s",
        ["path", "mean", *(f"p{percent:g}" for percent in PERCENTS), "tuples"],
        [
            [path, _shown(one.mean_s), *(_shown(one.percentile_s(p)) for p in PERCENTS), f"{one.total:,.0f}"]
            for path, one in result.responses.items()
        ],
    )
    yield html_table(
        "Requirements",
        ["required", "measured", "met", "broken windows"],
        [
            [str(v.requirement), f"{_shown(v.response_s)} s", "yes" if v.met else "NO", f"{v.broken_windows:.1%}"]
            for v in report.verdicts
        ],
    )
    yield html_table(
        "CPU cores, time average",
        ["", "given", "used", "throttled"],
        [
            *(
                [name, *(f"{cores:.3f}" for cores in (given, *report.used[name]))]
                for name, given in result.cores.items()
            ),
            ["mean of the operators", f"{result.mean_cores:.3f}", "", ""],
            *([who, "", _cores(cores), ""] for who, cores in report.own_load.items()),
        ],
    )


def _decisions(result: LiveResult) -> str:
    rows = []
    whole = result.total_rounds == len(result.rounds)
    before = result.start if whole else result.rounds[0].in_force
    for this in result.rounds:
        if this.plan and this.plan.allocation != before:
            before = this.plan.allocation
            rows.append([f"{this.time_s:.0f}", str(before), this.plan.reason])
    seen = "Changes" if whole else f"Changes in the last {len(result.rounds):,} rounds"
    title = f"{seen}: {len(rows)}" + (f", the last {MOST_DECISIONS}" if len(rows) > MOST_DECISIONS else "")
    return html_table(title, ["s", "allocation", "why"], rows[-MOST_DECISIONS:])


def html_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a caption; a cell that says NO stands out."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<div><table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table></div>"


def _cell(text: str) -> str:
    return f'<td class="no">{text}</td>' if text == "NO" else f"<td>{escape(text)}</td>"


def _cores(used: float | None) -> str:
    return NOT_MEASURED if used is None else f"{used:.3f}"


def _shown(value: float | None) -> str:
    return NOTHING if value is None else number(value)


def _picture(result: LiveResult) -> str:
    with rc_context(STYLE | {"svg.fonttype": "none", "text.parse_math": False}):  # a name is a name
        figure = Figure(figsize=(10.0, 8.5), layout="constrained")
        responses, rates, waiting, cores = figure.subplots(4, 1, sharex=True)
        seen = [this for this in result.rounds if this.observation is not None]
        _draw_responses(responses, result, seen)
        source = result.pipeline.order[0]
        time_s = [this.time_s for this in seen]
        rates.set_title(f"Arrivals at {source}, tuples/s")
        rates.step(time_s, [_rate_per_s(this, source) for this in seen], color=COLOURS[0], lw=1.0)
        waiting.set_title("Tuples waiting or at work")
        for colour, operator in zip(COLOURS * 9, result.pipeline.operators, strict=False):
            backlog = [this.observation.operators[operator.name].backlog for this in seen if this.observation]
            waiting.step(time_s, backlog, color=colour, lw=1.0, label=operator.name)
            ends_s = [*(start_s for start_s, _ in result.timeline), result.duration_s]
            given = [held[operator.name].cores for _, held in result.timeline]
            cores.stairs(given, ends_s, color=colour, lw=1.2, label=operator.name, baseline=None)
        cores.set_title("CPU cores given")
        cores.set_xlabel("time, s")
        for axes in (responses, waiting, cores):
            axes.legend(loc="upper left", ncols=4)
        drawn = StringIO()
        figure.savefig(drawn, format="svg")
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]


def _draw_responses(axes: Axes, result: LiveResult, seen: Sequence[Round]) -> None:
    asked = {requirement.path for requirement in result.pipeline.requirements} or set(result.pipeline.paths)
    axes.set_title("Response time in s, mean of what was done in a round")
    for colour, path in zip(COLOURS * 9, sorted(asked), strict=False):
        means_s = [this.observation.paths[path].mean_s for this in seen if this.observation]
        values = np.array([np.nan if mean_s is None else mean_s for mean_s in means_s])
        axes.plot([this.time_s for this in seen], values, color=colour, lw=1.0, marker=".", ms=3, label=path)
    for requirement, style in zip(result.pipeline.requirements, ("--", "-.", ":") * 9, strict=False):
        axes.axhline(requirement.bound_s, color=COLOURS[1], ls=style, lw=1.2, label=str(requirement))
    for before, after in pairwise(seen):
        if before.in_force != after.in_force:
            axes.axvline(after.time_s, color="#999999", lw=0.3, zorder=0)


def _rate_per_s(this: Round, source: str) -> float:
    seen = this.observation
    return seen.operators[source].arrived / seen.interval_s if seen and seen.interval_s > 0 else 0.0
