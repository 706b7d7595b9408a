"""Response time of a path under bursts, from its bottleneck outwards.

The bottleneck is solved as if it stood alone; then the other operators are added.

A burst passes a chain of operators at the pace of the slowest, and while it lasts the backlog of the whole chain is
that of the slowest operator fed by the source itself, wherever it stands. Exponential servers in series can even be
interchanged without any change of the departures (Weber 1979), and servers of any kind serve a given number of waiting
tuples in the same time when their order is reversed (Muth 1979). So a chain is solved with its bottleneck first:

1. The bottleneck sees the source: an exact MAP/PH/1 queue.
2. Every other operator sees the departures of the bottleneck. It is faster, so what it adds is local.
3. Both depend on how deep the bottleneck's queue is, and so they are long together in bursts (``Response``).

The time at a single operator is what a chain gains when it is added at the end.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

from mead.queueing.map import MAP
from mead.queueing.network.graph import InvalidNetworkError, Network
from mead.queueing.network.sojourn import Response, Sojourn
from mead.queueing.network.stations import Source, Station
from mead.queueing.network.streams import streams_of
from mead.queueing.queues.response import QueueSolution, Unstable

LEAST_ORDER_WEIGHT = 1e-3
"""Below this an operator is so much faster than the bottleneck that it does not matter which comes first."""

Way = tuple[str, ...]
"""The first operators of a path, up to any of them."""


@dataclass(eq=False)
class Chains:
    """All chains of operators in one network under one source. What several of them need is solved once."""

    network: Network
    arrivals: MAP
    _chains: dict[Way, Response | Unstable] = field(default_factory=dict)
    _paced: dict[str, dict[str, Sojourn]] = field(default_factory=dict)
    _shifts_s: dict[tuple[str, str], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for operator in self.network.operators:
            if operator.servers != 1:
                raise InvalidNetworkError(
                    f"the model 'map' has one server per operator, and {operator.name!r} has {operator.servers}; "
                    f"use 'mmk' or 'gigk' for several"
                )

    # -- answers ------------------------------------------------------------------------------------------------

    def path(self, way: Way) -> QueueSolution:
        """The response time of a path.

        It is that of its chain, unless streams have merged on the way. First come first served, all tuples of an
        operator wait alike, wherever they come from. So then the mean is the sum over the operators.
        """
        chain = self._chain(way)
        if isinstance(chain, Unstable) or all(len(self._ways[name]) == 1 for name in way):
            return chain
        mean_s = sum(self._mean_s(name) for name in way)
        return replace(chain, sojourns=tuple(sojourn.scaled(mean_s / chain.mean_s) for sojourn in chain.sojourns))

    def operator(self, name: str) -> QueueSolution:
        """The response time of one operator, over all ways that lead to it."""
        station = self._stations[name]
        if station.overloaded:
            return Unstable(station.utilization)
        ways = self._ways[name]
        main = self._at_end_of(max(ways, key=ways.__getitem__))
        return Response(station.utilization, (main.scaled(self._mean_s(name) / main.mean_s),))

    def _mean_s(self, name: str) -> float:
        """The mean time at an operator, over the tuples of all ways."""
        ways = self._ways[name]
        return sum(self._at_end_of(way).mean_s * tuples for way, tuples in ways.items()) / sum(ways.values())

    # -- operators of a path -------------------------------------------------------------------------------------------

    @cached_property
    def _source(self) -> Source:
        return Source(self.arrivals)

    @cached_property
    def _stations(self) -> dict[str, Station]:
        streams = streams_of(self.network, self.arrivals.rate_per_s)
        return {name: self._source.station(self.network.operator(name).service, streams[name]) for name in streams}

    @cached_property
    def _ways(self) -> dict[str, dict[Way, float]]:
        """All ways to every operator, with the tuples that take them."""
        ways: dict[str, dict[Way, float]] = {}
        for name in self.network.order:
            ways[name] = {
                (*way, name): tuples * edge.selectivity / max(self._stations[edge.source].utilization, 1.0)
                for edge in self.network.into(name)
                for way, tuples in ways[edge.source].items()
            } or {(name,): 1.0}
        return ways

    def _bottleneck(self, way: Way) -> str:
        """The operator with the highest load; of several, the first."""
        return max(way, key=lambda name: self._stations[name].utilization)

    def _pacer(self, way: Way) -> str:
        """The operator whose departures the end of a way follows: the bottleneck, or one that cannot keep up."""
        overloaded = [name for name in way[:-1] if self._stations[name].overloaded]
        return overloaded[-1] if overloaded else self._bottleneck(way)

    @cached_property
    def _followers(self) -> dict[str, list[str]]:
        """By pacer, all operators that have to be solved behind it, so that they can be solved together."""
        followers: dict[str, dict[str, None]] = defaultdict(dict)
        for way in (way for ways in self._ways.values() for way in ways):
            pacer = self._pacer(way)
            names = way[-1:] if self._stations[pacer].overloaded else way
            stable = [name for name in names if name != pacer and not self._stations[name].overloaded]
            followers[pacer] |= dict.fromkeys(stable)
        return {pacer: list(names) for pacer, names in followers.items()}

    # -- chains -------------------------------------------------------------------------------------------------

    def _chain(self, way: Way) -> Response | Unstable:
        """The response time of a chain of operators from the source on."""
        if way not in self._chains:
            self._chains[way] = self._solve_chain(way)
        return self._chains[way]

    def _solve_chain(self, way: Way) -> Response | Unstable:
        bottleneck = self._bottleneck(way)
        utilization = self._stations[bottleneck].utilization
        if self._stations[bottleneck].overloaded:
            return Unstable(utilization)
        others = [name for name in way if name != bottleneck]
        sojourns = (self._alone[bottleneck], *(self._behind(bottleneck)[name] for name in others))
        interchanged_s = sum(sojourn.mean_s for sojourn in sojourns)
        shift_s = sum(self._order_shift_s(name, bottleneck) for name in way[: way.index(bottleneck)])
        least_s = sum(self._stations[name].service.mean_s for name in way)
        factor = max(interchanged_s + shift_s, least_s) / interchanged_s
        return Response(utilization, tuple(sojourn.scaled(factor) for sojourn in sojourns))

    def _at_end_of(self, way: Way) -> Sojourn:
        """The time at the last operator of a way."""
        before, name = way[:-1], way[-1]
        pacer = self._pacer(way)
        if pacer != name:
            return self._behind(pacer)[name]
        alone = self._alone[name]
        if not before:
            return alone
        # Under bursts the bottleneck follows the source's own pace, less what the others have held back before it.
        gained_s = self._mean_of(way) - self._mean_of(before)
        return alone.scaled(max(gained_s, self._stations[name].service.mean_s) / alone.mean_s)

    def _mean_of(self, way: Way) -> float:
        chain = self._chain(way)
        assert not isinstance(chain, Unstable), f"{way} was taken to be stable"  # noqa: S101 - a fact, not a check
        return chain.mean_s

    @cached_property
    def _alone(self) -> dict[str, Sojourn]:
        """The time at every operator that is the bottleneck of some way, fed by the source itself."""
        names = dict.fromkeys(self._bottleneck(way) for ways in self._ways.values() for way in ways)
        stable = [name for name in names if not self._stations[name].overloaded]
        sojourns = self._source.alone([self._stations[name] for name in stable])
        return dict(zip(stable, sojourns, strict=True))

    def _behind(self, pacer: str) -> dict[str, Sojourn]:
        """The times at the operators that see the departures of ``pacer``."""
        if pacer not in self._paced:
            names = self._followers[pacer]
            sojourns = self._source.behind(self._stations[pacer], [self._stations[name] for name in names])
            self._paced[pacer] = dict(zip(names, sojourns, strict=True))
        return self._paced[pacer]

    def _order_shift_s(self, name: str, pacer: str) -> float:
        """Extra mean time of a chain if ``name`` stands before its bottleneck ``pacer``.

        If both are loaded alike, either may be called the bottleneck, and both ways must give one answer: that of the
        true order, in which the second one sees real departures. There the difference is known. It is due to the
        variability of the first one's service, which its departures carry to the second, and it vanishes as the first
        gets faster like the wait that this adds in QNA (Whitt 1983): as ``rho^2`` times ``rho S / (1 - rho)``.
        """
        if (name, pacer) not in self._shifts_s:
            self._shifts_s[name, pacer] = self._solve_order_shift_s(self._stations[name], pacer)
        return self._shifts_s[name, pacer]

    def _solve_order_shift_s(self, first: Station, pacer: str) -> float:
        second = self._stations[pacer]
        if first.alike(second):
            return 0.0
        ratio = first.utilization / second.utilization
        weight = ratio**3 * (1 - second.utilization) / (1 - first.utilization)
        weight = (weight - LEAST_ORDER_WEIGHT) / (1 - LEAST_ORDER_WEIGHT)
        if weight <= 0:
            return 0.0
        equal = first.at(second.utilization)
        in_order = [*self._source.alone([equal]), *self._source.behind(equal, [second])]
        interchanged = [self._alone[pacer], *self._source.behind(second, [equal])]
        return weight * (sum(s.mean_s for s in in_order) - sum(s.mean_s for s in interchanged))
