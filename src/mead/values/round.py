"""One turn of the control loop, as it goes into the history."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mead.arrays import frozen
from mead.values.allocation import Allocation
from mead.values.observation import Observation
from mead.values.plan import Plan
from mead.values.reason import Because


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

    def since(self, before: Allocation | None) -> Allocation | None:
        """What was in force before the round: ``before``, or if that is unknown, the allocation of its readings."""
        return before if before is not None or self.observation is None else self.observation.allocation

    def changes(self, before: Allocation | None, advised: Allocation | None) -> bool:
        """Whether the plan differs from what was in force, or from what was ``advised`` last, if there is advice."""
        return self.plan is not None and self.plan.allocation != (advised or self.since(before))

    @property
    def because(self) -> Because:
        """The reason in one word: what went wrong comes first, then what the policy says."""
        if self.error:
            return Because.FAILED
        if self.observation is not None and self.observation.missing:
            return Because.UNUSABLE
        return Because.OBSERVED if self.plan is None else self.plan.because

    def expected_mean_s(self, path: str, *, advised: bool) -> float | None:
        """What the policy's model predicts for what is in force from now on: the only prediction that can be checked.

        Where plans are orders, this is what was predicted for the plan if it was applied. Where they are only
        ``advised``, it is what was predicted for leaving things as they are, even if the plan is to do just that: its
        prediction may count on the policy's next plans, which nobody will follow.
        """
        plan = self.plan
        if plan is None:
            return None
        applied = plan.allocation == self.in_force
        if not applied or (advised and path in plan.kept_mean_s):
            return plan.kept_mean_s.get(path)
        return plan.predicted[path].mean_s if path in plan.predicted else None

    def without_arrivals(self) -> Round:
        """The round without IATs and counts, to be kept: with them, rounds would fill the memory within hours."""
        if self.observation is None:
            return self
        return replace(self, observation=replace(self.observation, iats_s=NOTHING, counts=NOTHING))


NOTHING = frozen([])
