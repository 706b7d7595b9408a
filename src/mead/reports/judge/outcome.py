"""What came of a run: response times against requirements, broken windows, CPU, changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from mead.arrays import FloatArray
from mead.reports.judge.windows import broken_part, window_starts_s
from mead.simulator import Responses, Run
from mead.values import STEP_S, WINDOW_S, Requirement

MINUTE_S = 60.0


@dataclass(frozen=True)
class Verdict:
    """One requirement, after the run."""

    requirement: Requirement
    response_s: float
    """Its mean or percentile over the whole run."""
    broken_windows: float
    """The part of the sliding windows that break it."""
    worst_minute_s: float
    """Its mean or percentile in the worst minute."""

    @property
    def met(self) -> bool:
        """Whether it was met over the whole run."""
        return self.response_s <= self.requirement.bound_s


@dataclass(frozen=True)
class Outcome:
    """All requirements, and what keeping them cost."""

    policy: str
    verdicts: tuple[Verdict, ...]
    cpu: float
    """Time average of the cores per operator: the MEAD paper's CPU percentage, divided by 100."""
    changes: int
    """How often an allocation came into force that was not in force before."""
    duration_s: float
    spent_s: Mapping[str, float] = field(compare=False)
    """CPU seconds that the loop took itself, by phase. In virtual time, to observe is to simulate."""

    @property
    def own_load(self) -> float:
        """The part of a core that the policy takes itself: to analyze, plan and execute."""
        return sum(seconds for phase, seconds in self.spent_s.items() if phase != "observe") / self.duration_s

    @property
    def met(self) -> bool:
        """Whether every requirement was."""
        return all(verdict.met for verdict in self.verdicts)

    @classmethod
    def of(cls, run: Run) -> Outcome:
        """Judge a run."""
        verdicts = []
        for requirement in run.pipeline.requirements:
            responses = run.simulation.responses(requirement.path)
            verdicts.append(
                Verdict(
                    requirement,
                    statistic_s(responses.response_s, requirement),
                    broken_windows(responses, requirement, run.duration_s),
                    max(_by_window(responses, requirement, run.duration_s, MINUTE_S, MINUTE_S)),
                )
            )
        timeline = run.simulation.timeline
        changes = sum(a != b for a, b in pairwise(timeline.allocations))
        spent_s: dict[str, float] = {}
        for this in run.rounds:
            for phase, seconds in this.phase_s.items():
                spent_s[phase] = spent_s.get(phase, 0.0) + seconds
        cpu = timeline.mean_cores_per_operator(run.duration_s)
        return cls(run.policy, tuple(verdicts), cpu, changes, run.duration_s, spent_s)


def statistic_s(response_s: FloatArray, requirement: Requirement) -> float:
    """The mean or the percentile that the requirement is about; 0 where nothing came that could have been late."""
    if response_s.size == 0:
        return 0.0
    if requirement.percent is None:
        return float(response_s.mean())
    return float(np.percentile(response_s, requirement.percent))


def broken_windows(responses: Responses, requirement: Requirement, duration_s: float) -> float:
    """The part of the sliding windows in which the requirement is broken; a tuple counts where it arrived."""
    values = _by_window(responses, requirement, duration_s, min(WINDOW_S, duration_s), STEP_S)
    return broken_part(values, requirement)


def _by_window(
    responses: Responses, requirement: Requirement, duration_s: float, length_s: float, step_s: float
) -> list[float]:
    """The statistic in every window."""
    order = np.argsort(responses.arrival_s, kind="stable")
    arrival_s, response_s = responses.arrival_s[order], responses.response_s[order]
    starts_s = window_starts_s(duration_s, length_s, step_s)
    first, end = np.searchsorted(arrival_s, [starts_s, starts_s + length_s])
    return [statistic_s(response_s[i:j], requirement) for i, j in zip(first, end, strict=True)]
