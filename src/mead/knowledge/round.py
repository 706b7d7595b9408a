"""One turn of the control loop, as it goes into the history."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mead.knowledge.allocation import Allocation
from mead.knowledge.observation import Observation
from mead.knowledge.plan import Plan
from mead.models.arrays import frozen


@dataclass
class Round:
    """What was seen, what was decided, and what is in force since."""

    time_s: float
    observation: Observation | None = None
    """None if the engine had none to give."""
    plan: Plan | None = None
    """None for a loop that only observes."""
    error: str = ""
    """In which phase the round failed, and why; empty if it did not."""
    phase_s: dict[str, float] = field(default_factory=dict)
    """CPU seconds by phase."""
    in_force: Allocation | None = None
    """What the loop believes to be in force, or ordered, when the round is over."""

    def without_arrivals(self) -> Round:
        """To be kept: a window of IATs in every round would fill the memory within hours."""
        if self.observation is None:
            return self
        return replace(self, observation=replace(self.observation, iats_s=NOTHING, counts=NOTHING))


NOTHING = frozen([])
