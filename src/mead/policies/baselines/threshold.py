"""CPU thresholds: the rule that most auto-scalers have, and the MEAD paper's last baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mead.policies.options import ThresholdOptions
from mead.policies.rules import one_down, one_up
from mead.policies.steps import Steps, kept, unusable
from mead.values import Allocation, Knowledge, Observation, Operator, Plan, Resources


@dataclass(frozen=True)
class Utilizations:
    """CPU time used over CPU time given, by operator; or why it is not known."""

    by_operator: Mapping[str, float]
    unknown: str = ""


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
