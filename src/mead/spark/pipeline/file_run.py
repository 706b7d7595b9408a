"""A pipeline file on Spark: from its text to a session that runs, and to the report in its folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mead.config import PipelineFile
from mead.cpu import closing_shares, prepare
from mead.history import IN_FOLDER, History, HistoryError
from mead.loop import Mode
from mead.policies import PolicyOptions
from mead.reports.pages import RunFigures
from mead.reports.pages.report_page import REPORT, render_report, write_page
from mead.reports.runs import LiveReport
from mead.reports.what_if.savings import Savings, savings_figures, session_savings
from mead.session import Observer, Session
from mead.spark.pipeline.build import live_pipeline, load_source, load_streams, load_work
from mead.spark.pipeline.end_requests import EndRequests
from mead.spark.pipeline.folder_lock import lock_folder
from mead.spark.pipeline.run import SparkLostError, run_pipeline
from mead.spark.pipeline.run_folder import check_folder
from mead.spark.pipeline.running import WARM_UP
from mead.spark.pipeline.wiring import Wiring
from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.runtime.quiet_start import check_java, silence_loss, start_quietly
from mead.spark.runtime.spark_session import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mead.workload import Trace

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunSettings:
    """How to run a pipeline file on Spark."""

    policy: PolicyOptions
    folder: Path
    """Keeps checkpoints, streams, results, history and report."""
    mode: Mode = Mode.ACT
    duration_s: float | None = None
    master: str | None = None
    profile: FastProfile = field(default_factory=FastProfile)
    start_over: bool = False
    """Whether to set arrivals, streams, checkpoints and results of earlier runs in the folder aside."""
    arrivals: Trace | None = field(default=None, repr=False)
    """Arrivals instead of those that the pipeline file names."""


@dataclass(frozen=True, eq=False)
class FolderReport:
    """The report of a run on Spark, and the folder in which the run is kept."""

    run: LiveReport
    folder: Path
    savings: Savings | None = None
    """Savings that mode act would have brought; None in mode act, or if unknown."""
    page: Path | None = None
    """The HTML page; None if it could not be written."""

    @classmethod
    def write(
        cls, run: LiveReport, folder: Path, notes: Sequence[str] = (), warn: Callable[[str], None] = log.warning
    ) -> FolderReport:
        """Write the page of a run, as ``mead report`` does.

        If that fails, ``warn`` says why, and nothing is raised.
        """
        page, number = folder / REPORT, run.result.number
        assert number is not None  # noqa: S101 - a run that is kept in a folder has a history
        try:
            with History.read(folder / IN_FOLDER) as history:
                figures = RunFigures.of(history, number)
            write_page(render_report(figures, [*notes, *run.notes]), page)
        except HistoryError as error:
            warn(f"There is no report: {error}")
            return cls(run, folder)
        except OSError as error:
            warn(f"There is no report: {page}: cannot be written ({error.strerror or error})")
            return cls(run, folder)
        return cls(run, folder, figures.savings, page)

    def as_json(self) -> dict[str, Any]:
        """The document that ``mead run --json`` prints."""
        savings = None if self.savings is None else self.savings.as_json()
        return self.run.as_json() | {"savings": savings} | self.place_json()

    def place_json(self) -> dict[str, str | None]:
        """The part of the document that says where the run is kept."""
        return {"folder": str(self.folder), "report": None if self.page is None else str(self.page)}


def new_folder(name: str) -> Path:
    """A new folder for a run that starts now."""
    return Path("runs") / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def run_file(
    file: PipelineFile,
    beside: Path,
    settings: RunSettings,
    *,
    observers: Iterable[Observer] = (),
    requests: EndRequests | None = None,
) -> LiveReport:
    """Run a pipeline file on Spark and report on it. Its modules and traces lie ``beside`` it.

    Everything that can refuse the run does so before a file of an earlier run is changed. Once the run has begun,
    ``requests`` to end are held, so that no signal interrupts the writing of a report. If Spark is lost in the run, the
    report covers the time up to the loss. Raises ConfigError, OperatorError, which also stands for a folder that
    another run uses and a broker that does not answer, SparkStartError, HistoryError, OSError, and SparkLostError if
    Spark is lost before the run has begun.
    """
    check_java()
    folder, beside, mode = settings.folder.resolve(), beside.resolve(), settings.mode
    pipeline = live_pipeline(file.pipeline)
    machine = prepare(pipeline, act=mode is Mode.ACT, stated=file.knowledge)
    if mode is Mode.ACT and not machine.acts:
        mode = Mode.ADVISE
    with file.naming_lines():
        work, streams = load_work(file, beside), load_streams(file)
    wiring = Wiring(pipeline, streams)
    with ExitStack() as stack:
        stack.enter_context(lock_folder(folder))  # before anything is written there
        over = settings.start_over
        with file.naming_lines():
            source = load_source(
                file, beside, folder, settings.duration_s, folder / WARM_UP, instead=settings.arrivals, start_over=over
            )
            source.check()
        wiring.check_broker()
        if not over:
            check_folder(folder, wiring)
        session = Session(
            pipeline,
            settings.policy,
            mode=mode,
            engine="spark",
            workload=str(settings.folder),
            history=folder / IN_FOLDER,
            observers=observers,
        )
        if mode is not settings.mode:
            session.warn(f"CPU shares cannot be set here ({machine.detection}), so that they are only advised.")
        for observer in session.observers:
            stack.enter_context(observer.following(session))
        stack.enter_context(session)  # a damaged history shows before Spark starts
        spark = stack.enter_context(_spark(session, settings, beside))
        names = [operator.name for operator in pipeline.operators]
        shares = stack.enter_context(closing_shares(machine.detection.open(names), session.warn))
        try:
            result = run_pipeline(
                session,
                spark,
                machine.knowledge,
                source,
                work,
                folder,
                shares,
                duration_s=inf if settings.duration_s is None else settings.duration_s,
                streams=streams,
                requests=requests,
                start_over=over,
            )
        except SparkLostError as lost:
            if lost.result is None:
                raise
            session.warn(f"{lost}: the run ends here")
            result = lost.result
        report = LiveReport.of(result)
        session.conclude(report.figures)
        if mode is Mode.OBSERVE:
            session.wait("asking the policy what it would have done")
            session.conclude(savings_figures(session_savings(session)))
    return report


@contextmanager
def _spark(session: Session, settings: RunSettings, beside: Path) -> Iterator[SparkSession]:
    """Spark for one run."""
    session.wait("starting Spark")
    with start_quietly():
        spark = start_session(session.name, master=settings.master, modules=beside, profile=settings.profile)
        silence_loss(spark)
    try:
        yield spark
    finally:
        stop_session(spark)
