"""CPU thresholds: the rule that most auto-scalers have, and the MEAD paper's last baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from mead.keys import Positive, wrong_key
from mead.policies.base import Fraction, RuleKeys
from mead.policies.registry import register
from mead.policies.rules import one_down, one_up
from mead.policies.steps import Steps, kept, unusable
from mead.values import Allocation, Knowledge, Observation, Operator, Plan, Resources


class ThresholdOptions(RuleKeys):
    """One level up above a CPU utilization, one level down below another."""

    name: Literal["threshold"] = "threshold"
    interval_s: Positive = Field(default=10.0, description="time between two decisions, s")
    high: Fraction = Field(default=0.7, description="utilization above which an operator gets a level more")
    low: Fraction = Field(default=0.5, description="utilization below which an operator gets a level less")

    reacts: ClassVar[bool] = True
    plans_for_requirements: ClassVar[bool] = False

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise wrong_key("low", f"must be below high, which is {self.high:g}; got {self.low:g}")
        return self


@dataclass(frozen=True)
class Utilizations:
    """CPU time used over CPU time given, by operator; or why it is not known."""

    by_operator: Mapping[str, float]
    unknown: str = ""


@register(ThresholdOptions)
class Threshold:
    """One level up above one utilization, one level down below another. It knows neither arrivals nor requirements."""

    def __init__(self, options: ThresholdOptions) -> None:
        self.name: str = options.name
        self.interval_s = options.interval_s
        self.high, self.low = options.high, options.low
        self._steps = Steps(options)

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Utilizations:
        """How busy every operator was since the last look."""
        unknown = unusable(observation, knowledge.pipeline)
        if unknown:
            return Utilizations({}, unknown)
        return Utilizations(
            {
                o.name: observation.operators[o.name].busy_s
                / (observation.allocation[o.name].cores * observation.interval_s)
                for o in knowledge.pipeline.operators
            }
        )

    def plan(self, observation: Observation, analysis: Utilizations, knowledge: Knowledge) -> Plan:
        """One level up or down for every operator, by its own utilization."""
        if analysis.unknown:
            return kept(observation, knowledge.pipeline, analysis.unknown)
        target = Allocation.of(
            {
                o.name: self._target(o, observation.allocation[o.name], analysis.by_operator[o.name])
                for o in knowledge.pipeline.operators
            }
        )
        busy = ", ".join(f"{name} {used:.2f}" for name, used in analysis.by_operator.items())
        because = f"of utilizations {busy}; up above {self.high:g}, down below {self.low:g}"
        return self._steps.to(target, observation, knowledge.pipeline, because)

    def _target(self, operator: Operator, now: Resources, utilization: float) -> Resources:
        if utilization > self.high:
            return one_up(operator, now)
        return one_down(operator, now) if utilization < self.low else now
