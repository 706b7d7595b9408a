"""Rows of a comparison: one for each policy on each case, over all seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

from experiments.comparison import Result
from experiments.mead_paper.tables import Case, PaperCase
from mead.reports.comparison import spread
from mead.reports.judge import Outcome

COLUMNS = ("response s", "met", "CPU %", "broken", "changes", "worst", "paper (CPU)")
"""The columns of a row after the name of the policy."""

OTHER_COLUMN = "counter s"
"""The response time of the path to the counter, behind that to the matcher, where it has a requirement, too."""


def columns_of(case: Case) -> tuple[str, ...]:
    """The columns for a case."""
    return (COLUMNS[0], OTHER_COLUMN, *COLUMNS[1:]) if case.workload.free else COLUMNS


@dataclass(frozen=True, eq=False)
class PolicyRow:
    """All runs of one policy on one case."""

    case: Case
    label: str
    results: tuple[Result, ...]

    @property
    def published(self) -> PaperCase | None:
        """The published numbers."""
        return self.case.published.get(self.label)

    @property
    def met(self) -> int:
        """Number of seeds for which the requirement was met."""
        return sum(result.outcome is not None and result.outcome.met for result in self.results)

    @property
    def cells(self) -> list[str]:
        """The cells of the table."""
        paper = self.published
        beside = "" if paper is None else f"{paper.response_s:g} ({paper.cpu_percent:g})"
        done = [(result.outcome, result.outcome.verdicts[0]) for result in self.results if result.outcome is not None]
        if not done:
            return ["impossible", f"0/{len(self.results)}", *[""] * 4, beside]
        others = [[verdict.response_s or 0.0 for verdict in outcome.verdicts[1:]] for outcome, _ in done]
        return [
            spread([verdict.response_s or 0.0 for _, verdict in done], 3),
            *([spread([max(one) for one in others], 3)] if others[0] else []),
            f"{self.met}/{len(self.results)}",
            spread([100 * outcome.cpu for outcome, _ in done], 1),
            f"{100 * fmean(verdict.broken_windows or 0.0 for _, verdict in done):.0f} %",
            f"{fmean(outcome.changes for outcome, _ in done):.0f}",
            f"{fmean(verdict.worst_minute_s or 0.0 for _, verdict in done):.2f}",
            beside,
        ]

    @property
    def proven_cpu(self) -> float | None:
        """For a clairvoyant schedule: a cost that no schedule can undercut, mean over the seeds."""
        proven = [result.proven_cpu for result in self.results if result.proven_cpu is not None]
        return fmean(proven) if proven else None

    def as_json(self) -> dict[str, Any]:
        """One entry of ``rows``."""
        paper = self.published
        return {
            "trace": self.case.workload.name,
            "requirement": {self.case.requirement.statistic: self.case.requirement.bound_s},
            "demand_s": self.case.workload.demand_s,
            "free": self.case.workload.free,
            "policy": self.label,
            "met": self.met,
            "runs": [run_json(result) for result in self.results],
            "paper": None if paper is None else {"response_s": paper.response_s, "cpu_percent": paper.cpu_percent},
        }


RUN_FIGURES: Mapping[str, Callable[[Result, Outcome], Any]] = {
    "response_s": lambda _, outcome: outcome.verdicts[0].response_s,
    "counter_response_s": lambda _, outcome: next((one.response_s for one in outcome.verdicts[1:]), None),
    "met": lambda _, outcome: outcome.met,
    "cpu_percent": lambda _, outcome: 100 * outcome.cpu,
    "broken_windows_percent": lambda _, outcome: 100 * (outcome.verdicts[0].broken_windows or 0.0),
    "changes": lambda _, outcome: outcome.changes,
    "worst_minute_s": lambda _, outcome: outcome.verdicts[0].worst_minute_s,
    "own_load_percent": lambda _, outcome: 100 * outcome.own_load,
    "proven_cpu_percent": lambda result, _: None if result.proven_cpu is None else 100 * result.proven_cpu,
}
"""The figures of one run."""


def run_json(result: Result) -> dict[str, Any]:
    """One run; the figures are null where no schedule keeps the requirement."""
    outcome = result.outcome
    figures = {name: None if outcome is None else figure(result, outcome) for name, figure in RUN_FIGURES.items()}
    return {"seed": result.seed} | figures


def rows_of(results: Iterable[Result]) -> list[PolicyRow]:
    """One row for neighbours of the same case and policy."""
    groups = groupby(results, key=lambda result: (result.case.workload.name, result.case.requirement, result.label))
    rows = []
    for _, group in groups:
        members = tuple(group)
        rows.append(PolicyRow(members[0].case, members[0].label, members))
    return rows
