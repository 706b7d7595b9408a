"""Processors from a resource manager, which may grant fewer than ordered (Fu et al. 2017, section IV-B).

`NegotiatedEngine` runs the part of an allocation that was granted, and raises `NotGranted` for the rest. The loop
orders again in the next round, and a policy that places processors sees how many it has.
"""

from __future__ import annotations

from typing import Protocol

from mead.loop import Engine, NotGranted
from mead.values import Allocation, Observation, Pipeline, Resources, cut

PATIENCE_S = 300.0
"""An order that is not filled and not repeated for this long is withdrawn. Starting machines takes minutes; processors
that come later are for a load that is over."""


class Negotiator(Protocol):
    """A resource manager, seen from one application."""

    @property
    def held(self) -> int:
        """Processors that the application has."""

    def request(self, processors: int) -> int:
        """Order more processors. Returns how many of them were granted at once; others may come later."""

    def release(self, processors: int) -> int:
        """Give processors back, and cancel orders that are not filled. Returns how many were taken back at once."""


class Pool:
    """A fixed number of processors: the cluster in virtual time.

    >>> pool = Pool(capacity=8)
    >>> pool.request(6), pool.request(6), pool.held
    (6, 2, 8)
    >>> pool.release(3), pool.held
    (3, 5)
    """

    def __init__(self, capacity: int, held: int = 0) -> None:
        if not 0 <= held <= capacity:
            raise ValueError(f"a pool of {capacity} processors cannot have given {held}")
        self.capacity = capacity
        self._held = held

    @property
    def held(self) -> int:
        """Processors that were granted and not given back."""
        return self._held

    def request(self, processors: int) -> int:
        """Grant as many as are left."""
        granted = max(0, min(processors, self.capacity - self._held))
        self._held += granted
        return granted

    def release(self, processors: int) -> int:
        """Take processors back."""
        returned = max(0, min(processors, self._held))
        self._held -= returned
        return returned


class NegotiatedEngine:
    """An engine whose processors have to be ordered. A replica takes one.

    An order stands until another one replaces it. Every observation first puts to use what has been granted. A policy
    that then asks for the allocation in force has not changed its mind: it only sees how far its order has come. If it
    asks for nothing else for ``PATIENCE_S``, the rest of the order is withdrawn.
    """

    def __init__(self, engine: Engine, negotiator: Negotiator, start: Allocation) -> None:
        self.engine, self.negotiator = engine, negotiator
        self.requested = self.in_force = start
        self._now_s = self._ordered_s = 0.0
        """The times of the last observation, and of the one before the current order."""

    def observe(self, time_s: float) -> Observation:
        """Put newly granted processors to use, then observe the engine."""
        self._now_s = time_s
        if self.requested != self.in_force:
            self._use_what_there_is()
            if self.requested != self.in_force and time_s - self._ordered_s >= PATIENCE_S:
                self._withdraw()
        return self.engine.observe(time_s)

    def apply(self, allocation: Allocation) -> None:
        """Order missing processors, run what is granted, and release the surplus."""
        if allocation != self.in_force:
            self.requested, self._ordered_s = allocation, self._now_s
        held = self._use_what_there_is()
        if self.in_force not in (allocation, self.requested):  # a policy that keeps may find its order filled
            raise NotGranted(_replicas(self.requested), held, self.in_force)

    def _withdraw(self) -> None:
        """Give up the rest of the order."""
        self.requested = self.in_force
        self.negotiator.release(max(self.negotiator.held - _replicas(self.in_force), 0))

    def _use_what_there_is(self) -> int:
        """Repeat the order and run what is granted. Returns the number of processors held."""
        wanted, held = _replicas(self.requested), self.negotiator.held
        if wanted > held:
            held += self.negotiator.request(wanted - held)
        granted = within(self.requested, self.in_force, max(held, len(self.requested)))
        self.engine.apply(granted)
        self.in_force = granted
        if wanted < held:
            self.negotiator.release(held - wanted)
        return held


def within(allocation: Allocation, now: Allocation, processors: int) -> Allocation:
    """The allocation cut to this many processors. The largest additions to ``now`` are cut first.

    >>> now = Allocation.of(extractor=Resources(1.0, 3), matcher=Resources(1.0, 5))
    >>> print(within(Allocation.of(extractor=Resources(1.0, 4), matcher=Resources(1.0, 8)), now, processors=10))
    extractor 4 x 1, matcher 6 x 1
    """
    one_each = Allocation.of({name: Resources(resources.share) for name, resources in allocation.items()})
    return cut(allocation, now, one_each, lambda left: _replicas(left) <= processors)


def most_within(pipeline: Pipeline, processors: int) -> Allocation:
    """The largest allocation on this many processors: the start of a run on a pool.

    >>> from mead.values.pipeline import Operator
    >>> print(most_within(Pipeline("chain", [Operator("parser", 0.1, shares=(1.0,), max_replicas=4)]), processors=3))
    parser 3 x 1
    """
    return within(pipeline.most, pipeline.least, processors)


def _replicas(allocation: Allocation) -> int:
    return sum(resources.replicas for resources in allocation.values())
