"""``mead history``: past runs and their decisions; options that commands on past runs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.terminal import AsJson, print_json

if TYPE_CHECKING:
    from mead.history import History, PastRun

SHOWN_DECISIONS = 20
MOST_SHOWN = 1_000_000_000
LAST = -1

HistoryPath = Annotated[
    Path | None,
    typer.Option("--history", metavar="FILE", help="Add every round to this file; `mead history` reads it."),
]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or a history file.")]
RunNumber = Annotated[int, typer.Option("--run", metavar="N", help="Number of the run in the history; -1 is the last.")]
DEFAULT_HISTORY = Path("mead-history.sqlite")


def history(
    ctx: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A history file, or the folder of a run.")
    ] = DEFAULT_HISTORY,
    *,
    run: Annotated[
        int | None, typer.Option(metavar="N", help="Show the decisions of this run; -1 is the last.")
    ] = None,
    changes: Annotated[bool, typer.Option("--changes", help="Only decisions that changed something.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST_SHOWN, metavar="N", help="Only the last N decisions.  [default: 20; with --json all]"
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_SHOWN, metavar="N", help="First delete all runs but the last N."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List past runs, or the decisions of one run.

    Without --run, lists all runs and the model error of each policy. With --run, lists the changes of that run with
    their reasons, and predicted and observed response times. A run may still be writing to the history; then --keep
    must include that run.

    Examples: `mead history mead-history.sqlite --run -1 --changes`, `mead history mead-history.sqlite --keep 10`
    """
    from mead.history import History, HistoryError, errors_of
    from mead.reports.documents import decision_json, run_json
    from mead.reports.live import history_file
    from mead.reports.runs import decision_tables, policy_errors, runs_table
    from mead.reports.tables import plain_text

    file = history_file(file)
    if run is None and (changes or limit is not None):
        ctx.fail("--changes and --limit need a run; add --run N, or --run -1 for the last one")
    if limit is None and not as_json:
        limit = SHOWN_DECISIONS
    try:
        forgotten = None if keep is None else _forget(file, keep)
        with History.read(file) as past:
            runs = past.runs()
            chosen = None if run is None else choose_run(past, run)
            decisions = [] if chosen is None else past.decisions(chosen.number, changes_only=changes, limit=limit)
            checked = [past.checked(one.number) for one in runs] if chosen is None else []
    except HistoryError as error:
        ctx.fail(str(error))
    by_policy, errors = policy_errors(runs, checked) if chosen is None else [], [errors_of(one) for one in checked]
    if as_json:
        gone = {} if forgotten is None else {"forgotten": forgotten}
        if chosen is None:
            documents = ({**run_json(one), "model_error": of_paths} for one, of_paths in zip(runs, errors, strict=True))
            print_json({"runs": list(documents), "policies": [one.as_json() for one in by_policy]} | gone)
        else:
            print_json({"run": run_json(chosen), "decisions": [decision_json(one) for one in decisions]} | gone)
        return

    from rich.console import Console

    console = Console()
    if forgotten is not None:
        console.print(f"deleted: {forgotten} {'run' if forgotten == 1 else 'runs'}")
    if chosen is None:
        console.print(runs_table(runs, errors))
        for one in by_policy:
            console.print(plain_text(f"model of {one}"))
        return
    for part in decision_tables(chosen, decisions, file, changes_only=changes):
        console.print(part)


def choose_run(history: History, number: int) -> PastRun:
    """The run of that number; ``LAST`` is the last one. Raises HistoryError."""
    from mead.history import HistoryError

    runs = history.runs()
    if not runs:
        raise HistoryError(f"{history.path}: it has no runs yet")
    return runs[-1] if number == LAST else history.run(number)


def _forget(file: Path, keep: int) -> int:
    """Delete all but the last ``keep`` runs; returns the number of deleted runs."""
    from mead.history import History

    with History.read(file):  # an error if there is no such file
        pass
    with History.open(file) as past:
        return past.keep(keep)
