"""Who has processors to give: asked for more, it may grant fewer (Fu et al. 2017, section IV-B, the negotiator).

The scheduler decides how many processors there should be; a resource manager below it decides how many there are. The
engine of a negotiator runs the part of an allocation that was granted, and says so. The loop asks again, and a policy
that places processors sees how many there are, and places those.
"""

from __future__ import annotations

from typing import Protocol

from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.observation import Observation


class Negotiator(Protocol):
    """A resource manager, seen from one application."""

    @property
    def held(self) -> int:
        """Processors that the application has."""

    def request(self, processors: int) -> int:
        """Ask for so many more. Returns how many were granted, none to all of them."""

    def release(self, processors: int) -> int:
        """Give so many back. Returns how many were taken."""


class Pool:
    """Processors of one process, shared by all that ask: what a cluster is in virtual time.

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
        """How many have been granted and not come back."""
        return self._held

    def request(self, processors: int) -> int:
        """As many as there are left."""
        granted = max(0, min(processors, self.capacity - self._held))
        self._held += granted
        return granted

    def release(self, processors: int) -> int:
        """Take back."""
        returned = max(0, min(processors, self._held))
        self._held -= returned
        return returned


class NotGranted(RuntimeError):  # noqa: N818 - nothing went wrong: somebody said no
    """Fewer processors were granted than asked for. What was granted is in force."""

    def __init__(self, wanted: int, held: int, in_force: Allocation) -> None:
        super().__init__(f"{wanted} processors were asked for and {held} are there; in force is {in_force}")
        self.in_force = in_force


class Engine(Protocol):
    """What the control loop controls."""

    def observe(self, time_s: float) -> Observation:
        """Readings of the time since the last call."""

    def apply(self, allocation: Allocation) -> None:
        """Have this allocation from now on."""


class NegotiatedEngine:
    """An engine whose processors have to be asked for. A replica takes one."""

    def __init__(self, engine: Engine, negotiator: Negotiator, start: Allocation) -> None:
        self.engine, self.negotiator = engine, negotiator
        self.in_force = start

    def observe(self, time_s: float) -> Observation:
        """As the engine."""
        return self.engine.observe(time_s)

    def apply(self, allocation: Allocation) -> None:
        """Ask for what is missing, run what is granted, give back what is too much."""
        wanted, held = _replicas(allocation), self.negotiator.held
        if wanted > held:
            held += self.negotiator.request(wanted - held)
        granted = within(allocation, self.in_force, max(held, len(allocation)))
        self.engine.apply(granted)
        self.in_force = granted
        if wanted < held:
            self.negotiator.release(held - wanted)
        if granted != allocation:
            raise NotGranted(wanted, held, granted)


def within(allocation: Allocation, now: Allocation, processors: int) -> Allocation:
    """The allocation on fewer processors: what was to be added is cut first, where most was to be added.

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


def _replicas(allocation: Allocation) -> int:
    return sum(resources.replicas for resources in allocation.values())
