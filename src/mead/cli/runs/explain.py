"""``mead explain``: the inputs, candidates and effects of a decision."""

from __future__ import annotations

from typing import Annotated

import typer

from mead.cli.runs.history import DEFAULT_HISTORY, LAST, RunNumber, RunPath, choose_run
from mead.cli.terminal import AsJson, print_json, print_parts


def explain(
    ctx: typer.Context,
    decision: Annotated[
        str,
        typer.Argument(
            metavar="DECISION",
            help="The number of a round as in `mead history`, `last`, or `change` for the last change.",
        ),
    ],
    run_or_history: RunPath = DEFAULT_HISTORY,
    *,
    run: RunNumber = LAST,
    as_json: AsJson = False,
) -> None:
    """Explain a decision: its readings, models and candidates, why the policy rejected the others, and its effect.

    Example: `mead explain change runs/demo-20260101-120000`
    """
    from mead.history import History, HistoryError
    from mead.reports.live import history_file
    from mead.reports.runs import Explanation, explanation_tables, find_round

    try:
        with History.read(history_file(run_or_history)) as history:
            chosen = choose_run(history, run)
            if not chosen.rounds:
                ctx.fail(f"{history.path}: run {chosen.number} has no rounds yet")
            found = Explanation.of(history, chosen, find_round(history, chosen, decision))
    except HistoryError as error:
        ctx.fail(str(error))
    if as_json:
        print_json(found.as_json())
    else:
        print_parts(explanation_tables(found))
