"""``mead report``: a report on a run, or a comparison of several, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.runs.history import LAST, choose_run
from mead.cli.terminal import AsJson, check_writable, print_json

if TYPE_CHECKING:
    from mead.reports.pages import RunFigures

COMPARISON = "comparison.html"


def report(
    ctx: typer.Context,
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Folders of runs, or history files."),
    ],
    *,
    run: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N",
            help="Number of the run; -1 is the last. Repeat it to compare runs.  [default: -1]",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write.  [default: report.html beside the history; comparison.html here for several runs]",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report on a run, or a comparison of several, as one HTML file with figures, charts and decisions.

    The file needs no network. The numbers of every chart can be downloaded as CSV or JSON.

    Example: `mead report runs/demo-20260101-120000`
    """
    from mead.history import History, HistoryError
    from mead.reports.live import history_file
    from mead.reports.pages import RunFigures, render_comparison
    from mead.reports.pages.report_page import REPORT, render_report, write_page

    if run and len(runs) > 1:
        ctx.fail("--run needs a single history; for several, the last run of each is used")
    found: list[RunFigures] = []
    try:
        for path in runs:
            with History.read(history_file(path)) as history:
                numbers = [choose_run(history, number).number for number in run or [LAST]]
                found += [RunFigures.of(history, number) for number in numbers]
    except HistoryError as error:
        ctx.fail(str(error))
    beside = history_file(runs[0]).parent / REPORT if len(found) == 1 else Path(COMPARISON)
    target = output or beside
    check_writable(ctx, target, (".html",))
    page = render_report(found[0]) if len(found) == 1 else render_comparison(found, run_names(found, runs))
    write_page(page, target)
    if as_json:
        print_json({"report": str(target), "runs": [one.as_json() for one in found]})
    else:
        typer.echo(f"Report: {target}")


def run_names(found: Sequence[RunFigures], places: Sequence[Path]) -> list[str]:
    """Names of runs in a comparison: the policy, with the folder if policies are not unique."""
    policies = [one.run.policy for one in found]
    if len(set(policies)) == len(policies):
        return policies
    folders = [path.resolve().name if path.is_dir() else path.stem for path in places]
    where = folders if len(folders) == len(found) else [f"run {one.run.number}" for one in found]
    named = [f"{policy}, {place}" for policy, place in zip(policies, where, strict=True)]
    return [f"{name} ({named[:i].count(name) + 1})" if named.count(name) > 1 else name for i, name in enumerate(named)]
