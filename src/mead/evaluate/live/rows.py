"""What one policy made of one requirement live on Spark, in a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from mead.evaluate.comparison import PolicyContender
from mead.evaluate.tables import NOTHING, number, plain_table
from mead.knowledge.requirement import Requirement


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
    replicas: Mapping[str, float]
    """By operator, the time average."""
    changes: int
    predicted_mean_s: float
    predicted_p95_s: float
    used: float
    """Cores that the workers of all operators used."""
    throttled: float
    """Cores that they were ready to use and were held back from."""
    java: float | None
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
            "replicas_mean": dict(self.replicas),
            "changes": self.changes,
            "predicted": {"mean_s": self.predicted_mean_s, "p95_s": self.predicted_p95_s},
            "error": dict(zip(("mean", "p95"), self.errors, strict=True)),
            "used_cores": self.used,
            "throttled_cores": self.throttled,
            "spark_cores": self.java,
            "own_cores": self.own,
        }


def in_order(
    rows: Iterable[LiveRow], requirements: Sequence[Requirement], policies: Sequence[PolicyContender]
) -> list[LiveRow]:
    """By requirement and policy as they were asked for, in whichever order they were run."""
    labels = [policy.label for policy in policies]
    return sorted(rows, key=lambda row: (requirements.index(row.requirement), labels.index(row.policy)))


def live_table(rows: Sequence[LiveRow]) -> Table:
    """For a terminal. Replicas are shown where anybody had more than one, requirements where there are several."""
    operators = list(rows[0].replicas) if rows else []
    several = [name for name in operators if any(row.replicas[name] > 1 for row in rows)]
    bounds = {_required(row.requirement) for row in rows}
    required, replicas = ["required"] * (len(bounds) > 1), ["replicas"] * bool(several)
    title = "Live on Spark, times in s" + ("" if len(bounds) != 1 else f"; {min(bounds)} is required")
    title += "; replicas of " + ":".join(several) if several else ""
    shown = (*required, "mean", "p95", "met", "CPU", *replicas, "changes", "foreseen", "p95")
    table = plain_table(title, "policy", *shown)
    for row in rows:
        errors = [NOTHING if error is None else f"{error:+.0%}" for error in row.errors]
        table.add_row(
            Text(row.policy.replace("@", " ")),  # so that a long one breaks there
            *[_required(row.requirement) for _ in required],
            NOTHING if row.mean_s is None else number(row.mean_s),
            NOTHING if row.p95_s is None else number(row.p95_s),
            Text("yes", style="green") if row.met else Text("NO", style="bold red"),
            f"{row.cores:.1%}",
            *[":".join(f"{row.replicas[name]:.1f}" for name in several) for _ in replicas],
            str(row.changes),
            *errors,
        )
    return table


def _required(requirement: Requirement) -> str:
    return f"{requirement.statistic} {requirement.bound_s:g}"
