"""The processors that a machine or cluster has, and allocations cut to fit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor

from mead.values.allocation import Allocation, Resources
from mead.values.pipeline import Pipeline
from mead.values.reason import SAME, Fact


@dataclass(frozen=True)
class Capacity:
    """The processors for all replicas of a pipeline together.

    Every operator keeps its least replicas. If even these need more processors than there are, they share them.

    >>> from mead.values.pipeline import Operator
    >>> pipeline = Pipeline("one", [Operator("matcher", 0.0015, shares=(0.4,), max_replicas=8)])
    >>> print(Capacity(2).limit(pipeline.most, pipeline.least, pipeline))
    matcher 5 x 0.4
    >>> print(Capacity(2, divisible=False).limit(pipeline.most, pipeline.least, pipeline))
    matcher 2 x 0.4
    """

    processors: int
    divisible: bool = True
    """Whether replicas with shares below one fit side by side on a processor. On a cluster each takes a whole one."""

    def used(self, allocation: Allocation) -> float:
        """The processors that an allocation takes."""
        return sum(self._takes(resources) for resources in allocation.values())

    def holds(self, allocation: Allocation) -> bool:
        """Whether there are enough processors for an allocation."""
        return self.used(allocation) <= self.processors + SAME

    def limit(self, target: Allocation, now: Allocation, pipeline: Pipeline) -> Allocation:
        """The target with fewer replicas, so that it fits. The largest additions to ``now`` are cut first."""
        return cut(target, now, pipeline.least, self.holds)

    def most(self, pipeline: Pipeline) -> dict[str, int]:
        """By operator, the replicas at its highest share that fit beside the least of the others."""
        spare = self._spare(pipeline)
        return {
            o.name: min(o.min_replicas + floor(spare / self._takes(Resources(o.shares[-1]))), o.max_replicas)
            for o in pipeline.operators
        }

    def replicas(self, pipeline: Pipeline) -> int:
        """Replicas of all operators at their highest shares, as many as fit in some placement."""
        spare = self._spare(pipeline)
        smallest = min(self._takes(Resources(operator.shares[-1])) for operator in pipeline.operators)
        return sum(operator.min_replicas for operator in pipeline.operators) + floor(spare / smallest)

    def _spare(self, pipeline: Pipeline) -> float:
        """Processors that the least replicas at the highest shares leave."""
        least = (Resources(operator.shares[-1], operator.min_replicas) for operator in pipeline.operators)
        return max(self.processors - sum(map(self._takes, least)) + SAME, 0.0)

    def _takes(self, resources: Resources) -> float:
        return resources.cores if self.divisible else float(resources.replicas)


@dataclass(frozen=True)
class CutToFit(Fact):
    """An allocation that needs more processors than there are."""

    processors: int
    wanted: float

    def __str__(self) -> str:
        return f"there are {self.processors} processors, and the target needs {self.wanted:.3g}"


def cut(target: Allocation, now: Allocation, least: Allocation, fits: Callable[[Allocation], bool]) -> Allocation:
    """Take replicas from the target one by one until it fits. The largest additions to ``now`` are cut first."""
    while not fits(target):
        above = [name for name, resources in target.items() if resources.replicas > least[name].replicas]
        if not above:
            break
        name = max(above, key=lambda name: (target[name].replicas - now[name].replicas, target[name].replicas))
        target = target.with_(name, Resources(target[name].share, target[name].replicas - 1))
    return target
