"""Allocations: CPU share and replicas of every operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Resources:
    """The resources of one operator: ``replicas`` parallel tasks with ``share`` CPU cores each."""

    share: float
    replicas: int = 1

    @property
    def cores(self) -> float:
        """CPU cores altogether."""
        return self.share * self.replicas

    def __str__(self) -> str:
        return f"{self.share:g}" if self.replicas == 1 else f"{self.replicas} x {self.share:g}"


@dataclass(frozen=True, eq=False)
class Allocation(Mapping[str, Resources]):
    """Resources by operator. Immutable.

    Two allocations are equal if they give the same to every operator, in any order.

    >>> full = Allocation.of(parser=Resources(1.0), matcher=Resources(0.7, replicas=2))
    >>> full["matcher"].cores, round(full.mean_cores, 3)
    (1.4, 1.2)
    >>> str(full)
    'parser 1, matcher 2 x 0.7'
    >>> full == Allocation.of(matcher=Resources(0.7, replicas=2), parser=Resources(1.0))
    True
    """

    entries: tuple[tuple[str, Resources], ...]

    @classmethod
    def of(cls, resources: Mapping[str, Resources] | None = None, /, **named: Resources) -> Allocation:
        """From a mapping or from keywords."""
        return cls(tuple({**(resources or {}), **named}.items()))

    def __getitem__(self, name: str) -> Resources:
        for known, resources in self.entries:
            if known == name:
                return resources
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Allocation):
            return NotImplemented
        return self.entries == other.entries or dict(self.entries) == dict(other.entries)

    def __hash__(self) -> int:
        return hash(frozenset(self.entries))

    def __str__(self) -> str:
        return ", ".join(f"{name} {resources}" for name, resources in self.entries)

    def with_(self, name: str, resources: Resources) -> Allocation:
        """The same with other resources for one operator."""
        return Allocation(tuple((n, resources if n == name else r) for n, r in self.entries))

    @property
    def cores(self) -> float:
        """CPU cores of all operators together."""
        return sum(resources.cores for resources in self.values())

    @property
    def mean_cores(self) -> float:
        """CPU cores per operator: the MEAD paper's CPU percentage, divided by 100."""
        return self.cores / len(self)
