"""``mead history``: past runs, what was decided in them, and what followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mead.cli.terminal import AsJson, print_json

if TYPE_CHECKING:
    from mead.history import Recorder
    from mead.reports.judge import Figures
    from mead.values import Pipeline, Round

SHOWN_DECISIONS = 20
LAST = -1

SHARED_COMMIT = 100
"""Rounds: in virtual time they follow each other without a pause."""

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


def now() -> str:
    """The present time, as a history records the start of a run."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Recorded:
    """Shows every round of a run, and adds it to a history if there is one."""

    def __init__(self, show: Callable[[Round], None], recorder: Recorder | None) -> None:
        self._show, self._recorder = show, recorder

    def __call__(self, this: Round) -> None:
        """Record and show one round."""
        if self._recorder is not None:
            self._recorder(this)
        self._show(this)

    def conclude(self, figures: Figures) -> None:
        """What is known of the whole run, now that it is over."""
        if self._recorder is not None:
            self._recorder.conclude(figures)


@contextmanager
def recorded(
    ctx: typer.Context,
    file: Path | None,
    pipeline: Pipeline,
    options: Mapping[str, Any],
    workload: str,
    show: Callable[[Round], None],
    *,
    started: str,
    interval_s: float,
    engine: str = "simulator",
    mode: str = "act",
) -> Iterator[Recorded]:
    """What shows every round of a run and adds it to a history; without a file, it only shows.

    ``interval_s`` is the time between two rounds.
    """
    from mead.history import History, HistoryError
    from mead.reports.live.run_facts import ROUND_INTERVAL

    if file is None:
        yield Recorded(show, None)
        return
    try:
        past = History.open(file)
        recorder = past.begin(
            pipeline.name,
            pipeline,
            policy=options["name"],
            options={**options, ROUND_INTERVAL: interval_s},
            workload=workload,
            started=started,
            engine=engine,
            mode=mode,
            batch=SHARED_COMMIT if engine == "simulator" else 1,
        )
    except HistoryError as error:
        ctx.fail(str(error))

    with past:
        yield Recorded(show, recorder)
