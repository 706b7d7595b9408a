"""What ``mead simulate`` says of a run: response times of every path, cost, decisions, and where the tuples are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mead.arrays import FloatArray
from mead.reports.judge.figures import PERCENTS, Figures, concluded
from mead.reports.judge.outcome import Outcome, Verdict
from mead.reports.runs.decision_json import allocation_json, prediction_json
from mead.simulator import Run
from mead.values import Allocation, Plan, Round


@dataclass(frozen=True)
class PathReport:
    """The response times of one path over the whole run."""

    completed: int
    mean_s: float | None
    """None if nothing left the path."""
    percentiles_s: Mapping[str, float | None]
    """Percentiles by name, such as ``p95_s``."""
    verdicts: tuple[Verdict, ...]
    """A verdict for each requirement on the path."""

    @classmethod
    def of(cls, response_s: FloatArray, verdicts: tuple[Verdict, ...]) -> PathReport:
        """The report on the response times of every tuple that left the path."""
        some = response_s.size > 0
        values = np.percentile(response_s, PERCENTS).tolist() if some else [None] * len(PERCENTS)
        percentiles_s = {f"p{percent:g}_s": value for percent, value in zip(PERCENTS, values, strict=True)}
        return cls(response_s.size, float(response_s.mean()) if some else None, percentiles_s, verdicts)

    @property
    def met(self) -> bool:
        """Whether every requirement on it was met; so it was where there is none."""
        return all(verdict.met for verdict in self.verdicts)

    def as_json(self) -> dict[str, Any]:
        """The document that is described in the reference of JSON documents."""
        return {
            "mean_s": self.mean_s,
            **self.percentiles_s,
            "required": {f"{v.requirement.statistic}_s": v.requirement.bound_s for v in self.verdicts},
            "met": self.met,
            "completed": self.completed,
            "broken_windows": {f"{v.requirement.statistic}_s": v.broken_windows for v in self.verdicts},
            "worst_minute_s": {f"{v.requirement.statistic}_s": v.worst_minute_s for v in self.verdicts},
        }


@dataclass(frozen=True, eq=False)
class RunReport:
    """Everything about one run that people and scripts ask for."""

    pipeline: str
    outcome: Outcome
    seed: int
    duration_s: float
    paths: Mapping[str, PathReport]
    cores: Mapping[str, float]
    """Time average of each operator's cores, all replicas together."""
    start: Allocation
    rounds: tuple[Round, ...]
    tuples: int
    """How many tuples arrived at the source."""
    lost: int
    """What neither left, nor was filtered, nor is inside: always 0, or the simulator is wrong."""

    @classmethod
    def of(cls, run: Run, seed: int) -> RunReport:
        """Look at a run from all sides."""
        outcome = Outcome.of(run)
        timeline, counters = run.simulation.timeline, run.simulation.counters
        return cls(
            pipeline=run.pipeline.name,
            outcome=outcome,
            seed=seed,
            duration_s=run.duration_s,
            paths={
                path: PathReport.of(
                    run.simulation.responses(path).response_s,
                    tuple(verdict for verdict in outcome.verdicts if verdict.requirement.path == path),
                )
                for path in run.pipeline.paths
            },
            cores={o.name: timeline.mean_cores(o.name, run.duration_s) for o in run.pipeline.operators},
            start=timeline.allocations[0],
            rounds=tuple(run.rounds),
            tuples=counters.arrived,
            lost=counters.arrived + counters.copied - counters.departed - counters.filtered - counters.inside,
        )

    @property
    def figures(self) -> Figures:
        """The figures for the history of the run."""
        paths = {path: {"mean_s": one.mean_s, **one.percentiles_s} for path, one in self.paths.items()}
        return concluded(paths, self.outcome.verdicts)

    @property
    def failed_rounds(self) -> tuple[Round, ...]:
        """Rounds in which something went wrong, so that the allocation stayed."""
        return tuple(this for this in self.rounds if this.error)

    def as_json(self) -> dict[str, Any]:
        """The document that is described in the reference of JSON documents."""
        return {
            "policy": self.outcome.policy,
            "pipeline": self.pipeline,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "paths": {path: report.as_json() for path, report in self.paths.items()},
            "cpu_share_mean": self.outcome.cpu,
            "cores": dict(self.cores),
            "changes": self.outcome.changes,
            "failed_rounds": len(self.failed_rounds),
            "timeline": [
                {"time_s": 0.0, **_decision(Plan(self.start, self.start, "start with all that may be had"))},
                *({"time_s": this.time_s, **_decision(this.plan)} for this in self.rounds if this.plan),
            ],
            "tuples": self.tuples,
            "lost": self.lost,
        }


def _decision(plan: Plan) -> dict[str, Any]:
    return {
        "allocation": allocation_json(plan.allocation),
        "predicted": {path: prediction_json(prediction) for path, prediction in plan.predicted.items()},
        "reason": plan.reason,
    }
