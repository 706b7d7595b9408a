"""One run as one HTML file: figures first, then the views of the live page."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from mead.reports.judge import CountedTimes, Verdict
from mead.reports.pages.run_figures import RunFigures
from mead.reports.pages.standalone import html_table, standalone_page
from mead.reports.pages.thinning import frame_columns, thin_frames
from mead.reports.tables import NOTHING, number, number_or_nothing, percent_or_nothing
from mead.session import RunFacts

REPORT = "report.html"
"""File name of the page in the folder of a run."""

MOST_ROUNDS = 1800
"""The most rounds in the charts of a page. A screen has fewer points."""

VIEWS = {"now": "Over time", "pipeline": "By operator", "why": "Decisions and their reasons"}


def render_report(figures: RunFigures, notes: Sequence[str] = ()) -> str:
    """The whole page. ``notes`` are sentences for the top."""
    run = figures.run
    sentences = [*notes, *([str(figures.savings)] if figures.savings else []), model_error_sentence(figures)]
    if not run.finished:
        sentences.append("This run is still running, or was interrupted.")
    parts = [
        *(f"<p>{escape(sentence)}</p>" for sentence in sentences),
        *_tables(figures),
        *(
            f'<h2 class="part">{escape(title)}</h2>\n<section id="{place}"></section>'
            for place, title in (VIEWS.items() if figures.frames else ())
        ),
    ]
    return standalone_page(f"{run.name} under {run.policy}", summary(figures), parts, _numbers(figures), "report.js")


def summary(figures: RunFigures) -> str:
    """Mode, engine, workload, start and length of a run, in one line."""
    run = figures.run
    of = f", {run.workload}" if run.workload else ""
    started = run.started.replace("T", " ")[:16]
    return f"mode {run.mode}, {run.engine}{of}, started {started}, {run.duration_s:,.0f} s, {run.rounds:,} rounds"


def model_error_sentence(figures: RunFigures) -> str:
    """The model error, surprising changes, and the caution that followed."""
    errors = [f"{path} {one.model_error:+.0%}" for path, one in figures.paths.items() if one.model_error is not None]
    if not errors:
        return f"{figures.run.policy} predicted nothing for the allocation in force: there is no model error."
    surprises = sum(figures.paths[path].surprises for path in figures.required_paths)
    caution = (
        f"The bounds were taken tighter in {figures.cautious:.0%} of the rounds, up to {figures.highest_caution:.2g} "
        "times."
        if figures.cautious
        else "The bounds were never taken tighter."
    )
    return (
        f"Model error of {figures.run.policy} (observed over predicted mean response time of the allocation in force, "
        f"less 1): {', '.join(errors)}. Changes whose effect was far from the prediction: {surprises}. {caution}"
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
    """The data that the views of the live page get from its server."""
    run, frames = figures.run, figures.frames
    times, over_s = CountedTimes(frames), round(run.duration_s)
    requirements = [times.whole(r).as_json(over_s) for r in run.pipeline.requirements]
    return {
        "figures": figures.as_json(),
        "run": RunFacts.of(run).as_json() | {"requirements": requirements, "changes": run.changes},
        "rounds": frame_columns(thin_frames(frames, MOST_ROUNDS)),
        "decisions": {
            name: [one.as_json() for one in records]
            for name, records in (("changes", figures.changes), ("all", figures.decisions))
        },
    }


def write_page(page: str, target: Path) -> None:
    """Replace the page as a whole, because a browser may be reading the old one."""
    new = target.with_name(f".{target.name}.{os.getpid()}.part")  # the process id keeps writers apart
    try:
        new.write_text(page, encoding="utf-8")
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
