"""The planning rules that all policies share: what becomes of a target before it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from mead.values import Allocation, Operator, Pipeline, Resources

ROUNDING = 1e-9
"""Shares that differ by less are the same level."""


@dataclass(frozen=True)
class Rules:
    """How far one round may move an allocation.

    >>> from mead.values.pipeline import Operator, Pipeline
    >>> pipeline = Pipeline("one", [Operator("matcher", 0.0015)])
    >>> low, high = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(1.0))
    >>> Rules().limited(low, high, pipeline, since_change_s=60.0)["matcher"].share
    0.85
    >>> Rules().limited(high, low, pipeline, since_change_s=60.0)["matcher"].share
    1.0
    """

    one_level_down: bool = True
    """A share falls by one level per round at most, and so do replicas: a lull of one window is no proof."""
    hold_down_s: float = 0.0
    """Time after a change during which nothing is lowered."""

    def limited(self, target: Allocation, now: Allocation, pipeline: Pipeline, *, since_change_s: float) -> Allocation:
        """The target, within bounds and rules."""
        held = since_change_s < self.hold_down_s
        return Allocation.of(
            {o.name: self._limited(bounded(target[o.name], o), now[o.name], o, held=held) for o in pipeline.operators}
        )

    def _limited(self, target: Resources, now: Resources, operator: Operator, *, held: bool) -> Resources:
        share, replicas = target.share, target.replicas
        if held:
            share, replicas = max(share, now.share), max(replicas, now.replicas)
        elif self.one_level_down:
            share = max(share, level_below(operator, now.share))
            replicas = max(replicas, now.replicas - 1)
        if target.cores < now.cores:
            # One of the two may rise while the other falls. It must not rise beyond what makes up for the other,
            # because the whole is on its way down.
            if share > now.share:
                enough = (s for s in operator.shares if s * replicas >= now.cores - ROUNDING)
                share = min(share, next(enough, share))
            elif replicas > now.replicas:
                replicas = min(replicas, ceil(now.cores / share - ROUNDING))
        return bounded(Resources(share, replicas), operator)


def bounded(wanted: Resources, operator: Operator) -> Resources:
    """The lowest level that is no less than what is wanted, within what the operator may have."""
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
