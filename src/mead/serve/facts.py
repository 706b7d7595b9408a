"""What is known of a run before its first round."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from mead.knowledge.history.values import PastRun
from mead.knowledge.pipeline import Pipeline

ROUND_INTERVAL = "round_interval_s"
"""Among the options of a run in a history: how often its loop turns, which the policy's own need not tell. One of
somebody else keeps it to itself, and one with two levels turns more often than it plans."""


def interval_s_of(run: PastRun) -> float | None:
    """Between two rounds; None where that was not written down."""
    found = run.options.get(ROUND_INTERVAL, run.options.get("interval_s"))
    return float(found) if isinstance(found, int | float) and found > 0 else None


@dataclass(frozen=True)
class RunFacts:
    """What does not change while it runs."""

    pipeline: Pipeline
    policy: str
    mode: str
    engine: str
    workload: str
    started: str
    """ISO 8601."""
    interval_s: float | None
    """Between two rounds, as the policy asks for; None where that is not known."""

    @classmethod
    def of(cls, run: PastRun) -> RunFacts:
        """As a history tells them."""
        return cls(run.pipeline, run.policy, run.mode, run.engine, run.workload, run.started, interval_s_of(run))

    @property
    def started_s(self) -> float:
        """Unix time."""
        return datetime.fromisoformat(self.started).timestamp()

    @property
    def id(self) -> str:
        """What tells this run from the next one that is served at the same address."""
        return f"{self.started_s:.0f}"

    def as_json(self) -> dict[str, Any]:
        """As the page and a report begin with."""
        pipeline = self.pipeline
        return {
            "pipeline": asdict(pipeline) | {"paths": pipeline.paths, "order": pipeline.order},
            "policy": self.policy,
            "mode": self.mode,
            "engine": self.engine,
            "workload": self.workload,
            "started": self.started,
            "interval_s": self.interval_s,
        }
