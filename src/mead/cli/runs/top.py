"""``mead top``: watch a run in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.runs.history import LAST, RunNumber
from mead.cli.runs.keyboard import GONE, keys
from mead.cli.runs.serve import TokenFile, read_token
from mead.cli.terminal import AsJson, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from mead.web.watcher import Watcher

RUNS = Path("runs")
QUIT = frozenset({"q", "Q", "\x1b", GONE})
"""Keys that quit."""


def top(
    ctx: typer.Context,
    run_or_address: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The folder of a run, a history file, or the address that `mead run --serve` prints.  "
            "[default: the newest in runs/]",
            show_default=False,
        ),
    ] = None,
    *,
    run: RunNumber = LAST,
    interval: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time between two updates.")] = 1.0,
    once: Annotated[
        bool, typer.Option("--once", help="Print one snapshot and exit; the default without a terminal.")
    ] = False,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """Watch a run in the terminal: shares, load, backlog, response times with requirements, the last decision.

    This is the table of `mead run`. With the folder of a run it needs no server; with an address it also works through
    a tunnel. It changes nothing. q, Escape and Ctrl-C end the view, but not the run.

    Example: `mead top runs/demo-20260101-120000`
    """
    from rich.console import Console

    from mead.keys import ConfigError
    from mead.reports.live import snapshot_table
    from mead.web.watcher import WatchError

    place = run_or_address or str(_newest(ctx))
    console = Console()
    try:
        with _watching(place, run, token_file) as watcher:
            if as_json:
                print_json(watcher.snapshot().as_json())
            elif once or not console.is_terminal:
                console.print(snapshot_table(watcher.snapshot()))
            else:
                _follow(console, watcher, interval)
    except (WatchError, ConfigError) as error:
        ctx.fail(str(error))


@contextmanager
def _watching(place: str, run: int, token_file: Path | None) -> Iterator[Watcher]:
    from mead.web.watcher import HistoryWatcher, PageWatcher

    if place.startswith(("http://", "https://")):
        yield PageWatcher(place, read_token(token_file))
        return
    with closing(HistoryWatcher(Path(place), None if run == LAST else run)) as watcher:
        yield watcher


def _follow(console: Console, watcher: Watcher, interval_s: float) -> None:
    """Show the run until the user quits. If the run cannot be reached, keep the last table."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from mead.keys import printable
    from mead.reports.live import snapshot_table
    from mead.web.watcher import WatchError

    shown = snapshot_table(watcher.snapshot())
    footer = Text("q quits", style="dim")
    with (
        keys() as pressed,
        Live(Group(shown, footer), console=console, screen=True, auto_refresh=False) as live,
    ):
        live.refresh()
        while pressed(interval_s) not in QUIT:
            try:
                shown = snapshot_table(watcher.snapshot())
                live.update(Group(shown, footer), refresh=True)
            except WatchError as error:
                live.update(Group(shown, Text(printable(str(error)), style="bold red"), footer), refresh=True)


def _newest(ctx: typer.Context) -> Path:
    """The run in ``runs/`` with the latest write."""
    from mead.history import IN_FOLDER

    written = {file.parent: _last_write_s(file) for file in RUNS.glob(f"*/{IN_FOLDER}")}
    if not written:
        ctx.fail(f"there is no run in {RUNS}/; give the folder of a run or the address of its page")
    return max(written, key=written.__getitem__)


def _last_write_s(history: Path) -> float:
    """The time of the last write. A running process writes to the log beside its history."""
    files = (history, history.with_name(f"{history.name}-wal"))
    return max(file.stat().st_mtime for file in files if file.exists())
