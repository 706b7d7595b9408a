"""One allocation for ever: what every other policy has to be better than."""

from __future__ import annotations

from mead.policies.options import StaticOptions
from mead.policies.rules import bounded
from mead.policies.steps import kept, moved, unusable
from mead.values import Allocation, Because, Knowledge, Observation, Plan, Resources


class Static:
    """Gives every operator the same share, on all replicas that it may have or on as many as are asked for."""

    def __init__(self, options: StaticOptions) -> None:
        self.name: str = options.name
        self.interval_s, self.share, self.replicas = options.interval_s, options.share, options.replicas

    def analyze(self, observation: Observation, knowledge: Knowledge) -> str:
        """Why nothing can be done now; empty if something can."""
        return unusable(observation, knowledge.pipeline)

    def plan(self, observation: Observation, analysis: str, knowledge: Knowledge) -> Plan:
        """The allocation that was asked for."""
        if analysis:
            return kept(observation, knowledge.pipeline, analysis)
        target = Allocation.of(
            {
                o.name: bounded(Resources(self.share or o.shares[-1], self.replicas or o.max_replicas), o)
                for o in knowledge.pipeline.operators
            }
        )
        fixed = "the highest levels are fixed" if self.share is None else f"a share of {self.share:g} is fixed"
        if self.replicas is not None:
            fixed += f" on {self.replicas} replicas"
        if target == observation.allocation:
            return Plan.keep(target, f"{fixed}: {target}", Because.FIXED)
        reason = f"{moved(observation.allocation, target)}, because {fixed}"
        return Plan(target, target, reason, because=Because.FIXED)
