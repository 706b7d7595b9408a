"""The pipeline as its user describes it: operators, edges and requirements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf

import numpy as np

from mead.arrays import FloatArray, frozen
from mead.queueing import ENDLESS_GAIN, PATH_SEPARATOR, PH, Edge, Network, arrival_rates, loop_gain
from mead.queueing import Operator as Station
from mead.values.allocation import Allocation, Resources
from mead.values.requirement import Requirement

DEFAULT_SHARES = (0.40, 0.55, 0.70, 0.85, 1.00)
"""The five levels of the MEAD paper, in cores."""


class InvalidPipelineError(ValueError):
    """The pipeline cannot be run as described. The message names the part and the rule that it breaks."""


@dataclass(frozen=True)
class Batches:
    """An operator that works in micro-batches, as a streaming query does.

    A micro-batch takes ``S(n) = overhead + n demand / share``.
    """

    overhead_s: float
    trigger_s: float | None = None
    max_tuples: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.overhead_s < inf:
            raise InvalidPipelineError(f"overhead_s of a batch must not be negative; got {self.overhead_s:g}")
        if self.trigger_s is not None and not 0 < self.trigger_s < inf:
            raise InvalidPipelineError(f"trigger_s of a batch must be above 0; got {self.trigger_s:g}")
        if self.max_tuples is not None and self.max_tuples < 1:
            raise InvalidPipelineError(f"max_tuples of a batch must be at least 1; got {self.max_tuples}")


@dataclass(frozen=True)
class Operator:
    """One processing step, with the resources that it may be given."""

    name: str
    demand_s: float
    """CPU seconds that one tuple costs at full share."""
    scv: float = 0.5
    """Variability of the demand: that of an Erlang-2 unless told otherwise."""
    shares: tuple[float, ...] = DEFAULT_SHARES
    """The levels of CPU share that it may have, lowest first."""
    min_replicas: int = 1
    max_replicas: int = 1
    batches: Batches | None = None
    """None: it serves tuple by tuple."""
    price: float | tuple[float, ...] = 1.0
    """Price of a core, or of a replica at each level of share: the cost function c(x) of the MEAD paper."""

    def __post_init__(self) -> None:
        if not 0 < self.demand_s < inf:
            raise InvalidPipelineError(f"operator {self.name}: demand_s must be above 0; got {self.demand_s:g}")
        if not 0 <= self.scv < inf:
            raise InvalidPipelineError(f"operator {self.name}: scv must not be negative; got {self.scv:g}")
        if not self.shares or min(self.shares) <= 0 or list(self.shares) != sorted(set(self.shares)):
            raise InvalidPipelineError(
                f"operator {self.name}: shares must be above 0 and rise from level to level; got {list(self.shares)}"
            )
        if not 1 <= self.min_replicas <= self.max_replicas:
            raise InvalidPipelineError(
                f"operator {self.name}: replicas must satisfy 1 <= min <= max; "
                f"got {self.min_replicas} and {self.max_replicas}"
            )
        prices = self.price if isinstance(self.price, tuple) else (self.price,)
        if not all(0 < price < inf for price in prices) or list(prices) != sorted(prices):
            raise InvalidPipelineError(
                f"operator {self.name}: prices must be above 0 and not fall from level to level; got {list(prices)}"
            )
        if isinstance(self.price, tuple) and len(self.price) != len(self.shares):
            raise InvalidPipelineError(
                f"operator {self.name}: give one price, or one for each of its {len(self.shares)} shares; "
                f"got {len(self.price)}"
            )

    def service(self, share: float) -> PH:
        """The service time of one tuple at that share."""
        return PH.with_moments(self.demand_s / share, self.scv)

    @property
    def most(self) -> Resources:
        """All that it may have."""
        return Resources(self.shares[-1], self.max_replicas)

    @property
    def least(self) -> Resources:
        """The least that it may have."""
        return Resources(self.shares[0], self.min_replicas)

    def cost(self, resources: Resources) -> float:
        """The cost of these resources per second; with a price of 1, their cores.

        >>> rented = Operator("matcher", 0.001, shares=(0.5, 1.0), price=(1.0, 3.0), max_replicas=2)
        >>> rented.cost(Resources(0.5, 2)), rented.cost(Resources(1.0))
        (2.0, 3.0)
        """
        if isinstance(self.price, tuple):
            return self.price[self.shares.index(resources.share)] * resources.replicas
        return self.price * resources.cores

    @property
    def core_price(self) -> float:
        """The price of a core, in the mean over all that it may have."""
        return self.cost(self.most) / self.most.cores

    @property
    def levels(self) -> tuple[Resources, ...]:
        """All resources that it may be given, fewest cores first; of as many cores, fewest replicas first.

        >>> [str(level) for level in Operator("matcher", 0.001, shares=(0.5, 1.0), max_replicas=2).levels]
        ['0.5', '1', '2 x 0.5', '2 x 1']
        """
        return _levels(self.shares, self.min_replicas, self.max_replicas)


@lru_cache(maxsize=256)
def _levels(shares: tuple[float, ...], min_replicas: int, max_replicas: int) -> tuple[Resources, ...]:
    """The levels of an operator.

    They are cached, because they do not depend on its demand, which the loop changes every second.
    """
    every = (Resources(share, k) for k in range(min_replicas, max_replicas + 1) for share in shares)
    return tuple(sorted(every, key=lambda r: (round(r.cores, 9), r.replicas)))


@dataclass(frozen=True)
class Pipeline:
    """Operators joined by streams, and the response times that its paths must keep.

    An edge may lead back to an earlier operator (a loop), as long as fewer tuples return than left. Paths follow the
    other edges.

    >>> log_analysis = Pipeline(
    ...     "log-analysis",
    ...     [Operator("parser", 0.0001), Operator("counter", 0.0001), Operator("matcher", 0.0015)],
    ...     [Edge("parser", "counter"), Edge("parser", "matcher")],
    ...     [Requirement("parser>matcher", bound_s=0.3)],
    ... )
    >>> log_analysis.paths
    ('parser>counter', 'parser>matcher')
    """

    name: str
    operators: tuple[Operator, ...]
    edges: tuple[Edge, ...] = ()
    requirements: tuple[Requirement, ...] = ()

    def __init__(
        self,
        name: str,
        operators: Iterable[Operator],
        edges: Iterable[Edge] = (),
        requirements: Iterable[Requirement] = (),
    ) -> None:
        for attribute, value in (
            ("name", name),
            ("operators", tuple(operators)),
            ("edges", tuple(edges)),
            ("requirements", tuple(requirements)),
        ):
            object.__setattr__(self, attribute, value)
        self.network(self.most)  # refuses operators and edges that do not fit together
        gain = loop_gain(self.gains)
        if gain >= ENDLESS_GAIN:
            raise InvalidPipelineError(
                f"the loops of {name} return {gain:g} tuples for each that enters; it must be below 1"
            )
        required: set[tuple[str, str]] = set()
        for requirement in self.requirements:
            if requirement.path not in self.paths:
                known = ", ".join(self.paths)
                raise InvalidPipelineError(f"there is no path {requirement.path}; the paths of {name} are {known}")
            if (statistic := (requirement.path, requirement.statistic)) in required:
                raise InvalidPipelineError(
                    f"there are two bounds on the {requirement.statistic} of {requirement.path}; keep the stricter one"
                )
            required.add(statistic)

    def with_demands(self, demand_s: Mapping[str, float], overhead_s: Mapping[str, float] | None = None) -> Pipeline:
        """The same pipeline with other demands, and micro-batch overheads, for the operators named.

        A loop asks for this every second. Nothing that was checked or found out about the graph depends on them, so
        all of it is taken over. An operator without micro-batches has no overhead.
        """
        # Compute the cached properties here once, not in every copy.
        _ = self.returns, self.sources, self.paths, self.order, self.most, self.gains, self.visits
        pipeline = object.__new__(Pipeline)
        overhead_s = overhead_s or {}
        operators = tuple(
            replace(
                o,
                demand_s=demand_s.get(o.name, o.demand_s),
                batches=o.batches and replace(o.batches, overhead_s=overhead_s.get(o.name, o.batches.overhead_s)),
            )
            for o in self.operators
        )
        vars(pipeline).update(vars(self) | {"operators": operators})
        return pipeline

    def with_requirements(self, requirements: Iterable[Requirement]) -> Pipeline:
        """The same with other bounds on the paths that it has; the graph is not looked at again."""
        pipeline = object.__new__(Pipeline)
        vars(pipeline).update(vars(self) | {"requirements": tuple(requirements)})
        return pipeline

    def check(self, allocation: Allocation) -> None:
        """Refuse an allocation that some operator may not have."""
        if unknown := ", ".join(allocation.keys() - {operator.name for operator in self.operators}):
            raise ValueError(f"the allocation names {unknown}, which {self.name} does not have")
        for operator in self.operators:
            if operator.name not in allocation:
                raise ValueError(f"the allocation gives nothing to operator {operator.name}")
            resources = allocation[operator.name]
            if resources.share not in operator.shares:
                raise ValueError(
                    f"operator {operator.name} may have a share of {list(operator.shares)}; got {resources.share:g}"
                )
            if not operator.min_replicas <= resources.replicas <= operator.max_replicas:
                raise ValueError(
                    f"operator {operator.name} may have {operator.min_replicas} to {operator.max_replicas} replicas; "
                    f"got {resources.replicas}"
                )

    def cost(self, allocation: Allocation) -> float:
        """The cost of an allocation per second; with all prices 1, its cores."""
        return sum(operator.cost(allocation[operator.name]) for operator in self.operators)

    @property
    def core_price(self) -> float:
        """The price of a core, in the mean over all that the operators may have."""
        return self.cost(self.most) / self.most.cores

    @property
    def priced(self) -> bool:
        """Whether some cores have a price other than 1, so that cost and cores differ."""
        return any(operator.price != 1.0 for operator in self.operators)

    def operator(self, name: str) -> Operator:
        """The operator of that name."""
        return next(operator for operator in self.operators if operator.name == name)

    @cached_property
    def returns(self) -> tuple[Edge, ...]:
        """The edges that close a loop: each leads back to an operator from which its own source is reached."""
        ahead = {o.name: [e for e in self.edges if e.source == o.name] for o in self.operators}
        back: list[Edge] = []
        done: set[str] = set()

        def walk(name: str, trail: tuple[str, ...]) -> None:
            for edge in ahead.get(name, []):
                if edge.target in (*trail, name):
                    back.append(edge)
                elif edge.target not in done:
                    walk(edge.target, (*trail, name))
            done.add(name)

        for operator in self.operators:
            if operator.name not in done:
                walk(operator.name, ())
        return tuple(back)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The operators that tuples enter from outside: no edge leads to them, except those that lead back."""
        led_to = {edge.target for edge in self.edges if edge not in self.returns}
        return tuple(operator.name for operator in self.operators if operator.name not in led_to)

    def network(self, allocation: Allocation) -> Network:
        """The queueing network of that allocation, without the edges that lead back."""
        return Network(
            [Station(o.name, o.service(allocation[o.name].share), allocation[o.name].replicas) for o in self.operators],
            [edge for edge in self.edges if edge not in self.returns],
        )

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """Every way from an operator without predecessor to one without successor, such as ``parser>matcher``."""
        return tuple(PATH_SEPARATOR.join(path) for path in self.network(self.most).paths)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Operators in the order of the flow: each after all operators that feed it, loops aside."""
        return self.network(self.most).order

    @cached_property
    def most(self) -> Allocation:
        """The most that every operator may have: where a run starts, and its fallback as long as nothing is known."""
        return Allocation.of({operator.name: operator.most for operator in self.operators})

    @cached_property
    def judged_paths(self) -> tuple[str, ...]:
        """The paths with a requirement; all paths if none has one."""
        return tuple({requirement.path: None for requirement in self.requirements}) or self.paths

    @cached_property
    def least(self) -> Allocation:
        """The least that every operator may have."""
        return Allocation.of({operator.name: operator.least for operator in self.operators})

    @cached_property
    def gains(self) -> FloatArray:
        """``G[i, j]``: mean number of tuples that operator j gets for each that operator i has served."""
        place = {operator.name: i for i, operator in enumerate(self.operators)}
        gains = np.zeros((len(place), len(place)))
        for edge in self.edges:
            gains[place[edge.source], place[edge.target]] += edge.selectivity
        return frozen(gains)

    @cached_property
    def visits(self) -> dict[str, float]:
        """Tuples that every operator gets for one at the source: ``v = s + v G`` (traffic equations)."""
        entered = np.array([float(operator.name in self.sources) for operator in self.operators])
        visits = arrival_rates(self.gains, entered)
        return {operator.name: float(v) for operator, v in zip(self.operators, visits, strict=True)}
