"""Knowledge of a policy: the pipeline with learned costs, and delays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from mead.values.allocation import Allocation
from mead.values.capacity import Capacity
from mead.values.pipeline import Pipeline


@dataclass(frozen=True)
class Knowledge:
    """The pipeline with its learned demands and overheads, and the delays of orders."""

    pipeline: Pipeline
    actuation_delay_s: float = 0.0
    """Time from the order to change an allocation to its effect."""
    share_delay_s: float | None = None
    """The same for a change of shares alone, if shares take effect sooner than replicas."""
    capacity: Capacity | None = None
    """The processors of the machine or cluster; None if unknown."""

    @property
    def shares_after_s(self) -> float:
        """Time from the order to change a share to its effect; at most that of replicas."""
        longest_s = self.actuation_delay_s
        return longest_s if self.share_delay_s is None else min(self.share_delay_s, longest_s)

    @property
    def start(self) -> Allocation:
        """The allocation that a run begins with: the most that every operator may have, as far as it fits."""
        most, least = self.pipeline.most, self.pipeline.least
        return most if self.capacity is None else self.capacity.limit(most, least, self.pipeline)

    def with_demands(self, demand_s: Mapping[str, float], overhead_s: Mapping[str, float] | None = None) -> Knowledge:
        """The same knowledge with these demands and overheads of micro-batches, by operator."""
        return replace(self, pipeline=self.pipeline.with_demands(demand_s, overhead_s))
