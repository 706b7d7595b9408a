"""Whoever has processors to give: asked for more, it may grant fewer (Fu et al. 2017, section IV-B, the negotiator).

The scheduler decides how many processors there should be; a resource manager below it decides how many there are.
`NegotiatedEngine` runs the part of an allocation that was granted, and raises `NotGranted` about the rest. The loop
asks again, and a policy that places processors sees how many there are, and places those.
"""

from __future__ import annotations

from typing import Protocol

from mead.loop import Engine, NotGranted
from mead.values import Allocation, Observation, Pipeline, Resources

PATIENCE_S = 300.0
"""An order that is not filled by then, and that nobody has repeated, is withdrawn. Starting machines takes minutes;
what arrives later than that is for a load that is over."""


class Negotiator(Protocol):
    """A resource manager, seen from one application."""

    @property
    def held(self) -> int:
        """Processors that the application has."""

    def request(self, processors: int) -> int:
        """Ask for more processors. Returns how many of them are there by now, none to all; others may come later."""

    def release(self, processors: int) -> int:
        """Give processors back, and cancel what was asked for and has not come yet.

        Returns how many have been taken back by now.
        """


class Pool:
    """A number of processors that requests are served from: what a cluster is in virtual time.

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
        """How many processors have been granted and not given back."""
        return self._held

    def request(self, processors: int) -> int:
        """Grant as many as there are left."""
        granted = max(0, min(processors, self.capacity - self._held))
        self._held += granted
        return granted

    def release(self, processors: int) -> int:
        """Take processors back."""
        returned = max(0, min(processors, self._held))
        self._held -= returned
        return returned


class NegotiatedEngine:
    """An engine whose processors have to be asked for. A replica takes one.

    Nobody waits for a grant. An order stands until another one replaces it, and whatever has been granted is put to use
    at every observation. A policy that then asks for what is in force has not changed its mind: it has only seen how
    far its order has come. But if it asks for nothing else for ``PATIENCE_S``, the rest of the order is withdrawn.
    """

    def __init__(self, engine: Engine, negotiator: Negotiator, start: Allocation) -> None:
        self.engine, self.negotiator = engine, negotiator
        self.requested = self.in_force = start
        self._now_s = self._ordered_s = 0.0
        """The times of the last observation, and of the observation that the current order followed from."""

    def observe(self, time_s: float) -> Observation:
        """Put to use what has been granted since, then observe the engine."""
        self._now_s = time_s
        if self.requested != self.in_force:
            self._use_what_there_is()
            if self.requested != self.in_force and time_s - self._ordered_s >= PATIENCE_S:
                self._withdraw()
        return self.engine.observe(time_s)

    def apply(self, allocation: Allocation) -> None:
        """Ask for the processors that are missing, run what is granted, and give back what is too much."""
        if allocation != self.in_force:
            self.requested, self._ordered_s = allocation, self._now_s
        held = self._use_what_there_is()
        if self.in_force not in (allocation, self.requested):  # who keeps what there was may find all he has ordered
            raise NotGranted(_replicas(self.requested), held, self.in_force)

    def _withdraw(self) -> None:
        """Give up the rest of the order: what is in force is all that is wanted from now on."""
        self.requested = self.in_force
        self.negotiator.release(max(self.negotiator.held - _replicas(self.in_force), 0))

    def _use_what_there_is(self) -> int:
        """Repeat the order and run what is granted. Returns how many processors there are."""
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
    """The allocation on fewer processors. Additions are cut first, the largest additions before others.

    >>> now = Allocation.of(extractor=Resources(1.0, 3), matcher=Resources(1.0, 5))
    >>> print(within(Allocation.of(extractor=Resources(1.0, 4), matcher=Resources(1.0, 8)), now, processors=10))
    extractor 4 x 1, matcher 6 x 1
    """
    while _replicas(allocation) > processors:
        name = max(
            (name for name, resources in allocation.items() if resources.replicas > 1),
            key=lambda name: (allocation[name].replicas - now[name].replicas, allocation[name].replicas),
        )
        allocation = allocation.with_(name, Resources(allocation[name].share, allocation[name].replicas - 1))
    return allocation


def most_within(pipeline: Pipeline, processors: int) -> Allocation:
    """The most replicas that operators may have, as far as this many processors go: where a run on a pool starts.

    >>> from mead.values.pipeline import Operator
    >>> print(most_within(Pipeline("chain", [Operator("parser", 0.1, shares=(1.0,), max_replicas=4)]), processors=3))
    parser 3 x 1
    """
    least = Allocation.of({operator.name: operator.least for operator in pipeline.operators})
    return within(pipeline.most, least, processors)


def _replicas(allocation: Allocation) -> int:
    return sum(resources.replicas for resources in allocation.values())
