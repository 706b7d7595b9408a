"""Compare policies on one pipeline: requirements met, response times, cores and changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose
from statistics import fmean
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from mead.arrays import FloatArray
from mead.reports.judge import Outcome, Verdict, all_met, statistic_s
from mead.reports.runs.live_report import LiveReport
from mead.reports.tables import NOTHING, percent_or_nothing, plain_table, plain_text, yes_or_no
from mead.simulator import SimulatedRun

COURSE_S = 10.0
"""Length of the intervals of a course."""


@dataclass(frozen=True, eq=False)
class Course:
    """Response time and cores over time, for a plot."""

    time_s: FloatArray
    response_s: FloatArray
    """Mean or percentile of the tuples that arrived in each interval; NaN if none did."""
    change_s: FloatArray
    cores: FloatArray
    """Cores of all operators from each of ``change_s`` on."""

    @classmethod
    def of(cls, run: SimulatedRun) -> Course:
        """The course of a simulated run, with response times of the path of its first requirement."""
        requirement = run.pipeline.requirements[0]
        responses = run.simulation.responses(requirement.path)
        order = np.argsort(responses.arrival_s, kind="stable")
        starts_s = np.arange(0.0, run.duration_s, COURSE_S)
        parts = np.split(responses.response_s[order], np.searchsorted(responses.arrival_s[order], starts_s[1:]))
        timeline = run.simulation.timeline
        return cls(
            starts_s,
            np.array([statistic_s(part, requirement) if part.size else np.nan for part in parts]),
            np.array(timeline.times_s),
            np.array([sum(one.cores for one in allocation.values()) for allocation in timeline.allocations]),
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of one policy."""

    policy: str
    """Name and options, as the user wrote them."""
    seed: int | None
    """None for a live run."""
    verdicts: Sequence[Verdict]
    cores: Mapping[str, float]
    """Time average of the cores given to each operator."""
    cost: float
    """Time average of the cost of all operators; with all prices 1, their cores."""
    changes: int
    failed_rounds: int
    outcome: Outcome | None = field(default=None, repr=False)
    course: Course | None = field(default=None, repr=False)

    @classmethod
    def of_simulation(cls, policy: str, seed: int, run: SimulatedRun) -> Trial:
        """Judge a simulated run."""
        outcome, timeline = Outcome.of(run), run.simulation.timeline
        cores = {
            operator.name: timeline.mean_cores(operator.name, run.duration_s) for operator in run.pipeline.operators
        }
        failed = sum(bool(this.error) for this in run.rounds)
        cost = timeline.mean_cost(run.pipeline, run.duration_s)
        return cls(policy, seed, outcome.verdicts, cores, cost, outcome.changes, failed, outcome, Course.of(run))

    @classmethod
    def of_live(cls, policy: str, report: LiveReport) -> Trial:
        """Take the verdicts of a live run from its report."""
        result = report.result
        return cls(policy, None, report.verdicts, result.cores, result.cost, result.changes, result.failed_rounds)

    @property
    def met(self) -> bool | None:
        """Whether the run met every requirement; None if a live run ended before every tuple left."""
        return all_met(self.verdicts)

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        return {
            "seed": self.seed,
            "met": self.met,
            "requirements": [
                {
                    "path": one.requirement.path,
                    "statistic": one.requirement.statistic,
                    "bound_s": one.requirement.bound_s,
                    "response_s": one.response_s,
                    "met": one.met,
                    "broken_windows": one.broken_windows,
                }
                for one in self.verdicts
            ],
            "cores": dict(self.cores),
            "cost": self.cost,
            "changes": self.changes,
            "failed_rounds": self.failed_rounds,
        }


@dataclass(frozen=True, eq=False)
class PolicySummary:
    """All runs of one policy, one for each seed."""

    policy: str
    trials: tuple[Trial, ...]

    @property
    def met(self) -> bool | None:
        """Whether every run met every requirement."""
        return all_met(verdict for trial in self.trials for verdict in trial.verdicts)

    @property
    def cores(self) -> float:
        """Cores given to all operators together, mean over the runs."""
        return fmean(sum(trial.cores.values()) for trial in self.trials)

    @property
    def cost(self) -> float:
        """Cost of all operators together, mean over the runs."""
        return fmean(trial.cost for trial in self.trials)

    @property
    def note(self) -> str:
        """Failed rounds; empty if there were none."""
        failed = sum(trial.failed_rounds for trial in self.trials)
        return f"{self.policy}: {failed} rounds failed and changed nothing." if failed else ""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``policies``."""
        return {
            "policy": self.policy,
            "met": self.met,
            "cores_mean": self.cores,
            "cost_mean": self.cost,
            "runs": [trial.as_json() for trial in self.trials],
        }


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several policies on the same pipeline and arrivals."""

    pipeline: str
    arrivals: str
    engine: str
    summaries: tuple[PolicySummary, ...]

    @classmethod
    def of(cls, pipeline: str, arrivals: str, engine: str, trials: Sequence[Trial]) -> Comparison:
        """Group runs by policy, in the order in which policies first occur."""
        names = dict.fromkeys(trial.policy for trial in trials)
        grouped = {name: tuple(trial for trial in trials if trial.policy == name) for name in names}
        return cls(pipeline, arrivals, engine, tuple(PolicySummary(name, own) for name, own in grouped.items()))

    @property
    def cheapest(self) -> PolicySummary | None:
        """The policy of the lowest cost among those that met all requirements in every run."""
        return min((one for one in self.summaries if one.met), key=lambda one: one.cost, default=None)

    def as_json(self) -> dict[str, Any]:
        """The document of `mead evaluate`."""
        best = self.cheapest
        return {
            "pipeline": self.pipeline,
            "arrivals": self.arrivals,
            "engine": self.engine,
            "policies": [one.as_json() for one in self.summaries],
            "cheapest": None if best is None else best.policy,
        }

    def parts(self) -> Iterator[Table | Text]:
        """A table with one row for each policy and requirement, notes, and the cheapest policy."""
        yield self._table()
        for one in self.summaries:
            if one.note:
                yield plain_text(one.note, style="yellow")
        yield plain_text(self.conclusion, style="bold")

    @property
    def conclusion(self) -> str:
        """The cheapest policy that meets all requirements, in a sentence."""
        best = self.cheapest
        if best is None:
            return "No policy met all requirements."
        priced = "" if isclose(best.cost, best.cores) else f" at a cost of {best.cost:.2f}"
        return f"Cheapest policy that met all requirements: {best.policy}, {best.cores:.2f} cores{priced}."

    def _table(self) -> Table:
        runs = max((len(one.trials) for one in self.summaries), default=1)
        over = f", {runs} seeds" if runs > 1 else ""
        where = "live on Spark" if self.engine == "spark" else "simulated"
        title = f"{self.pipeline}, {self.arrivals}, {where}{over}; times in s"
        table = plain_table(title, "policy", "required", "measured", "met", "broken", "cores", "changes")
        required = [verdict.requirement for verdict in self.summaries[0].trials[0].verdicts]
        one_path = len({requirement.path for requirement in required}) == 1
        for summary in self.summaries:
            cores = [sum(trial.cores.values()) for trial in summary.trials]
            policy = plain_text(summary.policy.replace("@", " "))  # a long name breaks at a space
            whole = (policy, spread(cores, 2), f"{fmean(trial.changes for trial in summary.trials):.0f}")
            for place, requirement in enumerate(required):
                verdicts = [trial.verdicts[place] for trial in summary.trials]
                bound = f"{requirement.statistic} <= {requirement.bound_s:g}"
                name, given, changes = whole if place == 0 else ("", "", "")
                table.add_row(
                    name,
                    plain_text(bound if one_path else f"{requirement.path} {bound}"),
                    _measured(verdicts),
                    _met(verdicts),
                    percent_or_nothing(_mean(one.broken_windows for one in verdicts)),
                    given,
                    changes,
                )
        return table


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of the known values."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _measured(verdicts: Sequence[Verdict]) -> str:
    known = [one.response_s for one in verdicts if one.response_s is not None]
    return spread(known, 3) if known else NOTHING


def _met(verdicts: Sequence[Verdict]) -> Text:
    if len(verdicts) == 1:
        return yes_or_no(met=verdicts[0].met)
    met = sum(one.met is True for one in verdicts)
    return Text(f"{met}/{len(verdicts)}", style="green" if met == len(verdicts) else "bold red")


def spread(values: Sequence[float], digits: int) -> str:
    """The mean, and half of the range where there is one.

    >>> spread([1.0, 2.0], 1), spread([3.0, 3.0], 0)
    ('1.5 ±0.5', '3')
    """
    half = f"{(max(values) - min(values)) / 2:.{digits}f}"
    mean = f"{fmean(values):.{digits}f}"
    return f"{mean} ±{half}" if float(half) else mean
