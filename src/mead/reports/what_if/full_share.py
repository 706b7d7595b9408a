"""What a live run would have been like with all operators at full share all the time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mead.reports.judge import Verdict, statistic_s
from mead.reports.runs.live_report import LiveReport
from mead.reports.what_if.twin import twin


@dataclass(frozen=True)
class FullShare:
    """Full shares beside what was given."""

    cores: float
    """Per operator."""
    responses_s: tuple[float, ...]
    """One for each requirement."""
    given: float
    """Cores per operator in the run."""
    verdicts: tuple[Verdict, ...]

    @classmethod
    def of(cls, report: LiveReport, arrivals: Path) -> FullShare:
        """Replay the run in virtual time, with what it has learned. ``arrivals`` is a file of the run."""
        result = report.result
        responses = twin(result, arrivals, [(0.0, result.pipeline.most)])
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
            f"Full shares would have been {self.cores:.2f} cores for each operator (replayed in virtual time with what "
            f"was learned); this run gave {self.given:.2f}, {1 - self.given / self.cores:.0%} less. {times}"
        )

    def as_json(self) -> dict[str, Any]:
        """As a document for scripts."""
        required = [str(verdict.requirement) for verdict in self.verdicts]
        return {"cpu_share_mean": self.cores, "responses_s": dict(zip(required, self.responses_s, strict=True))}
