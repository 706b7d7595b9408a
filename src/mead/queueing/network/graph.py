"""The pipeline as a queueing network: operators joined by edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf

from mead.queueing.ph import PH

PATH_SEPARATOR = ">"

MOST_PATHS = 1000
"""The most paths of a network. They double with every fork that is joined again, and each is looked at on its own."""


class InvalidNetworkError(ValueError):
    """The operators and edges are not a solvable network.

    The message names the rule that is broken.
    """


class CyclicNetworkError(InvalidNetworkError):
    """Tuples come back to an operator that they have left. Such loops have no path from source to sink."""


@dataclass(frozen=True)
class Operator:
    """One processing step: ``servers`` equal servers with one queue, first come first served."""

    name: str
    service: PH
    """Service time of one tuple at one server, at the share that the operator has."""
    servers: int = 1

    def __post_init__(self) -> None:
        if not self.name or PATH_SEPARATOR in self.name:
            raise InvalidNetworkError(
                f"an operator needs a name without {PATH_SEPARATOR!r}, which joins names to paths; got {self.name!r}"
            )
        if self.servers < 1:
            raise InvalidNetworkError(f"operator {self.name!r} needs at least one server; got {self.servers}")


@dataclass(frozen=True)
class Edge:
    """Every tuple that ``source`` has served gives ``selectivity`` tuples to ``target``, in the mean.

    Below 1 a tuple goes on with that probability (a filter). Above 1 it gives several at once (a flat map), as many
    as the next whole number below or above.
    """

    source: str
    target: str
    selectivity: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.selectivity < inf:
            raise InvalidNetworkError(
                f"the selectivity of {self.source!r} to {self.target!r} must be above 0 and finite; "
                f"got {self.selectivity:g}"
            )


@dataclass(frozen=True)
class Network:
    """A directed graph without cycles.

    Every operator without a predecessor receives a copy of the arrivals.

    >>> parser, counter, matcher = (Operator(name, PH.erlang(2, 0.001)) for name in ("parser", "counter", "matcher"))
    >>> fork = Network([parser, counter, matcher], [Edge("parser", "counter"), Edge("parser", "matcher", 0.5)])
    >>> fork.paths
    (('parser', 'counter'), ('parser', 'matcher'))
    """

    operators: tuple[Operator, ...]
    edges: tuple[Edge, ...] = ()

    def __init__(self, operators: Iterable[Operator], edges: Iterable[Edge] = ()) -> None:
        object.__setattr__(self, "operators", tuple(operators))
        object.__setattr__(self, "edges", tuple(edges))
        self._check()

    def operator(self, name: str) -> Operator:
        """The operator of that name."""
        return self._by_name[name]

    def into(self, name: str) -> tuple[Edge, ...]:
        """The edges that end at an operator."""
        return tuple(edge for edge in self.edges if edge.target == name)

    def out_of(self, name: str) -> tuple[Edge, ...]:
        """The edges that start at an operator."""
        return tuple(edge for edge in self.edges if edge.source == name)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All operators, each after its predecessors."""
        missing = {operator.name: len(self.into(operator.name)) for operator in self.operators}
        ready = [name for name, count in missing.items() if count == 0]
        ordered: list[str] = []
        while ready:
            name = ready.pop(0)
            ordered.append(name)
            for edge in self.out_of(name):
                missing[edge.target] -= 1
                if missing[edge.target] == 0:
                    ready.append(edge.target)
        if len(ordered) < len(self.operators):
            members = ", ".join(repr(name) for name in missing if name not in ordered)
            raise CyclicNetworkError(
                f"the edges must not lead back to where they came from; on or behind a cycle: {members}"
            )
        return tuple(ordered)

    @cached_property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Every way from an operator without predecessor to one without successor."""
        ways: dict[str, int] = {}
        for name in reversed(self.order):
            ways[name] = sum(ways[edge.target] for edge in self.out_of(name)) or 1
        count = sum(ways[operator.name] for operator in self.operators if not self.into(operator.name))
        if count > MOST_PATHS:
            raise InvalidNetworkError(f"{count:,} paths from source to sink; at most {MOST_PATHS:,} are allowed")
        found: list[tuple[str, ...]] = []
        begun: list[tuple[str, ...]] = [
            (operator.name,) for operator in reversed(self.operators) if not self.into(operator.name)
        ]
        while begun:
            way = begun.pop()
            edges = self.out_of(way[-1])
            begun += [(*way, edge.target) for edge in reversed(edges)]
            if not edges:
                found.append(way)
        return tuple(found)

    @cached_property
    def _by_name(self) -> dict[str, Operator]:
        return {operator.name: operator for operator in self.operators}

    def _known(self) -> str:
        return "the operators are " + ", ".join(repr(operator.name) for operator in self.operators)

    def _check(self) -> None:
        if not self.operators:
            raise InvalidNetworkError("a network needs at least one operator")
        names = [operator.name for operator in self.operators]
        for name in names:
            if names.count(name) > 1:
                raise InvalidNetworkError(f"two operators have the name {name!r}; names must be unique")
        pairs = [(edge.source, edge.target) for edge in self.edges]
        for pair in pairs:
            for name in pair:
                if name not in self._by_name:
                    raise InvalidNetworkError(
                        f"the edge {pair[0]!r} to {pair[1]!r} names an unknown operator {name!r}; {self._known()}"
                    )
            if pairs.count(pair) > 1:
                raise InvalidNetworkError(f"the edge {pair[0]!r} to {pair[1]!r} is listed twice; keep one of them")
        self.order  # noqa: B018 - finds cycles
