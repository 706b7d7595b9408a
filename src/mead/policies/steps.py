"""From a target to a plan: through the planning rules, with the reason in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf

from mead.policies.base import RuleKeys
from mead.policies.rules import Rules
from mead.values import Allocation, Because, Observation, Pipeline, Plan, Prediction


class Steps:
    """Puts the targets of one policy through its rules. It remembers when the allocation last changed.

    What is in force may differ from what was decided: an engine takes its time, and in advise mode nothing is applied.
    So a change is one that an observation shows. It is dated back to the decision that it came from, if there was one.
    """

    def __init__(self, options: RuleKeys) -> None:
        self.rules = Rules(options.one_level_down, options.hold_down_s)
        self._seen: Allocation | None = None
        self._decided: Allocation | None = None
        self._decided_s = -inf
        self._changed_s = -inf

    def to(
        self,
        target: Allocation,
        observation: Observation,
        pipeline: Pipeline,
        because: str,
        predicted: Callable[[Allocation], Mapping[str, Prediction]] = lambda _: {},
        *,
        enough: bool = True,
    ) -> Plan:
        """The plan that leads towards a target.

        ``because`` says why this is the target, ``enough`` whether it meets all requirements: perhaps nothing does.
        """
        now, allocation = observation.allocation, self.limited(target, observation, pipeline)
        what = "keep" if allocation == now else moved(now, allocation)
        rule = (
            "" if allocation == target else f" (target {moved(now, target) or 'keep'}; the planning rules allow less)"
        )
        word = Because.RULES if allocation != target else Because.of(now, target)
        return Plan(
            allocation,
            target,
            f"{what}{rule}, because {because}",
            predicted(allocation),
            because=word if enough else Because.IMPOSSIBLE,
        )

    def limited(self, target: Allocation, observation: Observation, pipeline: Pipeline) -> Allocation:
        """What the rules leave of a target now."""
        self._notice(observation)
        since_s = observation.time_s - self._changed_s
        allocation = self.rules.limited(target, observation.allocation, pipeline, since_change_s=since_s)
        if allocation != observation.allocation:
            self._decided, self._decided_s = allocation, observation.time_s
        return allocation

    def _notice(self, observation: Observation) -> None:
        now = observation.allocation
        if self._seen is not None and now != self._seen:
            self._changed_s = self._decided_s if now == self._decided else observation.time_s
        self._seen = now


def kept(observation: Observation, pipeline: Pipeline, why: str) -> Plan:
    """Keep what is in force, because nothing can be decided: readings are of no use, or there were too few."""
    because = Because.UNUSABLE if unusable(observation, pipeline) else Because.TOO_FEW
    return Plan.keep(observation.allocation, why, because)


def moved(now: Allocation, then: Allocation) -> str:
    """What changes, such as ``matcher 0.4 -> 0.55``."""
    return ", ".join(f"{name} {now[name]} -> {then[name]}" for name in now if then[name] != now[name])


def unusable(observation: Observation, pipeline: Pipeline) -> str:
    """Why nothing can be decided from these readings; empty if something can.

    Readings that are missing or cannot be true never come here: the loop sees to that. But true readings may say
    nothing: a pipeline in which nothing arrived, waited or ran cannot be told from a broken monitor. It is left alone.
    """
    for operator in pipeline.operators:
        if observation.allocation[operator.name].cores <= 0:
            return f"{operator.name} has nothing to run on"
    readings = [observation.operators[operator.name] for operator in pipeline.operators]
    if not any(reading.arrived or reading.completed or reading.backlog for reading in readings):
        return "nothing arrived, waited or was served since the last readings"
    return ""
