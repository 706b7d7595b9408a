"""``mead top``: a run in the terminal, for people who came by SSH."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.runs.history import LAST
from mead.cli.runs.keyboard import GONE, keys
from mead.cli.terminal import AsJson, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from mead.web.watcher import Watcher

RUNS = Path("runs")
QUIT = frozenset({"q", "Q", "\x1b", GONE})
"""Escape quits, too: it is what people try first."""


def top(
    ctx: typer.Context,
    run_or_address: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run, a history, or the address that `mead run --serve` prints.  "
            "[default: the newest in runs/]",
            show_default=False,
        ),
    ] = None,
    *,
    run: Annotated[int, typer.Option(metavar="N", help="Which run of a history; -1 is the last one.")] = LAST,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="How often to look.")] = 1.0,
    once: Annotated[
        bool, typer.Option("--once", help="Look once, print that, and end; so it is without a terminal.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look at a run from a terminal: shares, load, backlog, response times against requirements, the last decision.

    It is the table that `mead run` shows, from anywhere: by the folder of a run it needs no server, by an address it
    works through a tunnel, too. Nothing can be changed from there. q, Escape and Ctrl-C end the view, and not the run.

    Example: `mead top runs/demo-20260101-120000`
    """
    from rich.console import Console

    from mead.reports.live.live_table import live_table
    from mead.web.watcher import WatchError

    place = run_or_address or str(_newest(ctx))
    console = Console()
    try:
        with _watching(place, run) as watcher:
            if as_json:
                print_json(watcher.snapshot().as_json())
            elif once or not console.is_terminal:
                console.print(live_table(watcher.snapshot()))
            else:
                _follow(console, watcher, interval)
    except WatchError as error:
        ctx.fail(str(error))


@contextmanager
def _watching(place: str, run: int) -> Iterator[Watcher]:
    from mead.web.watcher import HistoryWatcher, PageWatcher

    if place.startswith(("http://", "https://")):
        yield PageWatcher(place)
        return
    with closing(HistoryWatcher(Path(place), None if run == LAST else run)) as watcher:
        yield watcher


def _follow(console: Console, watcher: Watcher, interval_s: float) -> None:
    """Show the run until the user has seen enough. One that cannot be reached for a while is shown as it was last."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from mead.keys import printable
    from mead.reports.live.live_table import live_table
    from mead.web.watcher import WatchError

    shown = live_table(watcher.snapshot())
    footer = Text("q quits", style="dim")
    with (
        keys() as pressed,
        Live(Group(shown, footer), console=console, screen=True, auto_refresh=False) as live,
    ):
        live.refresh()
        while pressed(interval_s) not in QUIT:
            try:
                shown = live_table(watcher.snapshot())
                live.update(Group(shown, footer), refresh=True)
            except WatchError as error:
                live.update(Group(shown, Text(printable(str(error)), style="bold red"), footer), refresh=True)


def _newest(ctx: typer.Context) -> Path:
    """The run in ``runs/`` that was written to last."""
    from mead.history import IN_FOLDER

    written = {file.parent: _last_write_s(file) for file in RUNS.glob(f"*/{IN_FOLDER}")}
    if not written:
        ctx.fail(f"there is no run in {RUNS}/; name the folder of one, or the address of its page")
    return max(written, key=written.__getitem__)


def _last_write_s(history: Path) -> float:
    """A run that is under way writes into the log beside its history."""
    files = (history, history.with_name(f"{history.name}-wal"))
    return max(file.stat().st_mtime for file in files if file.exists())
