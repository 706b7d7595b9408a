"""Two levels of adaptation for any policy that decides slowly: between its decisions, hot micro-batches are split.

The idea is that of the Elastic-PPQ paper. There, an inner level splits hot panes over more workers within
fractions of a second, because the outer level, which sets their number, is too slow for bursts. Here a policy plans
shares and replicas in its own time, and every second an operator at which more waits than its tasks can clear soon
gets more tasks, as many as it may have, for as long as that lasts. A number of tasks costs Spark nothing to change: it
counts from the next micro-batch on.

The paper finds the size above which a pane is split by a regulator on the utilization, for it does not know what a
tuple costs. The loop has learned that, so the size follows at once: what a task can do until the next look, or within
the bound of the response time if that is shorter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from mead.policies.base import Policy
from mead.policies.interval_merge import merged
from mead.policies.rules import ROUNDING
from mead.policies.steps import kept, moved, unusable
from mead.queueing import PATH_SEPARATOR
from mead.values import Allocation, Because, Knowledge, Observation, Operator, Pipeline, Plan, Resources

LOOK_S = 1.0
"""Time between two looks at what waits."""


@dataclass(frozen=True)
class Turn:
    """A turn of the slow policy: what has happened since its last one, and its analysis of that."""

    observation: Observation
    analysis: Any


class TwoLevel:
    """A slow policy that sets the least number of tasks, and splitting on top of it."""

    def __init__(self, slow: Policy) -> None:
        self.slow, self.name = slow, f"{slow.name}, two levels"
        self.interval_s = min(LOOK_S, slow.interval_s)
        self._looks: list[Observation] = []
        self._due_s = slow.interval_s
        self._planned: Plan | None = None
        self._level: Allocation | None = None
        """What the slow policy has planned, or before that what a run has started with."""
        self._orders: list[Allocation] = []
        """Orders since the slow policy's last turn: any of them may be in force by now."""

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Turn | None:
        """Collect what is seen until it is the slow policy's turn. None in between."""
        if not unusable(observation, knowledge.pipeline):
            self._looks.append(observation)
        if observation.time_s < self._due_s - ROUNDING or not self._looks:
            return None
        whole = replace(merged(self._looks), allocation=self._base(observation), time_s=observation.time_s)
        self._looks, self._due_s = [], observation.time_s + self.slow.interval_s
        self._orders.clear()
        return Turn(whole, self.slow.analyze(whole, knowledge))

    def plan(self, observation: Observation, analysis: Turn | None, knowledge: Knowledge) -> Plan:
        """What the slow policy has planned, and more tasks where more waits than that can clear."""
        if analysis is not None:
            self._planned = self.slow.plan(analysis.observation, analysis.analysis, knowledge)
        elif unknown := unusable(observation, knowledge.pipeline):
            return kept(observation, knowledge.pipeline, unknown)
        base = self._base(observation) if self._planned is None else self._planned.allocation
        self._level = base
        ordered = split(base, observation, knowledge.pipeline)
        self._orders.append(ordered)
        if analysis is not None and self._planned is not None and ordered == base:
            return self._planned
        more = [name for name in base if ordered[name] != base[name]]
        hot = [f"{observation.operators[name].backlog} tuples wait at {name}" for name in more]
        because = " and ".join(hot) or f"no more waits than {base} clears soon"
        what = moved(observation.allocation, ordered) or "keep"
        word = Because.of(observation.allocation, ordered)
        return Plan(ordered, base, f"{what}, because {because}; planned: {base}", because=word)

    def _base(self, observation: Observation) -> Allocation:
        """What is in force without the tasks that were added; or all of it, if somebody else set it.

        Orders take time to act, so what is in force may be an order of some seconds ago.
        """
        if self._level is None or observation.allocation not in self._orders:
            return observation.allocation
        return self._level


def split(base: Allocation, observation: Observation, pipeline: Pipeline) -> Allocation:
    """Every operator with as many tasks as clear what waits there in time, and no fewer than planned."""
    return Allocation.of(
        {
            o.name: _tasks(o, base[o.name], observation.operators[o.name].backlog, within_s(o.name, pipeline))
            for o in pipeline.operators
        }
    )


def within_s(operator: str, pipeline: Pipeline) -> float:
    """How soon what waits at an operator should be done."""
    bounds_s = (r.bound_s for r in pipeline.requirements if operator in r.path.split(PATH_SEPARATOR))
    return min([LOOK_S, *bounds_s])


def _tasks(operator: Operator, base: Resources, backlog: int, soon_s: float) -> Resources:
    """As many tasks as it takes for each to get no more than it can do within ``soon_s``.

    >>> _tasks(Operator("matcher", demand_s=0.002, max_replicas=8), Resources(0.5), backlog=600, soon_s=1.0)
    Resources(share=0.5, replicas=3)
    """
    each = base.share * soon_s / operator.demand_s
    wanted = ceil(backlog / each - ROUNDING)
    return Resources(base.share, max(base.replicas, min(wanted, operator.max_replicas)))
