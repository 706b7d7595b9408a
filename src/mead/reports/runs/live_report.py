"""What ``mead run`` and ``mead demo`` say of a run: response times against requirements, cost, who used the CPU."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.monitor import ResponseSketch
from mead.queueing import PATH_SEPARATOR
from mead.reports.judge.figures import DRAINED, ENGINE, PERCENTS, Figures, concluded
from mead.reports.judge.windows import broken_part, window_parts
from mead.reports.runs.decision_json import allocation_json, prediction_json
from mead.reports.tables import NOTHING, number, plain_table, yes_or_no
from mead.session.result import LiveResult
from mead.values import STEP_S, Requirement

NOT_MEASURED = "not measured"
UNDRAINED = "Not everything that had arrived went through before the end; what did not is in no response time."

JUDGED_WINDOWS = 2880
"""How many windows are judged: those of a day. Older parts of a run are remembered only as sums."""


@dataclass(frozen=True)
class LiveVerdict:
    """One requirement, after a live run."""

    requirement: Requirement
    response_s: float | None
    """Its mean or percentile over the run; None if nothing left the path."""
    broken_windows: float
    """The part of the sliding windows that break it."""
    drained: bool = True
    """Whether everything that arrived went through. What did not is in no response time, however long it has waited."""

    @classmethod
    def of(cls, result: LiveResult, requirement: Requirement) -> LiveVerdict:
        """Judge a run by any requirement, even one that the run did not know."""
        measured_s = statistic_s(result.responses[requirement.path], requirement)
        return cls(requirement, measured_s, broken_windows(result, requirement), result.drained)

    @property
    def met(self) -> bool | None:
        """Whether it was met over the whole run; None if what went through keeps it, but not everything went through.

        >>> LiveVerdict(Requirement("a>b", 1.0), response_s=0.2, broken_windows=0.0, drained=False).met is None
        True
        """
        kept = self.response_s is not None and self.response_s <= self.requirement.bound_s
        return None if kept and not self.drained else kept


@dataclass(frozen=True, eq=False)
class LiveReport:
    """Everything about one live run that people and scripts ask for."""

    result: LiveResult
    verdicts: tuple[LiveVerdict, ...]

    @classmethod
    def of(cls, result: LiveResult) -> LiveReport:
        """Judge a run."""
        return cls(result, tuple(LiveVerdict.of(result, requirement) for requirement in result.pipeline.requirements))

    @property
    def own_load(self) -> Mapping[str, float | None]:
        """Mean cores used by anything that is not an operator; None where that is not measured."""
        result = self.result
        return {
            "Spark (Java)": None if result.cpu.java_s is None else result.cpu.java_s / result.duration_s,
            "driver (Python)": result.cpu.driver_s / result.duration_s,
            "of it the control loop": result.loop_s / result.duration_s,
        }

    @property
    def used(self) -> Mapping[str, tuple[float, float]]:
        """For each operator, cores on which its workers ran, and on which they were ready to run but were held back."""
        result = self.result
        return {
            name: (used.cpu_s / result.duration_s, used.throttled_s / result.duration_s)
            for name, used in result.used.items()
        }

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers has to know: what was lost, what failed, what workers complained of."""
        result = self.result
        return [
            *([f"{result.loss}, before the time was over."] if result.loss else ()),
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
        return concluded(paths, self.verdicts) | {"": whole}

    def as_json(self) -> dict[str, Any]:
        """As a document; what `mead simulate` reports too has the same keys."""
        result = self.result
        return {
            "policy": result.policy,
            "pipeline": result.pipeline.name,
            "mode": result.mode.value,
            "duration_s": result.duration_s,
            "paths": {path: self._path_json(path) for path in result.pipeline.paths},
            "cpu_share_mean": result.mean_cores,
            "cores": result.cores,
            "operator_cpu": {name: ran for name, (ran, _) in self.used.items()},
            "operator_throttled": {name: held for name, (_, held) in self.used.items()},
            "engine_cpu": dict(self.own_load),
            "demands_s": dict(result.demands_s),
            "overheads_s": dict(result.overheads_s),
            "rows_in": dict(result.rows_in),
            "rows_out": dict(result.rows_out),
            "changes": result.changes,
            "failed_rounds": result.failed_rounds,
            "restarts": list(result.restarts),
            "drained": result.drained,
            "complaints": dict(result.complaints),
            "interrupted": result.interrupted,
            "loss": result.loss,
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
            "met": all_met(verdict.met for verdict in verdicts),
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
            shown = (NOTHING if time_s is None else number(time_s) for time_s in times_s)
            responses.add_row(Text(path), *shown, f"{sketch.total:,.0f}")
        yield responses
        if self.verdicts:
            table = plain_table("Requirements, in s", "required", "measured", "met", "broken windows")
            for verdict in self.verdicts:
                table.add_row(
                    Text(str(verdict.requirement).removesuffix(" s")),
                    NOTHING if verdict.response_s is None else number(verdict.response_s),
                    yes_or_no(met=verdict.met),
                    f"{verdict.broken_windows:.1%}",
                )
            yield table
        yield self._rows_table()
        yield self._cpu_table()
        text = Text(f"{result.changes:,} changes in {result.total_rounds:,} rounds.")
        for note in self.notes:
            text.append(f"\n{note}", style="yellow")
        yield text

    def _rows_table(self) -> Table:
        """How many rows operators have read and written, so that dropped ones show."""
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
        for who, load in self.own_load.items():
            table.add_row(who, "", NOT_MEASURED if load is None else f"{load:.3f}")
        return table


def all_met(single: Iterable[bool | None]) -> bool | None:
    """Whether all requirements are met: False if one is not, None if none is known to be broken but one is unknown.

    >>> all_met([True, None, False]), all_met([True, None]), all_met([])
    (False, None, True)
    """
    found = set(single)
    return False if False in found else None if None in found else True


def broken_windows(result: LiveResult, requirement: Requirement) -> float:
    """The part of the last day's sliding windows in which the requirement is broken; a tuple counts where it arrived.

    A window in which tuples wait, and none of those that arrived in it was ever done, is broken.
    """
    parts = result.parts[requirement.path]
    values_s = []
    for window in window_parts(result.duration_s)[-JUDGED_WINDOWS:]:
        measured_s = statistic_s(ResponseSketch.merged(parts[part] for part in window if part in parts), requirement)
        if measured_s is None:
            measured_s = inf if _waiting(result, requirement.path, window.stop * STEP_S) else 0.0
        values_s.append(measured_s)
    return broken_part(values_s, requirement)


def statistic_s(responses: ResponseSketch, requirement: Requirement) -> float | None:
    """The mean or the percentile that the requirement is about; None if nothing was done."""
    if requirement.percent is None:
        return responses.mean_s
    return responses.percentile_s(requirement.percent)


def _waiting(result: LiveResult, path: str, end_s: float) -> bool:
    """Whether some operator of the path had tuples waiting when it was last looked at before that time."""
    before = result.rounds[: bisect_right(result.rounds, end_s, key=lambda this: this.time_s)]
    seen = next((this.observation for this in reversed(before) if this.observation is not None), None)
    names = path.split(PATH_SEPARATOR)
    return seen is not None and any(seen.operators[name].backlog > 0 for name in names if name in seen.operators)
