"""The report on a simulated run: response times, verdicts on requirements, cost and decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from mead.arrays import FloatArray
from mead.reports.documents import allocation_json, prediction_json
from mead.reports.judge import DRAINED, PERCENTS, Figures, Outcome, Verdict, all_met, path_figures
from mead.reports.tables import NOTHING, TimeUnit, number, number_or_nothing, percent_or_nothing, plain_table, yes_or_no
from mead.values import Allocation, Plan, Round

if TYPE_CHECKING:
    from mead.simulator import SimulatedRun


@dataclass(frozen=True)
class PathReport:
    """The response times of one path over the whole run."""

    completed: int
    mean_s: float | None
    """None if no tuple left the path."""
    percentiles_s: Mapping[str, float | None]
    """Percentiles by name, such as ``p95_s``."""
    verdicts: tuple[Verdict, ...]
    """A verdict for each requirement on the path."""

    @classmethod
    def of(cls, response_s: FloatArray, verdicts: tuple[Verdict, ...]) -> PathReport:
        """The report on all response times of a path."""
        some = response_s.size > 0
        values = np.percentile(response_s, PERCENTS).tolist() if some else [None] * len(PERCENTS)
        percentiles_s = {f"p{percent:g}_s": value for percent, value in zip(PERCENTS, values, strict=True)}
        return cls(response_s.size, float(response_s.mean()) if some else None, percentiles_s, verdicts)

    @property
    def met(self) -> bool:
        """Whether every requirement on the path is met."""
        return bool(all_met(self.verdicts))

    def as_json(self) -> dict[str, Any]:
        """The document of `mead simulate --json`."""
        return {
            "mean_s": self.mean_s,
            **self.percentiles_s,
            "required": {f"{v.requirement.statistic}_s": v.requirement.bound_s for v in self.verdicts},
            "met": self.met,
            "completed": self.completed,
            "broken_windows": {f"{v.requirement.statistic}_s": v.broken_windows for v in self.verdicts},
            "worst_minute_s": {f"{v.requirement.statistic}_s": v.worst_minute_s or 0.0 for v in self.verdicts},
        }


@dataclass(frozen=True, eq=False)
class SimulatedReport:
    """One simulated run, for people and scripts."""

    pipeline: str
    outcome: Outcome
    seed: int
    duration_s: float
    paths: Mapping[str, PathReport]
    cores: Mapping[str, float]
    """Time average of each operator's cores, all replicas together."""
    cost: float
    """Time average of the cost of all operators."""
    start: Allocation
    rounds: tuple[Round, ...]
    tuples: int
    """Tuples that arrived at the source."""
    run: SimulatedRun = field(repr=False)
    lost: int
    """Tuples that neither left, nor were filtered, nor are inside. Always 0 unless the simulator is wrong."""

    @classmethod
    def of(cls, run: SimulatedRun, seed: int) -> SimulatedReport:
        """Judge a run and collect its figures."""
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
            cost=timeline.mean_cost(run.pipeline, run.duration_s),
            start=timeline.allocations[0],
            rounds=tuple(run.rounds),
            tuples=counters.arrived,
            run=run,
            lost=counters.arrived + counters.copied - counters.departed - counters.filtered - counters.inside,
        )

    @property
    def figures(self) -> Figures:
        """The figures for the history of the run."""
        paths = {path: {"mean_s": one.mean_s, **one.percentiles_s} for path, one in self.paths.items()}
        return path_figures(paths, self.outcome.verdicts) | {"": {DRAINED: 1.0}}

    @property
    def failed_rounds(self) -> tuple[Round, ...]:
        """Rounds that failed and left the allocation as it was."""
        return tuple(this for this in self.rounds if this.error)

    def as_json(self) -> dict[str, Any]:
        """The document of `mead simulate --json`."""
        return {
            "policy": self.outcome.policy,
            "pipeline": self.pipeline,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "paths": {path: report.as_json() for path, report in self.paths.items()},
            "cpu_share_mean": self.outcome.cpu,
            "cores": dict(self.cores),
            "cost": self.cost,
            "changes": self.outcome.changes,
            "failed_rounds": len(self.failed_rounds),
            "timeline": [
                {"time_s": 0.0, **_decision(Plan.keep(self.start, "the run starts with it"))},
                *({"time_s": this.time_s, **_decision(this.plan)} for this in self.rounds if this.plan),
            ],
            "tuples": self.tuples,
            "lost": self.lost,
        }

    def tables(self) -> Iterator[Table | Text]:
        """Tables for a terminal of 80 columns."""
        yield Text(
            f"{self.pipeline} under {self.outcome.policy}: {self.tuples:,} tuples in "
            f"{number(self.duration_s)} s, seed {self.seed}"
        )
        yield self._response_table()
        if self.outcome.verdicts:
            yield self._requirement_table()
        yield self._cores_table()
        yield self._summary()

    def _response_table(self) -> Table:
        rows = {path: [one.mean_s, *one.percentiles_s.values()] for path, one in self.paths.items()}
        unit = TimeUnit.of(time_s for times_s in rows.values() for time_s in times_s if time_s is not None)
        table = plain_table(f"Response time in {unit.name}", "path", "mean", "p50", "p95", "p99", "tuples")
        for path, times_s in rows.items():
            shown = (NOTHING if time_s is None else unit.show(time_s) for time_s in times_s)
            table.add_row(Text(path), *shown, f"{self.paths[path].completed:,}")
        return table

    def _requirement_table(self) -> Table:
        table = plain_table("Requirements, in s", "required", "measured", "met", "broken windows", "worst minute")
        for verdict in self.outcome.verdicts:
            table.add_row(
                Text(str(verdict.requirement).removesuffix(" s")),
                number_or_nothing(verdict.response_s),
                yes_or_no(met=verdict.met),
                percent_or_nothing(verdict.broken_windows),
                number_or_nothing(verdict.worst_minute_s),
            )
        return table

    def _cores_table(self) -> Table:
        table = plain_table("CPU cores, time average", "operator", "cores")
        for name, cores in self.cores.items():
            table.add_row(Text(name), f"{cores:.3f}")
        table.add_section()
        table.add_row("mean of the operators", f"{self.outcome.cpu:.3f}")
        if self.run.pipeline.priced:
            table.add_row("cost of all", f"{self.cost:.3f}")
        return table

    def _summary(self) -> Text:
        decisions = sum(this.plan is not None for this in self.rounds)
        text = Text(f"{self.outcome.changes:,} changes in {decisions:,} decisions; {self.lost} tuples lost.")
        if self.failed_rounds:
            first = self.failed_rounds[0]
            text.append(
                f"\n{len(self.failed_rounds)} rounds failed and changed nothing; the first, at {first.time_s:g} s, in "
                f"{first.error}",
                style="bold red",
            )
        return text


def _decision(plan: Plan) -> dict[str, Any]:
    return {
        "allocation": allocation_json(plan.allocation),
        "predicted": {path: prediction_json(prediction) for path, prediction in plan.predicted.items()},
        "reason": str(plan.reason),
    }
