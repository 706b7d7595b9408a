"""A window of arrivals, sent through a whole pipeline once more.

Every operator gets what those before it have let go, at the times at which they did. So bursts travel, merge and are
smoothed as they would be, and the response time of a path needs no assumption about what its operators have in common.
Only tuples that come back are not followed (see ``stations``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.policies.predictive.predictions import LazySolutions
from mead.policies.predictive.stations import stations
from mead.queueing import (
    DEFAULT_SEQUENCES,
    PATH_SEPARATOR,
    PH,
    BatchServer,
    Edge,
    Network,
    NetworkSolution,
    QueueSolution,
    ReplayResponse,
    ServiceTimes,
    Unstable,
    overloaded,
    replay,
    replay_batches,
)
from mead.values import Allocation, Operator, Pipeline, Resources


@dataclass
class Draws:
    """Service times and coins, drawn once and used for every candidate and every round (common random numbers)."""

    seed: int
    _units: dict[tuple[str, float], FloatArray] = field(default_factory=dict, repr=False)
    _coins: dict[str, FloatArray] = field(default_factory=dict, repr=False)

    def services(self, operator: Operator, tuples: int) -> FloatArray:
        """Sequences of service times of mean 1, one per row."""
        known = self._units.get((operator.name, operator.scv))
        if known is None or known.shape[1] < tuples:
            rng = np.random.default_rng([self.seed, *operator.name.encode()])
            known = PH.with_moments(1.0, operator.scv).sample((DEFAULT_SEQUENCES, _roomy(tuples)), rng)
            self._units[operator.name, operator.scv] = known
        return known[:, :tuples]

    def coins(self, edge: Edge, tuples: int) -> FloatArray:
        """Numbers between 0 and 1 that decide which tuples go along an edge."""
        name = PATH_SEPARATOR.join((edge.source, edge.target))
        known = self._coins.get(name)
        if known is None or known.size < tuples:
            known = np.random.default_rng([self.seed, *name.encode()]).random(_roomy(tuples))
            self._coins[name] = known
        return known[:tuples]


def _roomy(tuples: int) -> int:
    return 1 << max(tuples - 1, 1).bit_length()


@dataclass(frozen=True, eq=False)
class Stream:
    """Tuples on their way, in the order in which they arrive; one row per sequence of service times.

    All rows hold the same tuples, but in different orders where tuples overtake each other.
    """

    time_s: FloatArray
    number: IntArray
    """Which tuple it is, from 0 up."""
    origin_s: FloatArray
    """By number: when it arrived at the source."""
    way: IntArray
    """By number: on which of the ways to this operator it has come."""
    ways: tuple[tuple[str, ...], ...]

    @property
    def response_s(self) -> FloatArray:
        """Time since the tuples arrived at the source."""
        return np.asarray(self.time_s - self.origin_s[self.number])


@dataclass(eq=False)
class WindowReplay:
    """One window, and what has been replayed of it.

    An operator is replayed anew if it or one before it changes.
    """

    iats_s: FloatArray = field(repr=False)
    draws: Draws
    _served: dict[tuple[frozenset[tuple[str, Resources]], str], tuple[Stream, FloatArray] | Unstable] = field(
        default_factory=dict, repr=False
    )

    def solution(self, pipeline: Pipeline, allocation: Allocation) -> NetworkSolution:
        """Response times of operators and paths, replayed when they are asked for."""
        network = stations(pipeline, allocation)
        run = _Run(self, pipeline, network, allocation)
        return NetworkSolution(LazySolutions(network.order, run.operator), LazySolutions(pipeline.paths, run.path))


@dataclass(frozen=True, eq=False)
class _Run:
    """A window under one allocation."""

    window: WindowReplay
    pipeline: Pipeline
    network: Network
    allocation: Allocation

    def operator(self, name: str) -> QueueSolution:
        served = self._served(name)
        utilization = self._utilization(name)
        return Unstable(utilization) if isinstance(served, Unstable) else self._met((name,), served[1], utilization)

    def path(self, name: str) -> QueueSolution:
        way = tuple(name.split(PATH_SEPARATOR))
        busiest = max(self._utilization(operator) for operator in way)
        served = self._served(way[-1])
        if isinstance(served, Unstable) or overloaded(busiest):
            return Unstable(busiest)
        stream, _ = served
        response_s = stream.response_s
        if len(stream.ways) > 1:
            taken = (stream.way == stream.ways.index(way))[stream.number]
            response_s = response_s[taken].reshape(len(taken), -1)  # as many in every row
        return self._met(way, response_s, busiest)

    def _met(self, way: tuple[str, ...], response_s: FloatArray, utilization: float) -> ReplayResponse:
        """The response times of the tuples; if none came in the window, the mean service time that one takes."""
        if response_s.size:
            return ReplayResponse(utilization, response_s)
        service_s = sum(self.network.operator(name).service.mean_s for name in way)
        return ReplayResponse(utilization, np.array([[service_s]]))

    def _utilization(self, name: str) -> float:
        rate_per_s = self.window.iats_s.size / float(self.window.iats_s.sum()) * self._flow(name)
        operator, station = self.pipeline.operator(name), self.network.operator(name)
        if operator.batches:
            return self._batch_server(operator).utilization(rate_per_s)
        return rate_per_s * station.service.mean_s / station.servers

    def _flow(self, name: str) -> float:
        edges = self.network.into(name)
        return sum(self._flow(edge.source) * edge.selectivity for edge in edges) if edges else 1.0

    def _batch_server(self, operator: Operator) -> BatchServer:
        batches, station = operator.batches, self.network.operator(operator.name)
        assert batches is not None  # noqa: S101 - a fact, not a check
        per_tuple_s = station.service.mean_s / station.servers
        return BatchServer(batches.overhead_s, per_tuple_s, trigger_s=batches.trigger_s, max_batch=batches.max_tuples)

    def _upstream(self, name: str) -> Iterator[tuple[str, Resources]]:
        yield name, self.allocation[name]
        for edge in self.network.into(name):
            yield from self._upstream(edge.source)

    def _served(self, name: str) -> tuple[Stream, FloatArray] | Unstable:
        """The tuples that leave an operator, with the times that they have spent there."""
        key = frozenset(self._upstream(name)), name
        if key not in self.window._served:  # noqa: SLF001 - the run is the window's own
            self.window._served[key] = self._serve(name)  # noqa: SLF001
        return self.window._served[key]  # noqa: SLF001

    def _serve(self, name: str) -> tuple[Stream, FloatArray] | Unstable:
        if overloaded(self._utilization(name)):
            return Unstable(self._utilization(name))
        stream = self._arriving(name)
        if isinstance(stream, Unstable):
            return stream
        if not stream.time_s.size:
            return stream, stream.time_s
        operator, station = self.pipeline.operator(name), self.network.operator(name)
        units = self.window.draws.services(operator, stream.time_s.shape[1])
        response_s = np.empty(stream.time_s.shape)
        for row, (time_s, unit) in enumerate(zip(stream.time_s, units, strict=True)):
            # Tuples of one micro-batch leave at the same time; rounding can turn them around.
            iats_s = np.maximum(np.diff(time_s, prepend=0.0), 0.0)
            if operator.batches:
                solution = replay_batches(iats_s, self._batch_server(operator))
            else:
                services = ServiceTimes(unit[None, :], station.service.mean_s)
                solution = replay(iats_s, services, servers=station.servers)
            if not isinstance(solution, ReplayResponse):  # just below 1 by the rate, but not by what arrives here
                return Unstable(solution.utilization)
            response_s[row] = solution.response_s[0]
        leaving = replace(stream, time_s=stream.time_s + response_s)
        return (leaving if station.servers == 1 else _in_order(leaving)), response_s

    def _arriving(self, name: str) -> Stream | Unstable:
        edges = self.network.into(name)
        if not edges:
            origin_s = np.cumsum(self.window.iats_s)
            rows = DEFAULT_SEQUENCES, origin_s.size
            number = np.broadcast_to(np.arange(origin_s.size), rows)
            way = np.zeros(origin_s.size, dtype=np.int64)
            return Stream(np.broadcast_to(origin_s, rows), number, origin_s, way, ((name,),))
        inputs = []
        for edge in edges:
            served = self._served(edge.source)
            if isinstance(served, Unstable):
                return served
            inputs.append(self._along(edge, served[0]))
        if len(inputs) == 1:
            return inputs[0]
        return _merged(inputs)

    def _along(self, edge: Edge, stream: Stream) -> Stream:
        """The stream along an edge. A tuple's own coin decides how many copies of it go there, whenever it comes."""
        ways = tuple((*way, edge.target) for way in stream.ways)
        whole = int(edge.selectivity)
        copies = whole + (self.window.draws.coins(edge, stream.way.size) < edge.selectivity - whole)
        if np.all(copies == 1):
            return replace(stream, ways=ways)
        first = np.cumsum(copies) - copies  # by number, that of the first copy
        times = copies[stream.number].ravel()
        taken = np.repeat(np.arange(times.size), times)
        which = np.arange(taken.size) - np.repeat(np.cumsum(times) - times, times)
        rows = len(stream.time_s), int(copies.sum())
        return Stream(
            stream.time_s.ravel()[taken].reshape(rows),
            (first[stream.number].ravel()[taken] + which).reshape(rows),
            np.repeat(stream.origin_s, copies),
            np.repeat(stream.way, copies),
            ways,
        )


def _merged(streams: Sequence[Stream]) -> Stream:
    first_number = np.cumsum([0, *(stream.way.size for stream in streams[:-1])])
    first_way = np.cumsum([0, *(len(stream.ways) for stream in streams[:-1])])
    return _in_order(
        Stream(
            np.concatenate([stream.time_s for stream in streams], axis=1),
            np.concatenate([stream.number + i for stream, i in zip(streams, first_number, strict=True)], axis=1),
            np.concatenate([stream.origin_s for stream in streams]),
            np.concatenate([stream.way + i for stream, i in zip(streams, first_way, strict=True)]),
            tuple(way for stream in streams for way in stream.ways),
        )
    )


def _in_order(stream: Stream) -> Stream:
    order = np.argsort(stream.time_s, axis=1, kind="stable")
    return replace(
        stream,
        time_s=np.take_along_axis(stream.time_s, order, axis=1),
        number=np.take_along_axis(stream.number, order, axis=1),
    )
