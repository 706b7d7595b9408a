"""Compare policies live on Spark, one after the other on the same arrivals.

All runs share one Spark session, so that Java is equally warm; each has its own queries and folder. A policy that does
not use the requirement runs once and is judged by all requirements. Beside each measurement stand the errors of two
predictions: the run replayed in virtual time, which tests the model of micro-batches, and the policy's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from experiments.comparison import PolicyContender
from experiments.live.rows import LiveRow
from experiments.workloads import PATH, Workload
from mead.cpu import Opener, closing_shares
from mead.demo import counter, matcher, parser
from mead.history import IN_FOLDER, History
from mead.reports.judge import SketchedTimes, judge
from mead.reports.runs import LiveReport
from mead.reports.what_if.twin import replay_run
from mead.session import LiveResult, Session
from mead.simulator import Timeline
from mead.spark.pipeline.build import ARRIVALS, live_pipeline
from mead.spark.pipeline.operators import OnBatches, OnKeys, Work
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.spark.sources.inputs import TraceInput
from mead.values import Batches, Knowledge, Pipeline, Requirement
from mead.workload import Markovian, Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OVERHEAD_S = 0.06
"""Overhead of a micro-batch before the run has learned it."""

BATCHES = {
    name: Batches(OVERHEAD_S, every_s) for name, every_s in (("parser", 0.2), ("counter", 1.0), ("matcher", 0.2))
}
"""A micro-batch costs Spark tens of milliseconds of CPU. Ten per second of each operator took most of a core away from
the operators, which no queueing model describes."""

CALIBRATION, CALIBRATION_S = "calibration", 20.0

ROWS = "rows.jsonl"


GENERATED_PER_S, GENERATED_IDC = 330.0, 200.0
"""Rate and index of dispersion of generated arrivals, as in the Bellcore trace."""


def generated_arrivals(duration_s: float) -> tuple[Markovian, str]:
    """Generated arrivals in place of a recorded trace, and their title.

    >>> generated_arrivals(60.0)[1]
    'generated arrivals (330/s, index of dispersion 200)'
    """
    arrivals = Markovian(rate_per_s=GENERATED_PER_S, idc=GENERATED_IDC, duration_s=duration_s)
    return arrivals, f"generated arrivals ({GENERATED_PER_S:g}/s, index of dispersion {GENERATED_IDC:g})"


@dataclass(frozen=True)
class LiveRun:
    """One policy, with the requirements by which its run is judged."""

    policy: PolicyContender
    requirements: tuple[Requirement, ...]

    def __str__(self) -> str:
        bounds = ", ".join(f"{r.statistic} {r.bound_s:g} s" for r in self.requirements)
        return f"{self.policy.label} ({bounds})"

    @property
    def folder(self) -> str:
        """The name of its folder."""
        bounds = [f"{r.statistic}-{r.bound_s:g}" for r in self.requirements] if len(self.requirements) == 1 else ["all"]
        return "-".join([self.policy.label, *bounds])

    def pipeline(self, workload: Workload) -> Pipeline:
        """The pipeline as Spark runs it, under the first requirement."""
        return live_pipeline(workload.pipeline(self.requirements[0]), BATCHES)


def runs_of(requirements: Sequence[Requirement], policies: Sequence[PolicyContender]) -> list[LiveRun]:
    """One run per policy that does not use the requirement; one per requirement for the others.

    >>> both = [Requirement("parser>matcher", 0.5), Requirement("parser>matcher", 1.0)]
    >>> [str(run) for run in runs_of(both, [PolicyContender.of("static"), PolicyContender.of("adaptive")])]
    ['static (mean 0.5 s, mean 1 s)', 'adaptive (mean 0.5 s)', 'adaptive (mean 1 s)']
    """
    once = [LiveRun(policy, tuple(requirements)) for policy in policies if not policy.options.sees_requirements]
    seeing = [policy for policy in policies if policy.options.sees_requirements]
    return [*once, *(LiveRun(policy, (requirement,)) for requirement in requirements for policy in seeing)]


@dataclass(frozen=True)
class LiveComparison:
    """The settings that all runs share."""

    spark: SparkSession
    manager: Opener
    workload: Workload
    trace: Trace
    duration_s: float
    tried: int
    """Patterns per message, which determine the demand of the matcher."""
    folder: Path
    actuation_delay_s: float

    def calibrated(self, demand_s: float) -> LiveComparison:
        """Calibrate the matcher in a short live run: beside Spark, a tuple costs more than alone."""
        run = LiveRun(PolicyContender.of("static"), (Requirement(PATH, bound_s=1.0),))
        result = self._result(run, self.folder / CALIBRATION, min(CALIBRATION_S, self.duration_s))
        return replace(self, tried=max(1, round(self.tried * demand_s / result.demands_s["matcher"])))

    def rows(self, runs: Sequence[LiveRun]) -> Iterator[list[LiveRow]]:
        """Make one run after the other; append the rows of each to a file and yield them."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for run in runs:
            rows = self.rows_of(run)
            with (self.folder / ROWS).open("a", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(row.as_json(), allow_nan=False)}\n" for row in rows)
            yield rows

    def rows_of(self, run: LiveRun) -> list[LiveRow]:
        """Make a run, and a row for each requirement. Raises KeyboardInterrupt if the user ends it."""
        folder = self.folder / run.folder
        result = self._result(run, folder, self.duration_s)
        replayed = replay_run(result, folder / ARRIVALS, result.timeline)
        report = LiveReport.of(result)
        with History.read(folder / IN_FOLDER) as history:
            (past,) = history.runs()
            model_errors = history.model_errors(past.number)
        return [
            LiveRow(
                requirement=verdict.requirement,
                policy=run.policy.label,
                mean_s=result.responses[verdict.requirement.path].mean_s,
                p95_s=result.responses[verdict.requirement.path].percentile_s(95),
                met=verdict.met,
                cores=result.cores,
                replicas=mean_replicas(result),
                changes=result.changes,
                replayed_mean_s=float(replayed[verdict.requirement.path].mean()),
                replayed_p95_s=float(np.percentile(replayed[verdict.requirement.path], 95)),
                model_error=model_errors.get(verdict.requirement.path),
                drained=result.drained,
                restarts=result.restarts,
                failed_rounds=result.failed_rounds,
                used=sum(ran for ran, _ in report.used.values()),
                throttled=sum(held for _, held in report.used.values()),
                java=None if result.cpu.java_s is None else result.cpu.java_s / result.duration_s,
                own=result.cpu.driver_s / result.duration_s,
            )
            for verdict in (judge(requirement, SketchedTimes(result)) for requirement in run.requirements)
        ]

    def _result(self, run: LiveRun, folder: Path, duration_s: float) -> LiveResult:
        folder.mkdir(parents=True)
        np.save(folder / ARRIVALS, self.trace.timestamps_us - self.trace.timestamps_us[0])
        pipeline, options = run.pipeline(self.workload), run.policy.options
        source = TraceInput(folder / ARRIVALS, 1.0, folder / WARM_UP, "mead.demo.log_lines:log_lines", "line string")
        session = Session(pipeline, options, engine="spark", name=f"{pipeline.name}, {run}", history=folder / IN_FOLDER)
        with closing_shares(self.manager([operator.name for operator in pipeline.operators])) as shares, session:
            result = run_pipeline(
                session,
                self.spark,
                Knowledge(pipeline, self.actuation_delay_s),
                source,
                self._work(),
                folder,
                shares,
                duration_s=duration_s,
            )
        if result.interrupted:
            raise KeyboardInterrupt
        return result

    def _work(self) -> dict[str, Work]:
        return {
            "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
            "counter": OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=counter.KEYS, state=counter.STATE_SCHEMA),
            "matcher": OnBatches(matcher.make_matcher(tried=self.tried), matcher.OUTPUT_SCHEMA),
        }


def mean_replicas(result: LiveResult) -> dict[str, float]:
    """Time average of the replicas, by operator."""
    times_s, allocations = zip(*result.timeline, strict=True)
    timeline = Timeline(list(times_s), list(allocations))
    return {o.name: timeline.mean_replicas(o.name, result.duration_s) for o in result.pipeline.operators}
