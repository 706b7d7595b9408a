"""A fixed allocation: the baseline that every other policy has to beat."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from mead.keys import Positive
from mead.policies.base import Interval, NotReady, SlowKeys, not_ready
from mead.policies.reasons import Fixed
from mead.policies.registry import register
from mead.policies.rules import within_limits
from mead.values import Allocation, Cause, Knowledge, Observation, Plan, Resources


class StaticOptions(SlowKeys):
    """A fixed allocation."""

    name: Literal["static"] = "static"
    interval_s: Interval = Field(default=1.0, description="time between two readings of the metrics, s")
    share: Positive | None = Field(
        default=None, description="cores of every operator, raised to its next level; default its highest level"
    )
    replicas: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="replicas of every operator, within its limits; default its most"
    )

    plans_for_requirements: ClassVar[bool] = False

    @property
    def replicas_asked(self) -> int:
        """The replicas of the options."""
        return self.replicas or 1


@register(StaticOptions)
class Static:
    """Gives every operator the same share, on all replicas that it may have or on a given number."""

    def __init__(self, options: StaticOptions) -> None:
        self.name: str = options.name
        self.interval_s, self.share, self.replicas = options.interval_s, options.share, options.replicas

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Allocation | NotReady:
        """The fixed allocation, within the limits of every operator."""
        return not_ready(observation, knowledge.pipeline) or Allocation.of(
            {
                o.name: within_limits(Resources(self.share or o.shares[-1], self.replicas or o.max_replicas), o)
                for o in knowledge.pipeline.operators
            }
        )

    def plan(self, observation: Observation, analysis: Allocation, knowledge: Knowledge) -> Plan:
        """The fixed allocation."""
        del knowledge
        return Plan.move(observation.allocation, analysis, Fixed(self.share, self.replicas), cause=Cause.FIXED)
