"""The facts of a run that are known before its first round."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from mead.history import PastRun
from mead.values import Pipeline


@dataclass(frozen=True)
class RunFacts:
    """The facts that stay the same during a run. Page, history and report begin with them."""

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
        return cls(run.pipeline, run.policy, run.mode, run.engine, run.workload, run.started, run.interval_s)

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
