"""One run as one HTML file: figures first, then the views of the live page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from typing import Any

from mead.reports.judge import CountedTimes, Verdict
from mead.reports.live.decisions import decided
from mead.reports.pages.figures import RunFigures
from mead.reports.pages.one_file import html_table, one_file
from mead.reports.pages.thinning import coarser, columns
from mead.reports.tables import NOTHING, number, number_or_nothing, percent_or_nothing
from mead.session import RunFacts

MOST_ROUNDS = 1800
"""The most rounds in the charts of a page: more than a screen has points."""

MOST_DECISIONS = 300
"""How many changes, and how many decisions, are listed; the history has all of them."""

VIEWS = {"now": "Over time", "pipeline": "By operator", "why": "What was decided, and why"}


def report_page(figures: RunFigures, notes: Sequence[str] = ()) -> str:
    """The whole page. ``notes`` are sentences that stand at the top."""
    run = figures.run
    said = [*notes, *([str(figures.savings)] if figures.savings else []), trusted(figures)]
    if not run.finished:
        said.append("This run did not end in good order, or is still running.")
    parts = [
        *(f"<p>{escape(note)}</p>" for note in said),
        *_tables(figures),
        *(
            f'<h2 class="part">{escape(title)}</h2>\n<section id="{place}"></section>'
            for place, title in (VIEWS.items() if figures.frames else ())
        ),
    ]
    return one_file(f"{run.name} under {run.policy}", facts(figures), parts, _numbers(figures), "report.js")


def facts(figures: RunFigures) -> str:
    """What ran, where, when and for how long."""
    run = figures.run
    of = f", {run.workload}" if run.workload else ""
    started = run.started.replace("T", " ")[:16]
    return f"mode {run.mode}, {run.engine}{of}, started {started}, {run.duration_s:,.0f} s, {run.rounds:,} rounds"


def trusted(figures: RunFigures) -> str:
    """How well the models predicted, and what came of that."""
    errors = [f"{path} {one.model_error:+.0%}" for path, one in figures.paths.items() if one.model_error is not None]
    if not errors:
        return f"{figures.run.policy} predicted nothing of what was in force: there is no model error."
    surprises = sum(figures.paths[path].surprises for path in figures.asked)
    careful = (
        f" Bounds were taken tighter in {figures.careful:.0%} of the rounds, up to {figures.highest_caution:.2g} times."
        if figures.careful
        else " Predictions were trusted all the time."
    )
    return (
        f"Model error of {figures.run.policy}, observed over predicted mean response time of what was in force: "
        f"{', '.join(errors)}; "
        f"changes whose effect was far from its prediction: {surprises}.{careful}"
    )


def _tables(figures: RunFigures) -> Iterator[str]:
    percentiles = list(next(iter(figures.paths.values())).percentiles_s)
    yield html_table(
        "Requirements",
        ["required", *VERDICT_COLUMNS],
        [[str(one.requirement), *verdict_cells(one)] for one in figures.verdicts],
    )
    yield html_table(
        "Response time in s",
        ["path", "mean", *percentiles, "tuples", "model error"],
        [
            [
                path,
                number_or_nothing(one.mean_s),
                *map(number_or_nothing, one.percentiles_s.values()),
                f"{one.completed:,}",
                NOTHING if one.model_error is None else f"{one.model_error:+.0%}",
            ]
            for path, one in figures.paths.items()
        ],
    )
    yield html_table(
        "CPU cores, time average",
        ["", "given", "used", "throttled", "at most"],
        [
            *(
                [o.name, *(f"{cores:.3f}" for cores in asdict(figures.operators[o.name]).values()), f"{o.most.cores:g}"]
                for o in figures.run.pipeline.operators
            ),
            ["all operators", f"{figures.cores:.3f}", "", "", f"{figures.most_cores:g}"],
            *([who, "", f"{cores:.3f}", "", ""] for who, cores in figures.engine.items()),
        ],
    )


VERDICT_COLUMNS = ("measured", "late", "met", "broken windows")


def verdict_cells(verdict: Verdict) -> list[str]:
    """The cells of one requirement, for ``VERDICT_COLUMNS``."""
    return [
        NOTHING if verdict.response_s is None else f"{number(verdict.response_s)} s",
        percent_or_nothing(verdict.late),
        met_cell(met=verdict.met),
        percent_or_nothing(verdict.broken_windows),
    ]


def met_cell(*, met: bool | None) -> str:
    """Whether a requirement is met; a dash if that is not known."""
    return NOTHING if met is None else "yes" if met else "NO"


def _numbers(figures: RunFigures) -> dict[str, Any]:
    """What the views ask the server of the live page for."""
    run, frames = figures.run, figures.frames
    times, over_s = CountedTimes(frames), round(run.duration_s)
    requirements = [times.whole(r).as_json(over_s) for r in run.pipeline.requirements]
    return {
        "figures": figures.as_json(),
        "run": RunFacts.of(run).as_json() | {"requirements": requirements, "changes": run.changes},
        "rounds": columns(coarser(frames, MOST_ROUNDS)),
        "decisions": {
            name: [one.as_json() for one in decided(frames, changes_only=only, limit=MOST_DECISIONS)]
            for name, only in (("changes", True), ("all", False))
        },
    }
