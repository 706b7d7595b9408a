"""What ``mead run`` and ``mead demo`` say of a run: response times against requirements, cost, who used the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.evaluate.decision_json import allocation_json, prediction_json
from mead.evaluate.tables import NOTHING, number, plain_table
from mead.knowledge.requirement import WINDOW_S, Requirement
from mead.knowledge.round import Round
from mead.live import LiveResult

PERCENTS = (50.0, 95.0, 99.0)


@dataclass(frozen=True)
class LiveVerdict:
    """One requirement, after a live run."""

    requirement: Requirement
    response_s: float | None
    """Its mean or percentile over the run; None if nothing left the path."""
    broken_windows: float
    """The part of the sliding windows that break it."""

    @property
    def met(self) -> bool:
        """Over the whole run."""
        return self.response_s is not None and self.response_s <= self.requirement.bound_s


@dataclass(frozen=True, eq=False)
class LiveReport:
    """Everything about one live run that people and scripts ask for."""

    result: LiveResult
    verdicts: tuple[LiveVerdict, ...]

    @classmethod
    def of(cls, result: LiveResult) -> LiveReport:
        """Judge a run."""
        return cls(
            result,
            tuple(
                LiveVerdict(
                    requirement,
                    result.responses[requirement.path].mean_s
                    if requirement.percent is None
                    else result.responses[requirement.path].percentile_s(requirement.percent),
                    broken_windows(result.rounds, requirement, min(WINDOW_S, result.duration_s)),
                )
                for requirement in result.pipeline.requirements
            ),
        )

    @property
    def met(self) -> bool:
        """Whether every requirement was."""
        return all(verdict.met for verdict in self.verdicts)

    @property
    def own_load(self) -> Mapping[str, float]:
        """Cores that were used, in the mean, by whom that is not an operator."""
        result = self.result
        return {
            "Spark (Java)": result.cpu.java_s / result.duration_s,
            "driver (Python)": result.cpu.driver_s / result.duration_s,
            "of it the control loop": result.loop_s / result.duration_s,
        }

    def as_json(self) -> dict[str, Any]:
        """As `mead simulate` has it, where both have it."""
        result = self.result
        return {
            "policy": result.policy,
            "pipeline": result.pipeline.name,
            "mode": result.mode.value,
            "duration_s": result.duration_s,
            "paths": {path: self._path_json(path) for path in result.pipeline.paths},
            "cpu_share_mean": result.mean_cores,
            "cores": result.cores,
            "operator_cpu": {name: seconds / result.duration_s for name, seconds in result.operator_cpu_s.items()},
            "engine_cpu": dict(self.own_load),
            "demands_s": dict(result.demands_s),
            "overheads_s": dict(result.overheads_s),
            "changes": result.changes,
            "failed_rounds": sum(bool(this.error) for this in result.rounds),
            "restarts": list(result.restarts),
            "drained": result.drained,
            "timeline": [
                {"time_s": 0.0, "allocation": allocation_json(result.start), "predicted": {}, "reason": "start"},
                *(
                    {
                        "time_s": this.time_s,
                        "allocation": allocation_json(this.plan.allocation),
                        "predicted": {path: prediction_json(one) for path, one in this.plan.predicted.items()},
                        "reason": this.plan.reason,
                    }
                    for this in result.rounds
                    if this.plan
                ),
            ],
            "tuples": result.tuples,
        }

    def _path_json(self, path: str) -> dict[str, Any]:
        responses = self.result.responses[path]
        verdicts = [verdict for verdict in self.verdicts if verdict.requirement.path == path]
        return {
            "mean_s": responses.mean_s,
            **{f"p{percent:g}_s": responses.percentile_s(percent) for percent in PERCENTS},
            "required": {f"{v.requirement.statistic}_s": v.requirement.bound_s for v in verdicts},
            "met": all(verdict.met for verdict in verdicts),
            "completed": round(responses.total),
            "broken_windows": {f"{v.requirement.statistic}_s": v.broken_windows for v in verdicts},
        }

    def tables(self) -> Iterator[Table | Text]:
        """For a terminal of 80 columns."""
        result = self.result
        yield Text(
            f"{result.pipeline.name} under {result.policy}: {result.tuples:,} tuples in {number(result.duration_s)} s"
        )
        responses = plain_table("Response time in s", "path", "mean", "p50", "p95", "p99", "tuples")
        for path, sketch in result.responses.items():
            times_s = [sketch.mean_s, *(sketch.percentile_s(percent) for percent in PERCENTS)]
            shown = (NOTHING if time_s is None else number(time_s) for time_s in times_s)
            responses.add_row(Text(path), *shown, f"{sketch.total:,.0f}")
        yield responses
        if self.verdicts:
            table = plain_table("Requirements, in s", "required", "measured", "met", "broken windows")
            for verdict in self.verdicts:
                table.add_row(
                    Text(str(verdict.requirement).removesuffix(" s")),
                    NOTHING if verdict.response_s is None else number(verdict.response_s),
                    Text("yes", style="green") if verdict.met else Text("NO", style="bold red"),
                    f"{verdict.broken_windows:.1%}",
                )
            yield table
        yield self._cpu_table()
        text = Text(f"{result.changes:,} changes in {len(result.rounds):,} rounds.")
        if not result.drained:
            text.append("\nNot everything that had arrived went through before the end.", style="bold red")
        for restart in result.restarts[:5]:
            text.append(f"\n{restart}", style="yellow")
        yield text

    def _cpu_table(self) -> Table:
        result = self.result
        table = plain_table("CPU cores, time average", "", "given", "used", "CPU per tuple", "per micro-batch")
        for name, cores in result.cores.items():
            table.add_row(
                Text(name),
                f"{cores:.3f}",
                f"{result.operator_cpu_s[name] / result.duration_s:.3f}",
                f"{1e3 * result.demands_s[name]:.3g} ms",
                f"{1e3 * result.overheads_s[name]:.0f} ms",
            )
        table.add_section()
        table.add_row("mean of the operators", f"{result.mean_cores:.3f}")
        for who, cores in self.own_load.items():
            table.add_row(who, "", f"{cores:.3f}")
        return table


def broken_windows(rounds: Sequence[Round], requirement: Requirement, length_s: float) -> float:
    """The part of the windows of that length, one ending with every round, in which a requirement is broken.

    A mean is that of all tuples that were done in the window; a percentile is broken if too many took too long.
    """
    seen = [
        (this.time_s, this.observation.paths[requirement.path])
        for this in rounds
        if this.observation is not None and requirement.path in this.observation.paths
    ]
    windows = broken = first = 0
    for last, (end_s, _) in enumerate(seen):
        while seen[first][0] <= end_s - length_s:
            first += 1
        if end_s < length_s - 1e-6 and last + 1 < len(seen):
            continue
        inside = [reading for _, reading in seen[first : last + 1]]
        completed = sum(reading.completed for reading in inside)
        windows += 1
        if requirement.percent is None:
            broken += sum(reading.response_sum_s for reading in inside) > completed * requirement.bound_s
        else:
            beyond = sum(reading.beyond.get(requirement.bound_s, 0) for reading in inside)
            broken += beyond > completed * (1 - requirement.percent / 100)
    return broken / windows if windows else 0.0
