"""A policy in one file: cores for all arrivals, and to clear each queue within a part of the bound."""

from mead.policies import NotReady, not_ready, within_limits
from mead.values import Allocation, Knowledge, Observation, Plan, Resources


class ClearUp:
    """Decides every second. ``within`` is the part of the strictest bound in which a backlog should be gone."""

    name = "clear-up"

    def __init__(self, interval_s: float = 1.0, within: float = 0.5) -> None:
        self.interval_s, self.within = interval_s, within

    def analyze(self, seen: Observation, knowledge: Knowledge) -> dict[str, float] | NotReady:
        """The cores that every operator needs."""
        if unready := not_ready(seen, knowledge.pipeline):
            return unready
        clear_s = self.within * min((r.bound_s for r in knowledge.pipeline.requirements), default=1.0)
        demand_s = {operator.name: operator.demand_s for operator in knowledge.pipeline.operators}
        return {
            name: demand_s[name] * (reading.arrived / seen.interval_s + reading.backlog / clear_s)
            for name, reading in seen.operators.items()
        }

    def plan(self, seen: Observation, analysis: dict[str, float], knowledge: Knowledge) -> Plan:
        """The lowest level of every operator that has these cores."""
        operators = knowledge.pipeline.operators
        target = Allocation.of({o.name: within_limits(Resources(analysis[o.name]), o) for o in operators})
        needs = (f"{name} needs {cores:.2f} cores" for name, cores in analysis.items())
        return Plan.move(seen.allocation, target, *needs)
