"""``mead serve``: the page of a past run, or of a run of another process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.inputs import read_trace_or_fail
from mead.cli.runs.history import LAST, RunNumber, RunPath, choose_run
from mead.extras import require

if TYPE_CHECKING:
    from mead.arrays import FloatArray
    from mead.web.token import Token

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
FOLLOWED_S = 1.0
"""Interval at which a growing history is read."""

Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="Address to listen on: 127.0.0.1 for this machine only, 0.0.0.0 for the network."
    ),
]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on; 0 takes a free one.")]

KnownAs = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Another host name of this machine; may be repeated.", show_default=False),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="MEAD_TOKEN_FILE",
        help="File with a token of at least 16 characters. Clients need it to read the page.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class PageOptions:
    """Address of the page of a run."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    or_any: bool = False
    """Take a free port if that one is in use."""
    known_as: tuple[str, ...] = ()
    token_file: Path | None = None


def serve(
    ctx: typer.Context,
    run_or_history: RunPath,
    *,
    run: RunNumber = LAST,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="TRACE",
            help="Arrivals for the view Workload; a history has none.  [default: those in the folder of the run]",
            show_default=False,
        ),
    ] = None,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    known_as: KnownAs = None,
    token_file: TokenFile = None,
) -> None:
    """Show a run in the browser: response times, pipeline, decisions, workload and what-if.

    The run may be over, or another process may be writing its history; then the page follows it. The page is
    read-only. Metrics for Prometheus are at /metrics. Ctrl-C ends the server.

    Example: `mead serve runs/demo-20260101-120000`
    """
    require("web", "the live page")
    import time
    from threading import Event

    from mead.history import History, HistoryError
    from mead.keys import ConfigError
    from mead.reports.live import HistoryBoard, history_file
    from mead.web.server import serving

    file = history_file(run_or_history)
    arrivals = _arrivals(ctx, trace, file)
    try:
        token = read_token(token_file)
        with History.read(file) as history:
            past = HistoryBoard(history, choose_run(history, run), wall_s=time.time)
            past.follow()
            if arrivals is not None:
                past.with_arrivals(arrivals)
            with serving(past.board, host, port, known_as=known_as or (), token=token) as address:
                typer.echo(f"{past.board.facts.pipeline.name}: {address}  (Ctrl-C ends the server)")
                warn_if_open(host, token)
                try:
                    while not past.board.finished:
                        time.sleep(FOLLOWED_S)
                        past.follow()
                    Event().wait()  # the run is over; serve it until Ctrl-C
                except KeyboardInterrupt:
                    typer.echo("")
    except (HistoryError, ConfigError) as error:
        ctx.fail(str(error))


def read_token(file: Path | None) -> Token | None:
    """The token in a file, if one is named. Raises ConfigError."""
    from mead.web.token import Token

    return None if file is None else Token.read(file)


def warn_if_open(host: str, token: Token | None) -> None:
    """Warn about a page that other machines can reach."""
    from mead.web.guard import is_loopback

    if is_loopback(host):
        return
    if token is None:
        typer.echo(
            f"Every machine that reaches {host} can read the page; there is no password. "
            "Ask for a token with --token-file FILE, or use a tunnel.",
            err=True,
        )
    else:
        typer.echo(f"Machines that reach {host} can read the page with the token; HTTP does not encrypt it.", err=True)


def _arrivals(ctx: typer.Context, trace: Path | None, history: Path) -> FloatArray | None:
    from mead.spark.pipeline.build import ARRIVALS

    if trace is None:
        beside = history.parent / ARRIVALS
        if not beside.is_file():
            return None
        trace = beside
    return read_trace_or_fail(ctx, trace, iat=False, column=None, unit=None, sort=False).iats_s
