"""The report on a live run: response times, verdicts on requirements, cost, and CPU use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.reports.documents import allocation_json, prediction_json
from mead.reports.judge import (
    DRAINED,
    ENGINE,
    PERCENTS,
    Figures,
    SketchedTimes,
    Verdict,
    all_met,
    judge,
    path_figures,
)
from mead.reports.tables import number, number_or_nothing, percent_or_nothing, plain_table, yes_or_no
from mead.session.result import LiveResult

NOT_MEASURED = "not measured"
SHOWN_COUNTS = 3
"""Largest counts of an operator that the terminal shows."""

UNDRAINED = "The run ended before all tuples were processed; the rest is not in the response times."


@dataclass(frozen=True, eq=False)
class LiveReport:
    """One live run, for people and scripts."""

    result: LiveResult
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, result: LiveResult) -> LiveReport:
        """Judge a run."""
        times = SketchedTimes(result)
        return cls(result, tuple(judge(requirement, times) for requirement in result.pipeline.requirements))

    @property
    def own_load(self) -> Mapping[str, float | None]:
        """Mean cores used by anything that is not an operator; None where that is not measured."""
        result = self.result
        return {
            "Spark (Java)": None if result.cpu.java_s is None else result.cpu.java_s / result.duration_s,
            "driver (Python)": result.cpu.driver_s / result.duration_s,
            "control loop (in driver)": result.loop_s / result.duration_s,
        }

    @property
    def used(self) -> Mapping[str, tuple[float, float]]:
        """For each operator, the cores that its workers used, and the cores that the limit withheld."""
        result = self.result
        return {
            name: (used.cpu_s / result.duration_s, used.throttled_s / result.duration_s)
            for name, used in result.used.items()
        }

    @property
    def notes(self) -> list[str]:
        """Warnings to read with the numbers: losses, restarts, complaints of workers."""
        result = self.result
        return [
            *([f"{result.loss}, before the end of the run."] if result.loss else ()),
            *([f"The run did not work: {result.failure}."] if result.failure and not result.loss else ()),
            *(() if result.drained else [UNDRAINED]),
            *result.restarts[:5],
            *(f"{complaint} ({times:,} times)" for complaint, times in result.complaints.items()),
        ]

    @property
    def figures(self) -> Figures:
        """The figures for the history of the run."""
        paths = {
            path: {"mean_s": one.mean_s, **{f"p{percent:g}_s": one.percentile_s(percent) for percent in PERCENTS}}
            for path, one in self.result.responses.items()
        }
        whole = {DRAINED: float(self.result.drained)} | {f"{ENGINE}{who}": load for who, load in self.own_load.items()}
        return path_figures(paths, self.verdicts) | {"": whole}

    def as_json(self) -> dict[str, Any]:
        """As a document; keys that `mead simulate` also reports have the same names."""
        result = self.result
        return {
            "policy": result.policy,
            "pipeline": result.pipeline.name,
            "mode": result.mode.value,
            "duration_s": result.duration_s,
            "paths": {path: self._path_json(path) for path in result.pipeline.paths},
            "cpu_share_mean": result.mean_cores,
            "cores": result.cores,
            "cost": result.cost,
            "operator_cpu": {name: ran for name, (ran, _) in self.used.items()},
            "operator_throttled": {name: held for name, (_, held) in self.used.items()},
            "engine_cpu": dict(self.own_load),
            "demands_s": dict(result.demands_s),
            "overheads_s": dict(result.overheads_s),
            "rows_in": dict(result.rows_in),
            "rows_out": dict(result.rows_out),
            "counts": {name: dict(counts) for name, counts in result.counts.items()},
            "changes": result.changes,
            "failed_rounds": result.failed_rounds,
            "restarts": list(result.restarts),
            "drained": result.drained,
            "complaints": dict(result.complaints),
            "interrupted": result.interrupted,
            "loss": result.loss,
            "failure": result.failure,
            "timeline": [
                {"time_s": 0.0, "allocation": allocation_json(result.start), "predicted": {}, "reason": "start"},
                *(
                    {
                        "time_s": this.time_s,
                        "allocation": allocation_json(this.plan.allocation),
                        "predicted": {path: prediction_json(one) for path, one in this.plan.predicted.items()},
                        "reason": str(this.plan.reason),
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
            "met": all_met(verdicts),
            "completed": round(responses.total),
            "broken_windows": {f"{v.requirement.statistic}_s": v.broken_windows for v in verdicts},
        }

    def tables(self) -> Iterator[Table | Text]:
        """Tables for a terminal of 80 columns."""
        result = self.result
        yield Text(
            f"{result.pipeline.name} under {result.policy}: {result.tuples:,} tuples in {number(result.duration_s)} s"
        )
        responses = plain_table("Response time in s", "path", "mean", "p50", "p95", "p99", "tuples")
        for path, sketch in result.responses.items():
            times_s = [sketch.mean_s, *(sketch.percentile_s(percent) for percent in PERCENTS)]
            shown = map(number_or_nothing, times_s)
            responses.add_row(Text(path), *shown, f"{sketch.total:,.0f}")
        yield responses
        if self.verdicts:
            table = plain_table("Requirements, in s", "required", "measured", "met", "broken windows")
            for verdict in self.verdicts:
                table.add_row(
                    Text(str(verdict.requirement).removesuffix(" s")),
                    number_or_nothing(verdict.response_s),
                    yes_or_no(met=verdict.met),
                    percent_or_nothing(verdict.broken_windows),
                )
            yield table
        yield self._rows_table()
        yield self._cpu_table()
        text = Text(f"{result.changes:,} changes in {result.total_rounds:,} rounds.")
        for name, counts in result.counts.items():
            most = ", ".join(f"{value} {times:,}" for value, times in islice(counts.items(), SHOWN_COUNTS))
            text.append(f"\n{name} has counted {sum(counts.values()):,} rows of {len(counts):,} kinds: {most}.")
        for note in self.notes:
            text.append(f"\n{note}", style="yellow")
        yield text

    def _rows_table(self) -> Table:
        """Rows that operators read and wrote; the difference shows dropped rows."""
        table = plain_table("Rows", "", "in", "out", "difference")
        for name, rows_in in self.result.rows_in.items():
            rows_out = self.result.rows_out[name]
            table.add_row(Text(name), f"{rows_in:,}", f"{rows_out:,}", f"{rows_out - rows_in:+,}")
        return table

    def _cpu_table(self) -> Table:
        result = self.result
        table = plain_table("CPU cores, time average", "", "given", "used", "throttled", "per tuple", "per micro-batch")
        for name, cores in result.cores.items():
            table.add_row(
                Text(name),
                *(f"{value:.3f}" for value in (cores, *self.used[name])),
                f"{1e3 * result.demands_s[name]:.3g} ms",
                f"{1e3 * result.overheads_s[name]:.0f} ms",
            )
        table.add_section()
        table.add_row("mean of the operators", f"{result.mean_cores:.3f}")
        if result.pipeline.priced:
            table.add_row("cost of all", f"{result.cost:.3f}")
        for who, load in self.own_load.items():
            table.add_row(who, "", NOT_MEASURED if load is None else f"{load:.3f}")
        return table
