"""A policy of one's own: cores for all that arrives, and for clearing up what waits within a part of the bound."""

from mead.policies.rules import bounded
from mead.policies.steps import moved, unusable
from mead.values import Allocation, Knowledge, Observation, Plan, Resources


class ClearUp:
    """Decides every second. ``within``: a backlog is to be gone within this part of the strictest bound."""

    name = "clear-up"

    def __init__(self, interval_s: float = 1.0, within: float = 0.5) -> None:
        self.interval_s, self.within = interval_s, within

    def analyze(self, seen: Observation, knowledge: Knowledge) -> dict[str, float] | str:
        """Cores that every operator needs; or, in words, why that cannot be told."""
        if why := unusable(seen, knowledge.pipeline):
            return why
        clear_s = self.within * min((r.bound_s for r in knowledge.pipeline.requirements), default=1.0)
        demand_s = {operator.name: operator.demand_s for operator in knowledge.pipeline.operators}
        return {
            name: demand_s[name] * (reading.arrived / seen.interval_s + reading.backlog / clear_s)
            for name, reading in seen.operators.items()
        }

    def plan(self, seen: Observation, analysis: dict[str, float] | str, knowledge: Knowledge) -> Plan:
        """The lowest level of every operator that is enough."""
        if isinstance(analysis, str):
            return Plan.keep(seen.allocation, analysis)
        target = Allocation.of({o.name: bounded(Resources(analysis[o.name]), o) for o in knowledge.pipeline.operators})
        because = ", ".join(f"{name} needs {cores:.2f} cores" for name, cores in analysis.items())
        if target == seen.allocation:
            return Plan.keep(target, because)
        return Plan(target, target, f"{moved(seen.allocation, target)}, because {because}")
