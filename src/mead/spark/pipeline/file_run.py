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
from mead.spark.pipeline.run import SparkLostError, run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.runtime.quiet_start import check_java, silence_loss, start_quietly
from mead.spark.runtime.spark_session import start_session, stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@dataclass(frozen=True, eq=False)
class FolderReport:
    """The report of a run on Spark, and the folder in which the run is kept."""

    run: LiveReport
    folder: Path
    savings: Savings | None
    """Savings that mode act would have brought; None in mode act, or if unknown."""

    @classmethod
    def write(
        cls, run: LiveReport, folder: Path, notes: Sequence[str] = (), warn: Callable[[str], None] = log.warning
    ) -> FolderReport:
        """Write the page of the last run in a folder, as ``mead report`` does. Without a history, ``warn`` says so."""
        try:
            with History.read(folder / IN_FOLDER) as history:
                figures = RunFigures.of(history, history.runs()[-1].number)
        except HistoryError as error:
            warn(f"There is no report: {error}")
            return cls(run, folder, None)
        write_page(render_report(figures, [*notes, *run.notes]), folder / REPORT)
        return cls(run, folder, figures.savings)

    @property
    def page(self) -> Path:
        """The HTML page."""
        return self.folder / REPORT

    def as_json(self) -> dict[str, Any]:
        """The document that ``mead run --json`` prints."""
        savings = None if self.savings is None else self.savings.as_json()
        return self.run.as_json() | {"savings": savings, "folder": str(self.folder), "report": str(self.page)}


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

    Once the run has begun, ``requests`` to end are held, so that no signal interrupts the writing of a report. If
    Spark is lost in the run, the report covers the time up to the loss. Raises ConfigError, OperatorError,
    SparkStartError, HistoryError, OSError, and SparkLostError if Spark is lost before the run has begun.
    """
    check_java()
    folder, beside, mode = settings.folder.resolve(), beside.resolve(), settings.mode
    pipeline = live_pipeline(file.pipeline)
    machine = prepare(pipeline, act=mode is Mode.ACT, stated=file.knowledge)
    if mode is Mode.ACT and not machine.acts:
        mode = Mode.ADVISE
    folder.mkdir(parents=True, exist_ok=True)
    work = load_work(file, beside)
    source = load_source(file, beside, folder, settings.duration_s, folder / WARM_UP)
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
    with ExitStack() as stack:
        for observer in session.observers:
            stack.enter_context(observer.following(session))
        spark = stack.enter_context(_spark(session, settings, beside))
        names = [operator.name for operator in pipeline.operators]
        shares = stack.enter_context(closing_shares(machine.detection.open(names), session.warn))
        stack.enter_context(session)
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
                streams=load_streams(file),
                requests=requests,
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
