"""What ``mead run`` and ``mead demo`` share: a pipeline file on Spark, shown while it runs, reported at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum, auto
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from mead.cli.inputs import check_java
from mead.cli.runs.history import now, recorded
from mead.cli.runs.report import REPORT
from mead.cli.runs.serve import PageOptions, warn_if_open
from mead.extras import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mead.arrays import FloatArray
    from mead.config.pipeline_file import PipelineFile
    from mead.loop import Mode
    from mead.policies import PolicyOptions
    from mead.reports.judge import Figures
    from mead.reports.live.board import Board
    from mead.reports.pages.run_figures import RunFigures
    from mead.reports.runs.live_report import LiveReport
    from mead.session import RunFacts
    from mead.session.result import LiveResult
    from mead.spark.pipeline.end_requests import EndRequests
    from mead.spark.pipeline.engine import SparkEngine
    from mead.spark.runtime.fast_profile import FastProfile
    from mead.values import Pipeline, Round

LINE_EVERY_S = 10.0
"""How often a line reports progress where there is no terminal."""

LOST = 1
"""The exit code of a run whose Spark was lost."""


class ProfilePart(StrEnum):
    """Of the fast micro-batch profile, what can be left out. Frozen workers stay: their daemon joins control groups."""

    QUIET_COMMITS = auto()
    UNIX_SOCKETS = auto()
    PLAIN_PLANNING = auto()
    QUICK_COMPILER = auto()
    SIMPLE_COLLECTOR = auto()
    COMPILED_PYSPARK = auto()
    ALL = auto()


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
    """Where the run can be watched; None if nowhere."""
    left_out: tuple[ProfilePart, ...] = ()
    """Parts of the fast micro-batch profile."""


def new_folder(name: str) -> Path:
    """A new folder for a run that starts now."""
    return Path("runs") / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def refuse_used(ctx: typer.Context, folder: Path) -> None:
    """A run begins in a folder of its own: in that of another it would read what the other has left."""
    if folder.is_dir() and any(folder.iterdir()):
        ctx.fail(f"{folder}: there is a run in it already, or something else; name a new folder")


def run_file(
    ctx: typer.Context, file: PipelineFile, beside: Path, options: LiveOptions, requests: EndRequests
) -> LiveReport:
    """Run it, or say in one line why not. ``beside`` is where its modules and traces lie.

    From the beginning of the run on, ``requests`` to end are held: nothing keeps its report from being written.
    """
    from mead.cpu import closing_shares, prepare
    from mead.history import IN_FOLDER
    from mead.keys import ConfigError
    from mead.loop import Mode
    from mead.policies import make_policy
    from mead.reports.runs.live_report import LiveReport
    from mead.spark.pipeline.build import live_pipeline, load_source, load_streams, load_work
    from mead.spark.pipeline.operators import OperatorError
    from mead.spark.pipeline.run import SparkLostError, run_live
    from mead.spark.pipeline.running import WARM_UP
    from mead.spark.runtime.quiet_start import SparkStartError

    check_java(ctx)
    folder, beside = options.folder.resolve(), beside.resolve()
    mode, pipeline = options.mode, live_pipeline(file.pipeline)
    machine = prepare(pipeline, act=mode is Mode.ACT, stated=file.knowledge)
    if mode is Mode.ACT and not machine.acts:
        typer.echo(f"CPU shares cannot be set here ({machine.detection}), so that they are only advised.", err=True)
        mode = Mode.ADVISE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = load_work(file, beside)
        source = load_source(file, beside, folder, options.duration_s, folder / WARM_UP)
        policy = make_policy(options.policy)
        facts = _facts(pipeline, options, mode, policy.interval_s)
        with (
            _watched(facts, options.page) as board,
            _spark(pipeline.name, options, beside) as spark,
            closing_shares(machine.detection.open([operator.name for operator in pipeline.operators]), _warn) as shares,
            _display(board, quiet=options.quiet) as (show, wait, complain),
            recorded(
                ctx,
                folder / IN_FOLDER,
                pipeline,
                options.policy.model_dump(),
                str(folder),
                lambda _: None,
                started=facts.started,
                interval_s=policy.interval_s,
                engine=facts.engine,
                mode=facts.mode,
            ) as record,
        ):

            def follow(this: Round, engine: SparkEngine) -> None:
                record(this)
                board.add(this, engine.paths)
                show(this)

            run = partial(
                run_live,
                spark,
                machine.knowledge,
                source,
                work,
                folder,
                shares,
                policy,
                duration_s=inf if options.duration_s is None else options.duration_s,
                mode=mode,
                kept_iats=options.policy.kept_iats,
                streams=load_streams(file),
                on_round=follow,
                on_wait=wait,
                on_restart=complain,
                requests=requests,
            )
            result = _seen(run, complain)
            report = LiveReport.of(result)
            record.conclude(report.figures)
            if mode is Mode.OBSERVE:
                wait("asking the policy what it would have done")
                record.conclude(_instead(result, options.policy, board.arrivals))
    except SparkLostError as lost:
        _warn(f"{ctx.command_path}: {lost}")
        raise typer.Exit(LOST) from None
    except (ConfigError, OperatorError, SparkStartError) as error:
        ctx.fail(str(error))
    except OSError as error:
        ctx.fail(f"{error.filename or folder}: {error.strerror or error}")
    return report


def _facts(pipeline: Pipeline, options: LiveOptions, mode: Mode, interval_s: float) -> RunFacts:
    """What page and history begin with: one run has one beginning."""
    from mead.session import RunFacts

    return RunFacts(pipeline, options.policy.name, mode.value, "spark", str(options.folder), now(), interval_s)


def _instead(result: LiveResult, policy: PolicyOptions, iats_s: FloatArray) -> Figures:
    """What a policy would have come to that was only let observe."""
    from mead.reports.what_if.savings import savings_figures, simulated_savings
    from mead.reports.what_if.twin import learned_pipeline

    return savings_figures(simulated_savings(learned_pipeline(result), policy, iats_s, sum(result.cores.values())))


def _seen(run: Callable[[], LiveResult], complain: Callable[[str], None]) -> LiveResult:
    """The result of a run; if Spark is lost in it, what was seen until then."""
    from mead.spark.pipeline.run import SparkLostError

    try:
        return run()
    except SparkLostError as lost:
        if lost.result is None:
            raise
        complain(f"{lost}: the run ends here")
        return lost.result


def _warn(what: str) -> None:
    typer.echo(what, err=True)


@contextmanager
def _watched(facts: RunFacts, page: PageOptions | None) -> Iterator[Board]:
    """What the table and the page of a run are fed with; the address of the page goes to standard error."""
    import time

    from mead.reports.live.board import Board

    board = Board(facts, wall_s=time.time)
    if page is None:
        yield board
        return
    require("web", "the live page")
    from mead.web.server import serving

    with serving(board, page.host, page.port, or_any=page.or_any, known_as=page.known_as) as address:
        typer.echo(f"Watch it: {address}", err=True)
        warn_if_open(page.host)
        yield board
        board.finish()


@contextmanager
def _spark(name: str, options: LiveOptions, beside: Path) -> Iterator[SparkSession]:
    """Spark for one run."""
    from mead.spark.runtime.quiet_start import silence_loss, start_quietly
    from mead.spark.runtime.spark_session import start_session, stop_session

    with _said_while_waiting(quiet=options.quiet) as waiting:
        waiting("starting Spark")
        with start_quietly():
            spark = start_session(
                name, master=options.master, modules=beside, profile=profile_without(options.left_out)
            )
            silence_loss(spark)
    try:
        yield spark
    finally:
        stop_session(spark)


def profile_without(parts: Iterable[ProfilePart]) -> FastProfile:
    """The fast micro-batch profile as far as it is wanted.

    >>> profile_without([ProfilePart.QUIET_COMMITS]).quiet_commits, profile_without([ProfilePart.ALL]).frozen_workers
    (False, True)
    """
    from mead.spark.runtime.fast_profile import FastProfile

    asked = set(parts)
    left_out = set(ProfilePart) if ProfilePart.ALL in asked else asked
    return FastProfile(**{part.value: False for part in left_out - {ProfilePart.ALL}})


@contextmanager
def _said_while_waiting(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """A line with a spinner, on standard error."""
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    with console.status("") as status:
        yield status.update


@contextmanager
def _display(
    board: Board, *, quiet: bool
) -> Iterator[tuple[Callable[[Round], None], Callable[[str], None], Callable[[str], None]]]:
    """What shows rounds, why one has to wait, and what has failed: a table in a terminal, lines elsewhere."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from mead.keys import printable
    from mead.reports.live.live_table import live_table
    from mead.reports.live.snapshot import Snapshot

    console = Console(stderr=True, quiet=quiet)

    def complain(failure: str) -> None:
        console.print(failure, markup=False, highlight=False, soft_wrap=True)  # above the table, where there is one

    if not console.is_terminal:
        last_s = [-LINE_EVERY_S]

        def line(this: Round) -> None:
            if this.time_s >= last_s[0] + LINE_EVERY_S:
                last_s[0] = this.time_s
                said = f"{this.time_s:.0f} s: {this.in_force}: {this.plan.reason if this.plan else ''}"
                console.print(printable(said), markup=False, highlight=False, soft_wrap=True)

        yield line, lambda _: None, complain
        return
    with Live(console=console, auto_refresh=False) as live:
        yield (
            lambda _: live.update(live_table(Snapshot.of(board)), refresh=True),
            lambda doing: live.update(Text(doing), refresh=True),
            complain,
        )


def write_report(folder: Path, notes: list[str]) -> RunFigures | None:
    """The page of the last run in a folder, as `mead report` writes it; and its figures. None without a history."""
    from mead.cli.runs.report import write_page
    from mead.history import IN_FOLDER, History, HistoryError
    from mead.reports.pages.report_page import report_page
    from mead.reports.pages.run_figures import RunFigures

    try:
        with History.read(folder / IN_FOLDER) as history:
            figures = RunFigures.of(history, history.runs()[-1].number)
    except HistoryError as error:
        typer.echo(f"There is no report: {error}", err=True)
        return None
    write_page(report_page(figures, notes), folder / REPORT)
    return figures


def print_report(report: LiveReport, folder: Path, notes: list[str]) -> None:
    """Print the report on standard output: figures, notes, and where to look further."""
    from rich.console import Console

    from mead.history import IN_FOLDER
    from mead.spark.pipeline.wiring import RESULTS

    console = Console()
    for part in report.tables():
        console.print(part)
        console.print()
    for line in (*notes, f"Report: {folder / REPORT}", f"Results (Parquet): {folder / RESULTS}"):
        typer.echo(line)
    typer.echo(f"Every decision: mead history {folder / IN_FOLDER} --run -1 --changes")
    typer.echo(f"How one was made: mead explain change {folder}")
    typer.echo(f"In the browser: mead serve {folder}")
