"""Rows and tables of a live comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from experiments.comparison import PolicyContender
from mead.reports.tables import NOTHING, number, plain_table, plain_text, yes_or_no
from mead.values import Requirement


@dataclass(frozen=True)
class LiveRow:
    """One policy under one requirement."""

    requirement: Requirement
    policy: str
    mean_s: float | None
    p95_s: float | None
    met: bool | None
    """None if unknown, because some tuples did not leave."""
    cores: Mapping[str, float]
    """Time average of the cores given to each operator."""
    replicas: Mapping[str, float]
    """Time average of the replicas, by operator."""
    changes: int
    replayed_mean_s: float
    """From a replay in virtual time, with the demands and overheads that the run had learned at its end."""
    replayed_p95_s: float
    model_error: float | None
    """Error of the policy's own predictions: observed over predicted mean, less 1; None if it predicted nothing."""
    drained: bool
    restarts: Sequence[str]
    """Failures after which a query was restarted."""
    failed_rounds: int
    used: float
    """Cores that the workers of all operators used."""
    throttled: float
    """Cores that the limit kept them from using."""
    java: float | None
    """Cores that Spark itself used."""
    own: float
    """Cores that controller, monitor and display used."""

    @property
    def mean_cores(self) -> float:
        """Per operator: the MEAD paper's CPU percentage, divided by 100."""
        return sum(self.cores.values()) / len(self.cores)

    @property
    def replay_errors(self) -> tuple[float | None, float | None]:
        """Errors of the replayed mean and p95, relative to the measured ones."""
        pairs = ((self.replayed_mean_s, self.mean_s), (self.replayed_p95_s, self.p95_s))
        return tuple(None if not seen else replayed / seen - 1 for replayed, seen in pairs)  # type: ignore[return-value]

    @property
    def prediction_error(self) -> float | None:
        """Error of the mean that the policy predicted, relative to the measured one."""
        return None if self.model_error is None or self.model_error <= -1 else 1 / (1 + self.model_error) - 1

    @property
    def trouble(self) -> str:
        """Failures that affect the row; empty if there were none."""
        found = (
            (len(self.restarts), "restarts"),
            (self.failed_rounds, "failed rounds"),
        )
        said = [f"{times} {what}" for times, what in found if times]
        return ", ".join(said + ["some tuples did not leave"] * (not self.drained))

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        return {
            "requirement": str(self.requirement),
            "policy": self.policy,
            "mean_s": self.mean_s,
            "p95_s": self.p95_s,
            "met": self.met,
            "cpu_share_mean": self.mean_cores,
            "cores": dict(self.cores),
            "replicas_mean": dict(self.replicas),
            "changes": self.changes,
            "replayed": {"mean_s": self.replayed_mean_s, "p95_s": self.replayed_p95_s},
            "replay_error": dict(zip(("mean", "p95"), self.replay_errors, strict=True)),
            "prediction_error": {"mean": self.prediction_error},
            "drained": self.drained,
            "restarts": list(self.restarts),
            "failed_rounds": self.failed_rounds,
            "used_cores": self.used,
            "throttled_cores": self.throttled,
            "spark_cores": self.java,
            "own_cores": self.own,
        }


def in_order(
    rows: Iterable[LiveRow], requirements: Sequence[Requirement], policies: Sequence[PolicyContender]
) -> list[LiveRow]:
    """Sort the rows by requirement and policy, in the order of the command line."""
    labels = [policy.label for policy in policies]
    return sorted(rows, key=lambda row: (requirements.index(row.requirement), labels.index(row.policy)))


def live_table(rows: Sequence[LiveRow], arrivals: str) -> Table:
    """A table for the terminal.

    It shows replicas only if an operator had more than one, requirements only if there are several, and cores of the
    operators in which rows differ.
    """
    operators = list(rows[0].replicas) if rows else []
    several = [name for name in operators if any(row.replicas[name] > 1 for row in rows)]
    given = [name for name in operators if len({f"{row.cores[name]:.2f}" for row in rows}) > 1] or operators
    bounds = {_required(row.requirement) for row in rows}
    required, replicas = ["required"] * (len(bounds) > 1), ["replicas"] * bool(several)
    title = f"Live on Spark, {arrivals}; times in s" + ("" if len(bounds) != 1 else f"; {min(bounds)} is required")
    title += "; cores of " + ":".join(given) if given else ""
    title += "; replicas of " + ":".join(several) if several else ""
    shown = (*required, "mean", "p95", "met", "cores", *replicas, "changes", "replayed", "p95", "predicted")
    table = plain_table(title, "policy", *shown)
    for row in rows:
        errors = [NOTHING if error is None else f"{error:+.0%}" for error in (*row.replay_errors, row.prediction_error)]
        table.add_row(
            Text(row.policy.replace("@", " ")),  # so that a long one breaks there
            *[_required(row.requirement) for _ in required],
            NOTHING if row.mean_s is None else number(row.mean_s),
            NOTHING if row.p95_s is None else number(row.p95_s),
            yes_or_no(met=row.met),
            ":".join(f"{row.cores[name]:.2f}" for name in given),
            *[":".join(f"{row.replicas[name]:.1f}" for name in several) for _ in replicas],
            str(row.changes),
            *errors,
        )
    return table


def troubles(rows: Iterable[LiveRow]) -> list[Text]:
    """A line for each row with failures."""
    return [
        plain_text(f"{row.policy}, {_required(row.requirement)}: {row.trouble}", style="yellow")
        for row in rows
        if row.trouble
    ]


def _required(requirement: Requirement) -> str:
    return f"{requirement.statistic} {requirement.bound_s:g}"
