"""What ``mead run`` and ``mead demo`` share: a pipeline file on Spark, shown while it runs, reported at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mead.cli.history import recorded
from mead.cli.inputs import check_java
from mead.cli.serve import PageOptions, warn_if_open

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mead.config.pipeline_file import PipelineFile
    from mead.config.policies import PolicyOptions
    from mead.evaluate.live_report import LiveReport
    from mead.knowledge.pipeline import Pipeline
    from mead.knowledge.round import Round
    from mead.loop import Mode
    from mead.serve.board import Board
    from mead.spark.engine import SparkEngine

HISTORY, REPORT = "history.sqlite", "report.html"
LINE_EVERY_S = 10.0
"""Where nobody looks at a terminal, one line says so often how it goes."""


@dataclass(frozen=True)
class LiveOptions:
    """How a pipeline is to be run."""

    policy: PolicyOptions
    mode: Mode
    duration_s: float | None
    folder: Path
    master: str | None = None
    quiet: bool = False
    page: PageOptions | None = None
    """Where the run can be watched; None for nowhere."""


def new_folder(name: str) -> Path:
    """For a run that starts now."""
    return Path("runs") / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def refuse_used(ctx: typer.Context, folder: Path) -> None:
    """A run begins in a folder of its own: in that of another it would read what the other has left."""
    if folder.is_dir() and any(folder.iterdir()):
        ctx.fail(f"{folder}: there is a run in it already, or something else; name a new folder")


def run_file(ctx: typer.Context, file: PipelineFile, beside: Path, options: LiveOptions) -> LiveReport:
    """Run it, or say in one line why not. ``beside`` is where its modules and traces lie."""
    from mead.config.keys import ConfigError
    from mead.evaluate.experiment import kept_iats_for
    from mead.evaluate.live_report import LiveReport
    from mead.execute.detect import detect
    from mead.execute.share_probe import actuation_delay_s
    from mead.knowledge.knowledge import Knowledge
    from mead.live import run_live
    from mead.loop import Mode
    from mead.plan import registry
    from mead.serve.server import ServeError
    from mead.spark.build import live_pipeline, source_of, work_of
    from mead.spark.operators import OperatorError
    from mead.spark.quiet_start import SparkStartError
    from mead.spark.running import WARM_UP

    check_java(ctx)
    folder, beside = options.folder.resolve(), beside.resolve()
    found, mode, pipeline = detect(), options.mode, live_pipeline(file.pipeline)
    if found.kind == "none" and mode is Mode.ACT:
        typer.echo(f"CPU shares cannot be set here ({found}), so that they are only advised.", err=True)
        mode = Mode.ADVISE
    delay_s = actuation_delay_s(found.open) if found.kind != "none" else 0.0
    knowledge = Knowledge(pipeline, max(delay_s, file.knowledge.actuation_delay_s))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = work_of(file, beside)
        source = source_of(file, beside, folder, options.duration_s, folder / WARM_UP)
        with (
            _watched(pipeline, options, mode) as board,
            _spark(pipeline.name, options, beside) as spark,
            closing(found.open([operator.name for operator in pipeline.operators])) as shares,
            _display(pipeline, quiet=options.quiet) as (show, wait, complain),
            recorded(
                ctx,
                folder / HISTORY,
                pipeline,
                options.policy.model_dump(),
                str(folder),
                lambda _: None,
                engine="spark",
                mode=mode.value,
            ) as record,
        ):

            def follow(this: Round, engine: SparkEngine) -> None:
                record(this)
                show(this, engine)
                if board is not None:
                    board.add(this, engine.paths)

            result = run_live(
                spark,
                knowledge,
                source,
                work,
                folder,
                shares,
                registry.policy(options.policy),
                duration_s=inf if options.duration_s is None else options.duration_s,
                mode=mode,
                kept_iats=kept_iats_for(options.policy),
                on_round=follow,
                on_wait=wait,
                on_restart=complain,
            )
    except (ConfigError, OperatorError, ServeError, SparkStartError) as error:
        ctx.fail(str(error))
    except OSError as error:
        ctx.fail(f"{error.filename or folder}: {error.strerror or error}")
    return LiveReport.of(result)


@contextmanager
def _watched(pipeline: Pipeline, options: LiveOptions, mode: Mode) -> Iterator[Board | None]:
    """What the page of a run is fed with, while it is served; its address goes to standard error."""
    import time

    from mead.serve.board import Board, RunFacts
    from mead.serve.server import serving

    if options.page is None:
        yield None
        return
    policy, started = options.policy, datetime.now(UTC).isoformat(timespec="seconds")
    facts = RunFacts(
        pipeline, policy.name, mode.value, "spark", str(options.folder), started, getattr(policy, "interval_s", None)
    )
    board, page = Board(facts, wall_s=time.time), options.page
    with serving(board, page.host, page.port, or_any=page.or_any, known_as=page.known_as) as address:
        typer.echo(f"Watch it: {address}", err=True)
        warn_if_open(page.host)
        yield board
        board.finish()


@contextmanager
def _spark(name: str, options: LiveOptions, beside: Path) -> Iterator[SparkSession]:
    """Spark for one run."""
    from mead.spark.quiet_start import quiet_start
    from mead.spark.session import started

    with _said_while_waiting(quiet=options.quiet) as waiting:
        waiting("starting Spark")
        with quiet_start():
            spark = started(name, master=options.master, modules=beside)
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _said_while_waiting(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line with a spinner, on standard error."""
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:
        yield status.update


@contextmanager
def _display(
    pipeline: Pipeline, *, quiet: bool
) -> Iterator[tuple[Callable[[Round, SparkEngine], None], Callable[[str], None], Callable[[str], None]]]:
    """What shows rounds, why one has to wait, and what has failed: a table in a terminal, lines elsewhere."""
    from rich.console import Console
    from rich.live import Live

    from mead.evaluate.live_table import LiveTable

    table, console = LiveTable(pipeline), Console(stderr=True, quiet=quiet)

    def complain(failure: str) -> None:
        console.print(failure, markup=False, highlight=False, soft_wrap=True)  # above the table, where there is one

    if not console.is_terminal:
        last_s = [-LINE_EVERY_S]

        def line(this: Round, engine: SparkEngine) -> None:
            del engine
            if this.time_s >= last_s[0] + LINE_EVERY_S:
                last_s[0] = this.time_s
                console.print(f"{this.time_s:.0f} s: {this.in_force}: {this.plan.reason if this.plan else ''}")

        yield line, lambda _: None, complain
        return
    with Live(console=console, auto_refresh=False) as live:
        yield (
            lambda this, engine: live.update(table.add(this, engine), refresh=True),
            lambda doing: live.update(doing, refresh=True),
            complain,
        )


def write_report(report: LiveReport, folder: Path, notes: list[str]) -> Path:
    """The page of a run, in its folder."""
    from mead.serve.run_page import run_page

    path = folder / REPORT
    new = path.with_suffix(".part")
    new.write_text(run_page(report, notes), encoding="utf-8")
    os.replace(new, path)  # noqa: PTH105 - as good
    return path


def print_report(report: LiveReport, folder: Path, page: Path, notes: list[str]) -> None:
    """On standard output: figures, notes, and where to look further."""
    from rich.console import Console

    from mead.spark.wiring import RESULTS

    console = Console()
    for part in report.tables():
        console.print(part)
        console.print()
    for line in (*notes, f"Report: {page}", f"Results (Parquet): {folder / RESULTS}"):
        typer.echo(line)
    typer.echo(f"Every decision: mead history {folder / HISTORY} --run -1 --changes")
    typer.echo(f"In the browser: mead serve {folder}")
