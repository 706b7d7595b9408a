"""A live run replayed in virtual time.

It has the same arrivals, and the demands and overheads that the run learned.

With the allocations of the run, the replay shows how well the model of micro-batches describes Spark. With other
allocations, it shows the response times that these would have brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mead.arrays import FloatArray
from mead.reports.judge import Verdict, statistic_s
from mead.reports.runs.live_report import LiveReport
from mead.session.result import LiveResult
from mead.simulator import Simulation
from mead.values import Allocation, Pipeline
from mead.workload.trace import Trace

SEED = 0


def replay_run(
    result: LiveResult, arrivals: Path, timeline: Sequence[tuple[float, Allocation]]
) -> Mapping[str, FloatArray]:
    """Response times by path under these allocations, each from its time on.

    ``arrivals`` is the file of arrivals of the run, in real time.
    """
    stamps_us = np.load(arrivals, allow_pickle=False)[result.first : result.first + result.tuples]
    trace = Trace.from_timestamps_us(stamps_us - stamps_us[0])
    simulation = Simulation(learned_pipeline(result), trace, SEED)
    for time_s, allocation in timeline:
        simulation.advance(min(time_s, trace.duration_s))
        simulation.apply(allocation)
    simulation.advance(trace.duration_s)
    simulation.drain()
    return {path: simulation.responses(path).response_s for path in result.pipeline.paths}


def learned_pipeline(result: LiveResult) -> Pipeline:
    """The pipeline with the demands and overheads that the run learned."""
    return result.pipeline.with_demands(result.demands_s, result.overheads_s)


@dataclass(frozen=True)
class FullShare:
    """A live run compared with its replay at full shares."""

    cores: float
    """Per operator, at full shares."""
    responses_s: tuple[float, ...]
    """At full shares, one for each requirement."""
    given: float
    """Cores per operator in the live run."""
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, report: LiveReport, arrivals: Path) -> FullShare:
        """Replay the run at full shares. ``arrivals`` is the file of arrivals of the run."""
        result = report.result
        responses = replay_run(result, arrivals, [(0.0, result.pipeline.most)])
        return cls(
            result.pipeline.most.mean_cores,
            tuple(statistic_s(responses[r.path], r) for r in result.pipeline.requirements),
            result.mean_cores,
            report.verdicts,
        )

    def __str__(self) -> str:
        times = "; ".join(
            f"{live.requirement}: {live.response_s:.2f} s here, {full_s:.2f} s with full shares"
            for live, full_s in zip(self.verdicts, self.responses_s, strict=True)
            if live.response_s is not None
        )
        return (
            f"Full shares would have been {self.cores:.2f} cores for each operator (replayed in virtual time with the "
            f"learned demands); this run gave {self.given:.2f}, {1 - self.given / self.cores:.0%} less. {times}"
        )

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        required = [str(verdict.requirement) for verdict in self.verdicts]
        return {"cpu_share_mean": self.cores, "responses_s": dict(zip(required, self.responses_s, strict=True))}
