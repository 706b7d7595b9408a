"""What a live run would have been with all operators at full share all the time: replayed in virtual time.

The same arrivals, with the demands and the overheads of micro-batches that the run has learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mead.config.policies import StaticOptions
from mead.evaluate.experiment import run
from mead.evaluate.live_report import LiveReport
from mead.evaluate.outcome import Outcome
from mead.knowledge.pipeline import Pipeline
from mead.live import LiveResult
from mead.plan import registry
from mead.workload.trace import Trace

SEED = 0


@dataclass(frozen=True)
class FullShare:
    """Full shares beside what was given."""

    outcome: Outcome
    given: float
    """Cores per operator in the run."""

    def sentence(self, report: LiveReport) -> str:
        """For people."""
        saved = 1 - self.given / self.outcome.cpu
        pairs = zip(report.verdicts, self.outcome.verdicts, strict=True)
        times = "; ".join(
            f"{live.requirement}: {live.response_s:.2f} s here, {full.response_s:.2f} s with full shares"
            for live, full in pairs
            if live.response_s is not None
        )
        return (
            f"All operators at full share would have been given {self.outcome.cpu:.2f} cores each (replayed in virtual "
            f"time with what was learned); this run gave {self.given:.2f}, {saved:.0%} less. {times}"
        )

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {
            "cpu_share_mean": self.outcome.cpu,
            "responses_s": {str(one.requirement): one.response_s for one in self.outcome.verdicts},
        }


def full_share(result: LiveResult, arrivals: Path) -> FullShare:
    """Replay the arrivals of a run, from the file in its folder."""
    operators = [
        replace(
            operator,
            demand_s=result.demands_s[operator.name],
            batches=operator.batches and replace(operator.batches, overhead_s=result.overheads_s[operator.name]),
        )
        for operator in result.pipeline.operators
    ]
    pipeline = Pipeline(result.pipeline.name, operators, result.pipeline.edges, result.pipeline.requirements)
    trace = Trace.from_timestamps_s(np.load(arrivals, allow_pickle=False) / 1e6).between(0.0, result.duration_s)
    policy = registry.policy(StaticOptions(name="static"))
    return FullShare(Outcome.of(run(pipeline, trace, policy, seed=SEED)), result.mean_cores)
