"""``mead serve``: the page of a run that is over, or that another process is writing down."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mead.cli.inputs import read_trace_or_fail
from mead.cli.runs.history import LAST
from mead.extras import require

if TYPE_CHECKING:
    from mead.arrays import FloatArray

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8765
FOLLOWED_S = 1.0
"""How often we read a history again that is still being written."""

Host = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Who can look: 127.0.0.1 is this machine only, 0.0.0.0 everybody around it."),
]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Where; 0 takes any that is free.")]

KnownAs = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="Another name by which others reach this machine; may be repeated.", show_default=False
    ),
]


@dataclass(frozen=True)
class PageOptions:
    """Where the page of a run is served."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    or_any: bool = False
    """Take any free port if that one is taken."""
    known_as: tuple[str, ...] = ()


def serve(
    ctx: typer.Context,
    run_or_history: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="The folder of a run, or a history, as `mead simulate --history` writes it."
        ),
    ],
    *,
    run: Annotated[int, typer.Option(metavar="N", help="Which run of the history; -1 is the last one.")] = LAST,
    trace: Annotated[
        Path | None,
        typer.Option(
            metavar="TRACE",
            help="Arrivals, for the view Workload: a history keeps none.  [default: those in the folder]",
            show_default=False,
        ),
    ] = None,
    host: Host = DEFAULT_HOST,
    port: Port = DEFAULT_PORT,
    known_as: KnownAs = None,
) -> None:
    """Look at a run in the browser: response times, pipeline, decisions, workload, and what-if.

    The run may be over, or another process may be writing it down: then the page follows. Metrics for Prometheus are at
    /metrics. Nothing can be changed from there. Ctrl-C ends it.

    Example: `mead serve runs/demo-20260101-120000`
    """
    require("web", "the live page")
    import time
    from threading import Event

    from mead.history import History, HistoryError
    from mead.reports.live.history_board import HistoryBoard, history_file
    from mead.web.server import ServeError, serving

    file = history_file(run_or_history)
    arrivals = _arrivals(ctx, trace, file)
    try:
        with History.read(file) as history:
            runs = history.runs()
            if not runs:
                ctx.fail(f"{file}: it has no runs yet")
            past = HistoryBoard(history, history.run(runs[-1].number if run == LAST else run), wall_s=time.time)
            past.follow()
            if arrivals is not None:
                past.with_arrivals(arrivals)
            with serving(past.board, host, port, known_as=known_as or ()) as address:
                typer.echo(f"{past.board.facts.pipeline.name}: {address}  (Ctrl-C ends it)")
                warn_if_open(host)
                try:
                    while not past.board.finished:
                        time.sleep(FOLLOWED_S)
                        past.follow()
                    Event().wait()  # it is over, and can be looked at
                except KeyboardInterrupt:
                    typer.echo("")
    except (HistoryError, ServeError) as error:
        ctx.fail(str(error))


def warn_if_open(host: str) -> None:
    """A page that others can reach shows them everything about the run."""
    from mead.web.guard import is_loopback

    if not is_loopback(host):
        typer.echo(f"Everybody who reaches {host} can look; there is no password.", err=True)


def _arrivals(ctx: typer.Context, trace: Path | None, history: Path) -> FloatArray | None:
    from mead.spark.pipeline.build import ARRIVALS

    if trace is None:
        beside = history.parent / ARRIVALS
        if not beside.is_file():
            return None
        trace = beside
    return read_trace_or_fail(ctx, trace, iat=False, column=None, unit=None, sort=False).iats_s
