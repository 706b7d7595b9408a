"""The planning rules of all policies: limits of an operator, and how far one round may move an allocation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, inf

from mead.policies.base import RuleKeys
from mead.values import (
    Allocation,
    Cause,
    Fact,
    Move,
    Observation,
    Operator,
    Pipeline,
    Plan,
    Prediction,
    Reason,
    Resources,
)

ROUNDING = 1e-9
"""Shares that differ by less are the same level."""


@dataclass(frozen=True)
class Rules:
    """Limits on the step of one round.

    >>> from mead.values.pipeline import Operator, Pipeline
    >>> pipeline = Pipeline("one", [Operator("matcher", 0.0015)])
    >>> low, high = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(1.0))
    >>> Rules().limit(low, high, pipeline, since_change_s=60.0)["matcher"].share
    0.85
    >>> Rules().limit(high, low, pipeline, since_change_s=60.0)["matcher"].share
    1.0
    """

    one_level_down: bool = True
    """Shares and replicas fall by one level per round at most, because one quiet window proves little."""
    hold_down_s: float = 0.0
    """Time after a change during which nothing is lowered."""

    def limit(self, target: Allocation, now: Allocation, pipeline: Pipeline, *, since_change_s: float) -> Allocation:
        """The part of the way to a target that limits and rules allow."""
        held = since_change_s < self.hold_down_s
        return Allocation.of(
            {
                o.name: self._limit(within_limits(target[o.name], o), now[o.name], o, held=held)
                for o in pipeline.operators
            }
        )

    def _limit(self, target: Resources, now: Resources, operator: Operator, *, held: bool) -> Resources:
        share, replicas = target.share, target.replicas
        if held:
            share, replicas = max(share, now.share), max(replicas, now.replicas)
        elif self.one_level_down:
            share = max(share, level_below(operator, now.share))
            replicas = max(replicas, now.replicas - 1)
        if target.cores < now.cores:
            # If one of the two falls, the other may rise only so far that the cores do not.
            if share > now.share:
                sufficient = (s for s in operator.shares if s * replicas >= now.cores - ROUNDING)
                share = min(share, next(sufficient, share))
            elif replicas > now.replicas:
                replicas = min(replicas, ceil(now.cores / share - ROUNDING))
        return within_limits(Resources(share, replicas), operator)


class StepPlanner:
    """Plans the next step to the targets of one policy, under its rules.

    The rules need the time of the last change. Only a change that an observation shows counts, because an engine takes
    its time and mode advise applies nothing. It is dated back to the decision that it came from.
    """

    def __init__(self, options: RuleKeys) -> None:
        self.rules = Rules(options.one_level_down, options.hold_down_s)
        self._seen: Allocation | None = None
        self._decided: Allocation | None = None
        self._decided_s = -inf
        self._changed_s = -inf

    def plan(
        self,
        target: Allocation,
        observation: Observation,
        pipeline: Pipeline,
        facts: tuple[Fact, ...],
        predict: Callable[[Allocation], Mapping[str, Prediction]] = lambda _: {},
        *,
        met: bool = True,
    ) -> Plan:
        """The step towards a target. ``met`` is False for a target that does not meet all requirements."""
        now, allocation = observation.allocation, self._limit(target, observation, pipeline)
        cause = Cause.RULES if allocation != target else Cause.of(now, target)
        reason = Reason(
            cause if met else Cause.IMPOSSIBLE,
            facts,
            Move(now, allocation),
            None if allocation == target else target,
        )
        return Plan(allocation, target, reason, predict(allocation))

    def _limit(self, target: Allocation, observation: Observation, pipeline: Pipeline) -> Allocation:
        self._notice(observation)
        since_s = observation.time_s - self._changed_s
        allocation = self.rules.limit(target, observation.allocation, pipeline, since_change_s=since_s)
        if allocation != observation.allocation:
            self._decided, self._decided_s = allocation, observation.time_s
        return allocation

    def _notice(self, observation: Observation) -> None:
        now = observation.allocation
        if self._seen is not None and now != self._seen:
            self._changed_s = self._decided_s if now == self._decided else observation.time_s
        self._seen = now


def within_limits(wanted: Resources, operator: Operator) -> Resources:
    """The lowest level that is no less than ``wanted``, or the highest that the operator may have."""
    share = next((s for s in operator.shares if s >= wanted.share - ROUNDING), operator.shares[-1])
    return Resources(share, min(max(wanted.replicas, operator.min_replicas), operator.max_replicas))


def level_below(operator: Operator, share: float) -> float:
    """The next lower share, or the lowest."""
    return max((s for s in operator.shares if s < share - ROUNDING), default=operator.shares[0])


def level_above(operator: Operator, share: float) -> float:
    """The next higher share, or the highest."""
    return next((s for s in operator.shares if s > share + ROUNDING), operator.shares[-1])


def one_up(operator: Operator, now: Resources) -> Resources:
    """One level more: a higher share, and from the highest on one more replica."""
    share = level_above(operator, now.share)
    if share > now.share:
        return Resources(share, now.replicas)
    return Resources(now.share, min(now.replicas + 1, operator.max_replicas))


def one_down(operator: Operator, now: Resources) -> Resources:
    """One level less, in the reverse order of ``one_up``: first one replica fewer, then a lower share."""
    if now.replicas > operator.min_replicas:
        return Resources(now.share, now.replicas - 1)
    return Resources(level_below(operator, now.share), now.replicas)
