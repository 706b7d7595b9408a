"""`mead.run` and `mead.simulate`: pipeline files from Python, as the commands of the same names run them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mead.config import PipelineFile, choose_policy, read_pipeline
from mead.loading import modules_beside, modules_in
from mead.loop import Mode
from mead.policies import PolicyOptions
from mead.reports.runs import SimulatedReport
from mead.session import Observer, Session
from mead.simulator import Conditions
from mead.simulator import simulate as simulate_session
from mead.values import Pipeline
from mead.workload import Trace, read_trace

if TYPE_CHECKING:
    from mead.spark.pipeline.file_run import FolderReport
    from mead.spark.runtime.fast_profile import FastProfile


def simulate(
    pipeline: str | Path | PipelineFile | Pipeline,
    trace: str | Path | Trace,
    *,
    policy: str | PolicyOptions | None = None,
    seed: int = 0,
    duration_s: float | None = None,
    history: str | Path | None = None,
    workload: str | None = None,
    trust: bool = False,
    observers: Iterable[Observer] = (),
) -> SimulatedReport:
    """Run a pipeline under a policy in virtual time: half an hour takes seconds.

    ``trace`` holds the arrivals at the source, or names their file. ``policy`` is a name or the options of a policy;
    by default the pipeline file decides. ``trust`` allows a class that the file names, and classes beside the file.
    ``duration_s`` takes only the first part of the trace. ``history`` names a file to which every round is added, for
    ``mead history``. The `as_json` of the report is what ``mead simulate --json`` prints. Raises ConfigError,
    TraceError and HistoryError.

    >>> from mead.values import Operator
    >>> import numpy as np
    >>> arrivals = Trace.from_iats_s(np.full(1000, 0.01))
    >>> report = simulate(Pipeline("one", [Operator("matcher", 0.0015)]), arrivals, policy="threshold")
    >>> report.tuples, report.as_json()["policy"]
    (1001, 'threshold')
    """
    if isinstance(trace, str | Path):
        workload = workload or f"{Path(trace).name}, seed {seed}"
        trace = read_trace(trace)
    if duration_s is not None:
        trace = trace.between(0.0, duration_s)
    if isinstance(pipeline, Pipeline):
        described, options = pipeline, _options(policy, None, trust=True)
        conditions, processors = None, None
    else:
        file = pipeline if isinstance(pipeline, PipelineFile) else read_pipeline(pipeline)
        with file.naming_lines():
            described, options = file.pipeline, _options(policy, file.policy, trust=trust or policy is not None)
        if not isinstance(pipeline, PipelineFile) and ":" in options.name:
            modules_beside(Path(pipeline), options.name, trust=trust)
        conditions, processors = Conditions.of(file, options), file.keys.processors
    with Session(
        described,
        options,
        workload=workload or f"seed {seed}",
        history=None if history is None else Path(history),
        observers=observers,
    ) as session:
        done = simulate_session(session, trace, seed=seed, conditions=conditions, processors=processors)
        report = SimulatedReport.of(done, seed)
        session.conclude(report.figures)
    return report


def run(
    pipeline: str | Path,
    *,
    policy: str | PolicyOptions | None = None,
    mode: Literal["observe", "advise", "act"] | Mode = "act",
    duration_s: float | None = None,
    folder: str | Path | None = None,
    master: str | None = None,
    profile: FastProfile | None = None,
    start_over: bool = False,
    observers: Iterable[Observer] = (),
) -> FolderReport:
    """Run a pipeline file on Spark and keep its response times within their bounds.

    ``policy`` is a name or the options of a policy; by default the pipeline file decides. ``mode`` "observe" and
    "advise" change nothing. The run ends after ``duration_s``, or on Ctrl-C, SIGTERM or SIGHUP. ``folder`` keeps
    checkpoints, streams, results, history and report, by default a new one in ``runs/``; a run that was killed
    continues in its folder, unless ``start_over`` moves its arrivals, streams, checkpoints and results into
    ``FOLDER/earlier``, once nothing refuses the run any more. ``master`` is the URL of a cluster, by default all cores
    of this machine. ``profile`` switches parts of the fast micro-batch profile off.

    The `as_json` of the report is what ``mead run --json`` prints. Its ``run.result.failure`` says why the run did not
    work; it is empty if it did. If Spark is lost, the report covers the time up to the loss, and ``run.result.loss``
    names the cause. Raises ConfigError, OperatorError, SparkStartError, HistoryError, OSError, and SparkLostError if
    Spark is lost before the run has begun.
    """
    from mead.spark.pipeline.end_requests import EndRequests  # noqa: PLC0415 - a simulation needs no Spark
    from mead.spark.pipeline.file_run import FolderReport, RunSettings, new_folder, run_file  # noqa: PLC0415
    from mead.spark.runtime.fast_profile import FastProfile  # noqa: PLC0415

    file, wanted = read_pipeline(pipeline), Mode(mode)
    options, place = _options(policy, file.policy, trust=True), Path(folder or new_folder(file.pipeline.name))
    modules_in(Path(pipeline).parent)
    settings = RunSettings(options, place, wanted, duration_s, master, profile or FastProfile(), start_over)
    with EndRequests() as requests:
        report = run_file(file, Path(pipeline).parent, settings, observers=observers, requests=requests)
        about = f"Run of {Path(pipeline).name}, policy {options.name}, mode {wanted.value}."
        return FolderReport.write(report, place, [about])


def _options(policy: str | PolicyOptions | None, of_file: PolicyOptions | None, *, trust: bool) -> PolicyOptions:
    return policy if isinstance(policy, PolicyOptions) else choose_policy(of_file, policy, [], trust=trust)
