"""The outcome of a run in virtual time: verdicts on its requirements, CPU, changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from mead.reports.judge.response_times import TupleTimes
from mead.reports.judge.verdict import Verdict, all_met, judge

if TYPE_CHECKING:
    from mead.simulator import SimulatedRun


@dataclass(frozen=True)
class Outcome:
    """The verdicts on all requirements, and the cost."""

    policy: str
    verdicts: tuple[Verdict, ...]
    cpu: float
    """Time average of the cores per operator: the MEAD paper's CPU percentage, divided by 100."""
    changes: int
    """How often the allocation in force changed."""
    duration_s: float
    spent_s: Mapping[str, float] = field(compare=False)
    """CPU seconds of the control loop itself, by phase. In virtual time, to observe is to simulate."""

    @property
    def own_load(self) -> float:
        """Cores that the policy itself uses to analyze, plan and execute."""
        return sum(seconds for phase, seconds in self.spent_s.items() if phase != "observe") / self.duration_s

    @property
    def met(self) -> bool:
        """Whether every requirement is met. In virtual time, this is always known."""
        return bool(all_met(self.verdicts))

    @classmethod
    def of(cls, run: SimulatedRun) -> Outcome:
        """Judge a run."""
        requirements = run.pipeline.requirements
        times = TupleTimes({r.path: run.simulation.responses(r.path) for r in requirements}, run.duration_s)
        timeline = run.simulation.timeline
        changes = sum(a != b for a, b in pairwise(timeline.allocations))
        spent_s: dict[str, float] = {}
        for this in run.rounds:
            for phase, seconds in this.phase_s.items():
                spent_s[phase] = spent_s.get(phase, 0.0) + seconds
        cpu = timeline.mean_cores_per_operator(run.duration_s)
        verdicts = tuple(judge(requirement, times) for requirement in requirements)
        return cls(run.policy, verdicts, cpu, changes, run.duration_s, spent_s)
