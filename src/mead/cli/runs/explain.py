"""``mead explain``: how a decision was made, with the numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.runs.history import LAST
from mead.cli.terminal import AsJson, print_json, print_parts


def explain(
    ctx: typer.Context,
    decision: Annotated[
        str,
        typer.Argument(
            metavar="DECISION",
            help="The number of a round, as `mead history` shows it; `last`; or `change` for the last change.",
        ),
    ],
    run_or_history: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder of a run, or a history, as `mead simulate --history` writes it."
        ),
    ] = Path("mead-history.sqlite"),
    *,
    run: Annotated[int, typer.Option(metavar="N", help="Which run of the history; -1 is the last one.")] = LAST,
    as_json: AsJson = False,
) -> None:
    """How a decision was made: what was seen, believed and weighed, why others were rejected, and what came of it.

    Example: `mead explain change runs/demo-20260101-120000`
    """
    from mead.history import History, HistoryError
    from mead.reports.live.history_board import history_file
    from mead.reports.runs.explanation import Explanation, explanation_tables, find_round

    try:
        with History.read(history_file(run_or_history)) as history:
            runs = history.runs()
            chosen = history.run(runs[-1].number if run == LAST and runs else run)
            if not chosen.rounds:
                ctx.fail(f"{history.path}: run {chosen.number} has no rounds yet")
            found = Explanation.of(history, chosen, find_round(history, chosen, decision))
    except HistoryError as error:
        ctx.fail(str(error))
    if as_json:
        print_json(found.as_json())
    else:
        print_parts(explanation_tables(found))
