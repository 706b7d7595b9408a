"""`mead.run` and `mead.simulate`: pipeline files from Python, as the commands of the same names run them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mead.config.pipeline_file import PipelineFile, read_pipeline
from mead.config.policy_choice import choose_policy
from mead.loading import modules_in
from mead.policies import PolicyOptions
from mead.reports.runs.simulated_report import SimulatedReport
from mead.session import Observer, Session
from mead.simulator import Conditions
from mead.simulator import simulate as simulate_session
from mead.values import Pipeline
from mead.workload import Trace, read_trace


def simulate(
    pipeline: str | Path | PipelineFile | Pipeline,
    trace: str | Path | Trace,
    *,
    policy: str | PolicyOptions | None = None,
    seed: int = 0,
    duration_s: float | None = None,
    history: str | Path | None = None,
    workload: str | None = None,
    observers: Iterable[Observer] = (),
) -> SimulatedReport:
    """Run a pipeline under a policy in virtual time: half an hour takes seconds.

    ``trace`` holds the arrivals at the source, or names their file. ``policy`` is a name or the options of a policy;
    by default the pipeline file decides. ``duration_s`` takes only the first part of the trace. ``history`` names a
    file to which every round is added, for ``mead history``. The `as_json` of the report is what ``mead simulate
    --json`` prints. Raises ConfigError, TraceError and HistoryError.

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
        described, options = pipeline, _options(policy, None)
        conditions, processors = None, None
    else:
        file = _read(pipeline)
        described, options = file.pipeline, _options(policy, file.policy)
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


def _read(pipeline: str | Path | PipelineFile) -> PipelineFile:
    """The pipeline file. Modules that it names may lie beside it."""
    if isinstance(pipeline, PipelineFile):
        return pipeline
    modules_in(Path(pipeline).parent)
    return read_pipeline(pipeline)


def _options(policy: str | PolicyOptions | None, of_file: PolicyOptions | None) -> PolicyOptions:
    return policy if isinstance(policy, PolicyOptions) else choose_policy(of_file, policy, [])
