"""``mead history``: past runs, what was decided in them, and what followed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mead.cli.terminal import AsJson, print_json

SHOWN_DECISIONS = 20
LAST = -1

HistoryPath = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Add every round to this file, to be read with `mead history`."),
]


def history(
    ctx: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A history, as `mead simulate --history` writes it, or the folder of a run."
        ),
    ] = Path("mead-history.sqlite"),
    *,
    run: Annotated[
        int | None, typer.Option(metavar="N", help="Show the decisions of this run; -1 is the last one.")
    ] = None,
    changes: Annotated[bool, typer.Option("--changes", help="Only decisions that changed something.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the last N decisions.  [default: 20; with --json all]")
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="First forget all runs but the last N, and make the file smaller."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Past runs, their decisions, and what followed.

    Lists all runs, and by how much the models of each policy were off; or the decisions of one run: what changed when
    and why, and predicted beside observed response times. A history can be read while a run is being written to it;
    let that run be among those that you --keep.

    Examples: `mead history mead-history.sqlite --run -1 --changes`, `mead history mead-history.sqlite --keep 10`
    """
    from mead.history import History, HistoryError, errors_of
    from mead.reports.documents import decision_json, run_json
    from mead.reports.live.history_board import history_file
    from mead.reports.runs.history_report import decision_tables, policy_errors, runs_table
    from mead.reports.tables import plain_text

    file = history_file(file)
    if run is None and (changes or limit is not None):
        ctx.fail("of which run? Add --run N, or --run -1 for the last; without it, all runs are listed")
    if limit is None and not as_json:
        limit = SHOWN_DECISIONS
    try:
        forgotten = None if keep is None else _forgotten(file, keep)
        with History.read(file) as past:
            runs = past.runs()
            chosen = None if run is None else past.run(runs[-1].number if run == LAST and runs else run)
            decisions = [] if chosen is None else past.decisions(chosen.number, changes_only=changes, limit=limit)
            checked = [past.checked(one.number) for one in runs] if chosen is None else []
    except HistoryError as error:
        ctx.fail(str(error))
    by_policy, errors = policy_errors(runs, checked) if chosen is None else [], [errors_of(one) for one in checked]
    if as_json:
        gone = {} if forgotten is None else {"forgotten": forgotten}
        if chosen is None:
            told = ({**run_json(one), "model_error": of_paths} for one, of_paths in zip(runs, errors, strict=True))
            print_json({"runs": list(told), "policies": [one.as_json() for one in by_policy]} | gone)
        else:
            decided = [decision_json(decision) for decision in decisions]
            print_json({"run": run_json(chosen), "decisions": decided} | gone)
        return

    from rich.console import Console

    console = Console()
    if forgotten is not None:
        console.print(f"forgotten: {forgotten} {'run' if forgotten == 1 else 'runs'}")
    if chosen is None:
        console.print(runs_table(runs, errors))
        for one in by_policy:
            console.print(plain_text(f"model of {one}"))
        return
    for part in decision_tables(chosen, decisions, file, changes_only=changes):
        console.print(part)


def _forgotten(file: Path, keep: int) -> int:
    """Remove all but the last ``keep`` runs from the file; returns how many were removed."""
    from mead.history import History

    with History.read(file):  # to keep what is not there would make an empty one
        pass
    with History.open(file) as past:
        return past.keep(keep)
