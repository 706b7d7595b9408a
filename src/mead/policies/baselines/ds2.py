"""Scaling by rates, as in Flink's autoscaler.

After DS2 (Kalavri et al., "Three steps is all you need", OSDI 2018).
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from mead.keys import Positive
from mead.policies.base import Fraction, Interval, NotReady, RuleKeys, not_ready
from mead.policies.reasons import RateNeed, TargetUtilization
from mead.policies.registry import register
from mead.policies.rules import ROUNDING, StepPlanner
from mead.values import Allocation, Knowledge, Observation, Operator, Pipeline, Plan, Resources


class DS2Options(RuleKeys):
    """Sizes operators by their input rates, as Flink's autoscaler does."""

    name: Literal["ds2"] = "ds2"
    interval_s: Interval = Field(default=60.0, description="time between two decisions, s")
    target_utilization: Fraction = Field(default=0.7, description="utilization that an operator should have")
    boundary: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="tolerated difference of the utilization from its target"
    )
    catch_up_s: Positive = Field(default=300.0, description="time in which a backlog should be cleared, s")

    plans_for_requirements: ClassVar[bool] = False


@register(DS2Options)
class DS2:
    """Gives the cores that the input rates need at a target utilization.

    Further cores let it catch up with the backlog in time.

    The rate at the source is carried through the pipeline by ``visits``. The capacity of an operator is its cores over
    the demand of a tuple. Within the boundaries around the target nothing changes. Requirements do not matter.
    """

    def __init__(self, options: DS2Options) -> None:
        self.name: str = options.name
        self.interval_s, self.catch_up_s = options.interval_s, options.catch_up_s
        self.target = options.target_utilization
        self.high = min(self.target + options.boundary, 1.0)
        self.low = max(self.target - options.boundary, 0.0)
        self._planner = StepPlanner(options)

    def analyze(self, observation: Observation, knowledge: Knowledge) -> dict[str, RateNeed] | NotReady:
        """The rates of every operator."""
        pipeline = knowledge.pipeline
        if unready := not_ready(observation, pipeline):
            return unready
        arrived = max(observation.operators[name].arrived / pipeline.visits[name] for name in pipeline.sources)
        pending = self._pending(pipeline, observation)
        return {
            o.name: RateNeed(
                o.name,
                arrived / observation.interval_s * pipeline.visits[o.name],
                pending[o.name] / self.catch_up_s,
                observation.allocation[o.name].cores / o.demand_s,
            )
            for o in pipeline.operators
        }

    def plan(self, observation: Observation, analysis: dict[str, RateNeed], knowledge: Knowledge) -> Plan:
        """The cores of every operator from its own rates."""
        pipeline = knowledge.pipeline
        target = Allocation.of(
            {o.name: self._target(o, observation.allocation[o.name], analysis[o.name]) for o in pipeline.operators}
        )
        facts = (*analysis.values(), TargetUtilization(self.target, self.low, self.high))
        return self._planner.plan(target, observation, pipeline, facts)

    def _target(self, operator: Operator, now: Resources, rates: RateNeed) -> Resources:
        least_per_s = rates.input_per_s / self.high + rates.catch_up_per_s
        tolerated = self.low == 0 or rates.capacity_per_s <= rates.input_per_s / self.low + rates.catch_up_per_s
        if rates.capacity_per_s >= least_per_s and tolerated:
            return now
        cores = operator.demand_s * (rates.input_per_s / self.target + rates.catch_up_per_s)
        return cheapest_with(cores, operator)

    @staticmethod
    def _pending(pipeline: Pipeline, observation: Observation) -> dict[str, float]:
        """Tuples that every operator still has to serve: its own backlog, and what backlogs upstream will send it."""
        backlog = np.array([observation.operators[o.name].backlog for o in pipeline.operators], dtype=np.float64)
        pending = np.linalg.solve(np.eye(backlog.size) - pipeline.gains.T, backlog)
        return {o.name: float(p) for o, p in zip(pipeline.operators, pending, strict=True)}


def cheapest_with(cores: float, operator: Operator) -> Resources:
    """The cheapest resources with at least ``cores`` cores; the most that it may have if that is not enough.

    >>> cheapest_with(1.2, Operator("matcher", 0.001, max_replicas=4))
    Resources(share=0.4, replicas=3)
    """
    return next((level for level in operator.levels if level.cores >= cores - ROUNDING), operator.most)
