"""One allocation for ever: what every other policy has to be better than."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mead.keys import Positive
from mead.policies.base import SlowKeys
from mead.policies.registry import register
from mead.policies.rules import bounded
from mead.policies.steps import kept, moved, unusable
from mead.values import Allocation, Because, Knowledge, Observation, Plan, Resources


class StaticOptions(SlowKeys):
    """One allocation for ever."""

    name: Literal["static"] = "static"
    interval_s: Positive = Field(default=1.0, description="time between two looks at the metrics, s")
    share: Positive | None = Field(
        default=None, description="cores of every operator: its lowest level from this up; default its highest"
    )
    replicas: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="of every operator, as far as it may have them; default its most"
    )

    plans_for_requirements: ClassVar[bool] = False

    @property
    def replicas_asked(self) -> int:
        """The replicas of the options."""
        return self.replicas or 1


@register(StaticOptions)
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
