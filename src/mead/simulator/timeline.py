"""Allocations over time, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mead.values import Allocation, Pipeline


@dataclass
class Timeline:
    """Allocations in the order in which they came into force, each until the next.

    >>> from mead.values.allocation import Resources
    >>> timeline = Timeline()
    >>> timeline.add(0.0, Allocation.of(matcher=Resources(1.0)))
    >>> timeline.add(30.0, Allocation.of(matcher=Resources(0.5, replicas=3)))
    >>> [round(mean("matcher", 40.0), 3) for mean in (timeline.mean_share, timeline.mean_replicas, timeline.mean_cores)]
    [0.875, 1.5, 1.125]
    """

    times_s: list[float] = field(default_factory=list)
    allocations: list[Allocation] = field(default_factory=list)

    def add(self, time_s: float, allocation: Allocation) -> None:
        """A change; one that takes the place of another at the same moment leaves no trace of it."""
        if self.times_s and self.times_s[-1] == time_s:
            self.times_s.pop()
            self.allocations.pop()
        self.times_s.append(time_s)
        self.allocations.append(allocation)

    def mean_share(self, operator: str, until_s: float) -> float:
        """Time average of the share of one replica."""
        return self._mean([allocation[operator].share for allocation in self.allocations], until_s)

    def mean_replicas(self, operator: str, until_s: float) -> float:
        """Time average of the replicas of an operator."""
        return self._mean([allocation[operator].replicas for allocation in self.allocations], until_s)

    def mean_cores(self, operator: str, until_s: float) -> float:
        """Time average of the cores of an operator, all replicas together."""
        return self._mean([allocation[operator].cores for allocation in self.allocations], until_s)

    def mean_cores_per_operator(self, until_s: float) -> float:
        """Time average over all operators: the MEAD paper's CPU percentage, divided by 100."""
        return self._mean([allocation.mean_cores for allocation in self.allocations], until_s)

    def mean_cost(self, pipeline: Pipeline, until_s: float) -> float:
        """Time average of the cost of all operators."""
        return self._mean([pipeline.cost(allocation) for allocation in self.allocations], until_s)

    def _mean(self, values: Sequence[float], until_s: float) -> float:
        bounds = np.minimum([*self.times_s, until_s], until_s)
        lengths = np.diff(bounds)
        return float(lengths @ values / lengths.sum()) if lengths.sum() > 0 else values[0]
