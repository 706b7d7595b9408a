"""Policies live on Spark, one after the other on the same arrivals: what they kept, what it cost, how well foreseen.

Every run has its own queries and folder in the same Spark session, so that Java is as warm for the last as for the
first. The prediction beside each measurement is the run's twin in virtual time, under the allocations that it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from mead.applications.log_analysis import counter, matcher, parser
from mead.evaluate.comparison import PolicyContender
from mead.evaluate.experiment import kept_iats_for
from mead.evaluate.live_report import LiveReport
from mead.evaluate.tables import NOTHING, number, plain_table
from mead.evaluate.twin import twin
from mead.evaluate.workloads import Workload
from mead.execute.detect import Opener
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.pipeline import Batches, Pipeline
from mead.knowledge.requirement import Requirement
from mead.live import run_live
from mead.plan import registry
from mead.spark.build import ARRIVALS
from mead.spark.inputs import TraceInput
from mead.spark.operators import OnBatches, OnStream, Work
from mead.spark.running import WARM_UP
from mead.workload.trace import Trace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRIGGERS_S = {"parser": 0.1, "counter": 1.0, "matcher": 0.1}
"""A micro-batch costs Spark tens of milliseconds of CPU, whatever its size: so many a second are enough."""

OVERHEAD_S = 0.06
"""Of a micro-batch, until it has been learned."""


@dataclass(frozen=True)
class LiveRow:
    """One policy under one requirement."""

    requirement: Requirement
    policy: str
    mean_s: float | None
    p95_s: float | None
    met: bool
    cores: float
    """Per operator, the time average."""
    changes: int
    predicted_mean_s: float
    predicted_p95_s: float
    used: float
    """Cores that the workers of all operators used."""
    java: float
    """Cores that Spark itself used."""
    own: float
    """Cores that controller, monitor and display used."""

    @property
    def errors(self) -> tuple[float | None, float | None]:
        """Of the predicted mean and p95, in proportion to what was measured."""
        pairs = ((self.predicted_mean_s, self.mean_s), (self.predicted_p95_s, self.p95_s))
        return tuple(None if not seen else foreseen / seen - 1 for foreseen, seen in pairs)  # type: ignore[return-value]

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "requirement": str(self.requirement),
            "policy": self.policy,
            "mean_s": self.mean_s,
            "p95_s": self.p95_s,
            "met": self.met,
            "cpu_share_mean": self.cores,
            "changes": self.changes,
            "predicted": {"mean_s": self.predicted_mean_s, "p95_s": self.predicted_p95_s},
            "error": dict(zip(("mean", "p95"), self.errors, strict=True)),
            "used_cores": self.used,
            "spark_cores": self.java,
            "own_cores": self.own,
        }


@dataclass(frozen=True)
class LiveComparison:
    """What is the same for all runs."""

    spark: SparkSession
    manager: Opener
    workload: Workload
    trace: Trace
    duration_s: float
    tried: int
    """Patterns per message, which make the matcher's demand."""
    folder: Path
    actuation_delay_s: float

    def rows(
        self,
        requirements: Sequence[Requirement],
        policies: Sequence[PolicyContender],
        show: Callable[[str, float], None] = lambda *_: None,
    ) -> list[LiveRow]:
        """One run after the other; ``show`` is told what is run, and how many are done."""
        rows: list[LiveRow] = []
        for requirement, policy in product(requirements, policies):
            show(f"{policy.label}, {requirement}", len(rows))
            rows.append(self.row(requirement, policy))
        return rows

    def row(self, requirement: Requirement, policy: PolicyContender) -> LiveRow:
        """One run."""
        options = policy.options
        folder = self.folder / f"{policy.label}-{requirement.statistic}-{requirement.bound_s:g}"
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / ARRIVALS, self.trace.timestamps_us - self.trace.timestamps_us[0])
        pipeline = in_micro_batches(self.workload.pipeline(requirement))
        source = TraceInput(
            folder / ARRIVALS, 1.0, folder / WARM_UP, "mead.workload.log_lines:log_lines", "line string"
        )
        with closing(self.manager([operator.name for operator in pipeline.operators])) as shares:
            result = run_live(
                self.spark,
                Knowledge(pipeline, self.actuation_delay_s),
                source,
                self._work(),
                folder,
                shares,
                registry.policy(options),
                duration_s=self.duration_s,
                kept_iats=kept_iats_for(options),
            )
        if result.interrupted:
            raise KeyboardInterrupt
        report = LiveReport.of(result)
        foreseen = twin(result, folder / ARRIVALS, result.timeline)[requirement.path]
        measured = result.responses[requirement.path]
        return LiveRow(
            requirement=requirement,
            policy=policy.label,
            mean_s=measured.mean_s,
            p95_s=measured.percentile_s(95),
            met=report.met,
            cores=result.mean_cores,
            changes=result.changes,
            predicted_mean_s=float(foreseen.mean()),
            predicted_p95_s=float(np.percentile(foreseen, 95)),
            used=sum(result.operator_cpu_s.values()) / result.duration_s,
            java=result.cpu.java_s / result.duration_s,
            own=result.cpu.driver_s / result.duration_s,
        )

    def _work(self) -> dict[str, Work]:
        return {
            "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
            "counter": OnStream(counter.count),
            "matcher": OnBatches(matcher.make_matcher(tried=self.tried), matcher.OUTPUT_SCHEMA),
        }


def in_micro_batches(pipeline: Pipeline) -> Pipeline:
    """As Spark runs it."""
    operators = [
        replace(operator, batches=Batches(OVERHEAD_S, TRIGGERS_S[operator.name])) for operator in pipeline.operators
    ]
    return Pipeline(pipeline.name, operators, pipeline.edges, pipeline.requirements)


def live_table(rows: Sequence[LiveRow]) -> Table:
    """For a terminal."""
    table = plain_table(
        "Live on Spark, times in s", "required", "policy", "mean", "p95", "met", "CPU", "changes", "mean", "p95"
    )
    table.columns[-2].header, table.columns[-1].header = "foreseen", "p95"
    for row in rows:
        errors = [NOTHING if error is None else f"{error:+.0%}" for error in row.errors]
        table.add_row(
            f"{row.requirement.statistic} {row.requirement.bound_s:g}",
            row.policy,
            NOTHING if row.mean_s is None else number(row.mean_s),
            NOTHING if row.p95_s is None else number(row.p95_s),
            Text("yes", style="green") if row.met else Text("NO", style="bold red"),
            f"{row.cores:.1%}",
            str(row.changes),
            *errors,
        )
    return table
