"""What is known of a run before its first round."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from mead.history import PastRun
from mead.values import Pipeline

ROUND_INTERVAL = "round_interval_s"
"""The key, among the options of a run in a history, of the time between two rounds. The options of the policy need not
tell it: a user's own policy may have none, and a policy with two levels makes rounds more often than plans."""


def interval_s_of(run: PastRun) -> float | None:
    """Seconds between two rounds; None if that was not recorded."""
    found = run.options.get(ROUND_INTERVAL, run.options.get("interval_s"))
    return float(found) if isinstance(found, int | float) and found > 0 else None


@dataclass(frozen=True)
class RunFacts:
    """What does not change during a run."""

    pipeline: Pipeline
    policy: str
    mode: str
    engine: str
    workload: str
    started: str
    """When the run started (ISO 8601)."""
    interval_s: float | None
    """Seconds between two rounds, as the policy says; None if unknown."""

    @classmethod
    def of(cls, run: PastRun) -> RunFacts:
        """The facts of a run in a history."""
        return cls(run.pipeline, run.policy, run.mode, run.engine, run.workload, run.started, interval_s_of(run))

    @property
    def started_s(self) -> float:
        """When the run started, in Unix time."""
        return datetime.fromisoformat(self.started).timestamp()

    @property
    def id(self) -> str:
        """An id that tells this run from the next one served at the same address."""
        return f"{self.started_s:.0f}"

    def as_json(self) -> dict[str, Any]:
        """The beginning of the documents for the page and for a report."""
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
