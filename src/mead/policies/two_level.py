"""Two levels of adaptation for a policy that decides slowly: between its decisions, long queues are split.

The idea is that of the Elastic-PPQ paper: an inner level splits hot panes over more workers within fractions of a
second, because the outer level, which sets their number, is too slow for bursts. Here a policy plans shares and
replicas in its own time. Every second, an operator whose queue its tasks cannot clear soon gets more tasks, for as long
as the queue lasts. Spark changes a number of tasks at no cost: it counts from the next micro-batch on.

The paper finds the size above which a pane is split by a regulator on the utilization. The loop knows the demand of a
tuple, so the size follows at once: the work of a task until the next look, or within the bound if that is shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil

from mead.policies.base import NotReady, Policy, decide, not_ready
from mead.policies.reasons import Backlog, Planned, ShortQueues
from mead.policies.rules import ROUNDING
from mead.queueing import PATH_SEPARATOR
from mead.values import (
    Allocation,
    Cause,
    Knowledge,
    Move,
    Observation,
    Operator,
    OperatorReading,
    PathReading,
    Pipeline,
    Plan,
    Reason,
    Resources,
)

LOOK_S = 1.0
"""Time between two looks at the queues."""


@dataclass(frozen=True)
class SplitRound:
    """One round: a new plan of the slow policy if it is its turn, otherwise only splits."""

    plan: Plan | None


class TwoLevel:
    """A slow policy that sets the least number of tasks, and splitting on top of it."""

    def __init__(self, slow: Policy) -> None:
        self.slow, self.name = slow, f"{slow.name}, two levels"
        self.interval_s = min(LOOK_S, slow.interval_s)
        self._looks: list[Observation] = []
        self._due_s = slow.interval_s
        self._planned: Plan | None = None
        self._level: Allocation | None = None
        """The allocation that the slow policy has planned; before its first plan, the first one in force."""
        self._orders: list[Allocation] = []
        """Orders since the slow policy's last turn: any of them may be in force by now."""

    def analyze(self, observation: Observation, knowledge: Knowledge) -> SplitRound | NotReady:
        """Collect observations until it is the slow policy's turn, then let it decide on all of them together."""
        unready = not_ready(observation, knowledge.pipeline)
        if not unready:
            self._looks.append(observation)
        if observation.time_s < self._due_s - ROUNDING or not self._looks:
            return unready or SplitRound(None)
        whole = merge_observations(self._looks)
        whole = replace(whole, allocation=self._base(observation), time_s=observation.time_s)
        self._looks, self._due_s = [], observation.time_s + self.slow.interval_s
        self._orders.clear()
        return SplitRound(decide(self.slow, whole, knowledge))

    def plan(self, observation: Observation, analysis: SplitRound, knowledge: Knowledge) -> Plan:
        """The slow policy's plan, with more tasks where it cannot clear a queue in time."""
        self._planned = analysis.plan or self._planned
        base = self._base(observation) if self._planned is None else self._planned.allocation
        self._level = base
        ordered = split_queues(base, observation, knowledge.pipeline)
        self._orders.append(ordered)
        if analysis.plan is not None and ordered == base:
            return analysis.plan
        longer = [Backlog(name, observation.operators[name].backlog) for name in base if ordered[name] != base[name]]
        now = observation.allocation
        facts = (*longer, Planned(base)) if longer else (ShortQueues(base),)
        return Plan(ordered, base, Reason(Cause.of(now, ordered), facts, Move(now, ordered)))

    def _base(self, observation: Observation) -> Allocation:
        """The allocation in force without added tasks; all of it, if it was set from outside.

        Orders take time to act, so an order of some seconds ago may be in force.
        """
        if self._level is None or observation.allocation not in self._orders:
            return observation.allocation
        return self._level


def split_queues(base: Allocation, observation: Observation, pipeline: Pipeline) -> Allocation:
    """Every operator with as many tasks as clear its queue in time, and no fewer than planned."""
    return Allocation.of(
        {
            o.name: _tasks(o, base[o.name], observation.operators[o.name].backlog, due_s(o.name, pipeline))
            for o in pipeline.operators
        }
    )


def due_s(operator: str, pipeline: Pipeline) -> float:
    """The time in which the queue of an operator should be cleared."""
    bounds_s = (r.bound_s for r in pipeline.requirements if operator in r.path.split(PATH_SEPARATOR))
    return min([LOOK_S, *bounds_s])


def _tasks(operator: Operator, base: Resources, backlog: int, within_s: float) -> Resources:
    """As many tasks as clear a backlog within a time.

    >>> _tasks(Operator("matcher", demand_s=0.002, max_replicas=8), Resources(0.5), backlog=600, within_s=1.0)
    Resources(share=0.5, replicas=3)
    """
    each = base.share * within_s / operator.demand_s
    wanted = ceil(backlog / each - ROUNDING)
    return Resources(base.share, max(base.replicas, min(wanted, operator.max_replicas)))


def merge_observations(observations: Sequence[Observation]) -> Observation:
    """One observation over the whole time: counts are added up, states such as a backlog are the last ones."""
    last = observations[-1]
    return replace(
        last,
        interval_s=sum(one.interval_s for one in observations),
        operators={name: _merge_operator([one.operators[name] for one in observations]) for name in last.operators},
        paths={name: _merge_path([one.paths[name] for one in observations]) for name in last.paths},
    )


def _merge_operator(readings: Sequence[OperatorReading]) -> OperatorReading:
    first, *others = readings
    for other in others:
        first = OperatorReading(
            first.arrived + other.arrived,
            first.completed + other.completed,
            other.backlog,
            first.busy_s + other.busy_s,
            first.batches + other.batches,
            first.serving_s + other.serving_s,
            first.throttled_s + other.throttled_s,
            first.iats + other.iats,
            first.services + other.services,
        )
    return first


def _merge_path(readings: Sequence[PathReading]) -> PathReading:
    beyond: Counter[float] = Counter()
    for reading in readings:
        beyond.update(reading.beyond)
    return PathReading(
        sum(reading.completed for reading in readings),
        sum(reading.response_sum_s for reading in readings),
        sum(reading.late for reading in readings),
        dict(beyond),
    )
