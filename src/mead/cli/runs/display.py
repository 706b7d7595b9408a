"""Shows a run on standard error: a table in a terminal, lines elsewhere; and on a page, if wanted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from mead.cli.runs.serve import PageOptions, read_token, warn_if_open
from mead.extras import require
from mead.keys import printable
from mead.reports.live import Board, Snapshot, snapshot_table
from mead.reports.tables import OBSERVED_ONLY
from mead.session import Observer, Session

if TYPE_CHECKING:
    from mead.values import Round

LINE_EVERY_S = 10.0
"""How often a line reports progress where there is no terminal."""


class Display(Observer):
    """The terminal of a run, and its page."""

    def __init__(self, *, quiet: bool = False, page: PageOptions | None = None) -> None:
        self.console, self.page = Console(stderr=True, quiet=quiet), page
        self.live: Live | None = None
        self.last_s = -LINE_EVERY_S

    @contextmanager
    def following(self, session: Session) -> Iterator[None]:
        """Serve the page and show the table until the session is over. Raises ServeError."""
        self.session, self.board = session, Board(session.facts, wall_s=time.time)
        with ExitStack() as stack:
            if self.page is not None:
                self._serve(self.page, stack)
            if self.console.is_terminal:
                self.live = stack.enter_context(Live(console=self.console, auto_refresh=False))
            yield
            self.board.finish()

    def round(self, this: Round) -> None:
        """Show a round."""
        self.board.add(this, self.session.responses)
        if self.live is not None:
            self.live.update(snapshot_table(Snapshot.of(self.board)), refresh=True)
        elif this.time_s >= self.last_s + LINE_EVERY_S:
            self.last_s = this.time_s
            told = this.plan.reason if this.plan else this.error or OBSERVED_ONLY
            self.warn(printable(f"{this.time_s:.0f} s: {this.in_force}: {told}"))

    def wait(self, doing: str) -> None:
        """Show what the session waits for, in a terminal."""
        if self.live is not None:
            self.live.update(Text(doing), refresh=True)

    def warn(self, what: str) -> None:
        """Print a line, above the table if there is one."""
        self.console.print(what, markup=False, highlight=False, soft_wrap=True)

    def _serve(self, page: PageOptions, stack: ExitStack) -> None:
        require("web", "the live page")
        from mead.web.server import serving

        token = read_token(page.token_file)
        served = serving(self.board, page.host, page.port, or_any=page.or_any, known_as=page.known_as, token=token)
        typer.echo(f"Watch it: {stack.enter_context(served)}", err=True)
        warn_if_open(page.host, token)
