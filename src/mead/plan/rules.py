"""The planning rules that all policies share: what becomes of a target before it is applied."""

from __future__ import annotations

from dataclasses import dataclass

from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.pipeline import Operator, Pipeline


@dataclass(frozen=True)
class Rules:
    """How far one round may move an allocation.

    >>> from mead.knowledge.pipeline import Operator, Pipeline
    >>> pipeline = Pipeline("one", [Operator("matcher", 0.0015)])
    >>> low, high = Allocation.of(matcher=Resources(0.4)), Allocation.of(matcher=Resources(1.0))
    >>> Rules().limited(low, high, pipeline, since_change_s=60.0)["matcher"].share
    0.85
    >>> Rules().limited(high, low, pipeline, since_change_s=60.0)["matcher"].share
    1.0
    """

    one_level_down: bool = True
    """A share falls by one level per round at most: a lull of one window is no proof."""
    hold_down_s: float = 0.0
    """So long after a change nothing is lowered."""

    def limited(self, target: Allocation, now: Allocation, pipeline: Pipeline, *, since_change_s: float) -> Allocation:
        """The target, within bounds and rules."""
        return Allocation.of(
            {o.name: self._limited(target[o.name], now[o.name], o, since_change_s) for o in pipeline.operators}
        )

    def _limited(self, target: Resources, now: Resources, operator: Operator, since_change_s: float) -> Resources:
        share = next((s for s in operator.shares if s >= target.share - 1e-9), operator.shares[-1])
        replicas = min(max(target.replicas, operator.min_replicas), operator.max_replicas)
        if share < now.share and since_change_s < self.hold_down_s:
            share = now.share
        if share < now.share and self.one_level_down:
            share = max(s for s in operator.shares if s < now.share)
        if replicas < now.replicas and since_change_s < self.hold_down_s:
            replicas = now.replicas
        return Resources(share, replicas)
