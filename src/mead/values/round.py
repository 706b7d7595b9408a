"""One round of the control loop: readings, estimates, decision, allocation in force."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mead.arrays import frozen
from mead.values.allocation import Allocation
from mead.values.observation import Observation
from mead.values.pipeline import Pipeline
from mead.values.plan import Plan
from mead.values.reason import Cause


@dataclass(frozen=True)
class Round:
    """One turn of the control loop. Page, report, history and savings read all they show from rounds."""

    time_s: float
    observation: Observation | None = None
    """None if the engine did not answer."""
    plan: Plan | None = None
    """None in mode observe."""
    error: str = ""
    """The phase that failed and the reason; empty if none failed."""
    phase_s: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds by phase."""
    in_force: Allocation | None = None
    """The allocation in force, or ordered, at the end of the round."""
    demands_s: Mapping[str, float] = field(default_factory=dict)
    """By operator, the demand of a tuple as learned up to this round; empty if unknown."""
    overheads_s: Mapping[str, float] = field(default_factory=dict)
    """By operator that works in micro-batches, their learned overhead; empty if unknown."""

    def learned(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with the demands and overheads learned up to this round."""
        return pipeline.with_demands(self.demands_s, self.overheads_s)

    def since(self, before: Allocation | None) -> Allocation | None:
        """The allocation in force before the round: ``before``, or if that is None, the one of the readings."""
        return before if before is not None or self.observation is None else self.observation.allocation

    def changes(self, before: Allocation | None, advised: Allocation | None) -> bool:
        """Whether the plan differs from the last ``advised`` one, or without advice from the allocation in force."""
        return self.plan is not None and self.plan.allocation != (advised or self.since(before))

    @property
    def cause(self) -> Cause:
        """The reason as a category: errors first, then missing readings, then the reason of the policy."""
        if self.error:
            return Cause.FAILED
        if self.observation is not None and self.observation.missing:
            return Cause.UNUSABLE
        return Cause.OBSERVED if self.plan is None else self.plan.reason.cause

    def expected_mean_s(self, path: str, *, advised: bool) -> float | None:
        """The mean response time that the model predicts for the allocation in force after this round.

        This is the only prediction that later observations can confirm. In mode act it is the prediction for the plan,
        if the plan was applied. With ``advised`` plans it is the prediction for keeping the allocation, even if the
        plan keeps it too: the prediction for a plan may count on later plans, which are not applied in mode advise.
        """
        plan = self.plan
        if plan is None:
            return None
        applied = plan.allocation == self.in_force
        if not applied or (advised and path in plan.kept_mean_s):
            return plan.kept_mean_s.get(path)
        return plan.predicted[path].mean_s if path in plan.predicted else None

    def without_arrivals(self) -> Round:
        """The round without IATs and counts, which would fill the memory within hours."""
        if self.observation is None:
            return self
        return replace(self, observation=replace(self.observation, iats_s=NO_ARRIVALS, counts=NO_ARRIVALS))


NO_ARRIVALS = frozen([])
