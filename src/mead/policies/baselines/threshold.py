"""CPU thresholds: the rule of most auto-scalers, and a baseline of the MEAD paper."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from mead.keys import wrong_key
from mead.policies.base import Fraction, Interval, NotReady, RuleKeys, not_ready
from mead.policies.reasons import Utilizations
from mead.policies.registry import register
from mead.policies.rules import StepPlanner, one_down, one_up
from mead.values import Allocation, Knowledge, Observation, Operator, Plan, Resources


class ThresholdOptions(RuleKeys):
    """Raises an operator by one level above a CPU utilization, and lowers it below another."""

    name: Literal["threshold"] = "threshold"
    interval_s: Interval = Field(default=10.0, description="time between two decisions, s")
    high: Fraction = Field(default=0.7, description="utilization above which an operator gets a level more")
    low: Fraction = Field(default=0.5, description="utilization below which an operator gets a level less")

    reacts: ClassVar[bool] = True
    plans_for_requirements: ClassVar[bool] = False

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise wrong_key("low", f"must be below high, which is {self.high:g}; got {self.low:g}")
        return self


@register(ThresholdOptions)
class Threshold:
    """Moves an operator one level by its utilization: up above one bound, down below another.

    Requirements do not matter.
    """

    def __init__(self, options: ThresholdOptions) -> None:
        self.name: str = options.name
        self.interval_s = options.interval_s
        self.high, self.low = options.high, options.low
        self._planner = StepPlanner(options)

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Utilizations | NotReady:
        """CPU time used over CPU time given since the last readings."""
        if unready := not_ready(observation, knowledge.pipeline):
            return unready
        used = (
            observation.operators[o.name].busy_s / (observation.allocation[o.name].cores * observation.interval_s)
            for o in knowledge.pipeline.operators
        )
        names = (operator.name for operator in knowledge.pipeline.operators)
        return Utilizations(tuple(zip(names, used, strict=True)), self.low, self.high)

    def plan(self, observation: Observation, analysis: Utilizations, knowledge: Knowledge) -> Plan:
        """One level up or down for every operator, by its own utilization."""
        utilizations = dict(analysis.by_operator)
        target = Allocation.of(
            {
                o.name: self._target(o, observation.allocation[o.name], utilizations[o.name])
                for o in knowledge.pipeline.operators
            }
        )
        return self._planner.plan(target, observation, knowledge.pipeline, (analysis,))

    def _target(self, operator: Operator, now: Resources, utilization: float) -> Resources:
        if utilization > self.high:
            return one_up(operator, now)
        return one_down(operator, now) if utilization < self.low else now
