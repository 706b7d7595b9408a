"""Response times of a pipeline under a MAP, with operators that serve tuple by tuple or in micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from mead.policies.predictive.predictions import LazySolutions, LongerService, sum_of
from mead.policies.predictive.stations import stations
from mead.queueing import (
    MAP,
    PATH_SEPARATOR,
    BatchServer,
    Chains,
    InvalidNetworkError,
    MicroBatches,
    Network,
    NetworkSolution,
    QueueSolution,
    Stream,
    Unstable,
    map_ph_1,
    streams_of,
)
from mead.values import Allocation, Operator, Pipeline


@dataclass(eq=False)
class ArrivalModel:
    """An arrival process, with the solutions of micro-batch operators, which most candidate allocations share."""

    arrivals: MAP
    _thinned: dict[float, MicroBatches] = field(default_factory=dict, repr=False)
    _solutions: dict[tuple[float, BatchServer], QueueSolution] = field(default_factory=dict, repr=False)

    def thinned(self, keep: float) -> MAP:
        """The arrivals that are left if each goes on with that probability."""
        return self.arrivals if keep == 1 else self.arrivals.thinned(keep)

    def micro_batches(self, keep: float, server: BatchServer) -> QueueSolution:
        """The response time at a batch server, of the arrivals that are left."""
        if keep not in self._thinned:
            self._thinned[keep] = MicroBatches(self.thinned(keep))
        if (keep, server) not in self._solutions:
            self._solutions[keep, server] = self._thinned[keep].at(server)
        return self._solutions[keep, server]


def solve_pipeline(
    pipeline: Pipeline, allocation: Allocation, sources: Sequence[ArrivalModel], policy: str
) -> list[NetworkSolution]:
    """Response times under each of several arrival processes, computed when they are needed."""
    network = stations(pipeline, allocation, joint=True)
    if any(operator.batches for operator in pipeline.operators):
        _check_batches(pipeline, network, policy)
        return [_each_alone(pipeline, allocation, network, one) for one in sources]
    return [_as_network(pipeline, allocation, network, one) for one in sources]


def _as_network(pipeline: Pipeline, allocation: Allocation, network: Network, source: ArrivalModel) -> NetworkSolution:
    chains = Chains(network, source.arrivals)

    def path(name: str) -> QueueSolution:
        way = tuple(name.split(PATH_SEPARATOR))
        return _served_by_one(chains.path(way), way, allocation, network)

    return NetworkSolution(
        LazySolutions(network.order, lambda name: _served_by_one(chains.operator(name), (name,), allocation, network)),
        LazySolutions(pipeline.paths, path),
    )


def _check_batches(pipeline: Pipeline, network: Network, policy: str) -> None:
    for edge in network.edges:
        source, target = pipeline.operator(edge.source), pipeline.operator(edge.target)
        if source.batches and not target.batches:
            raise InvalidNetworkError(
                f"policy {policy} has no model of operator {target.name!r}, which serves tuple by tuple behind the "
                f"micro-batches of {source.name!r}; give it a batch overhead, or use policy replay"
            )


def _each_alone(pipeline: Pipeline, allocation: Allocation, network: Network, source: ArrivalModel) -> NetworkSolution:
    """Every operator alone under the arrivals of the source, as many as reach it.

    Behind a micro-batch operator tuples come a batch at a time. The next micro-batch operator gathers them anyway, so
    for it the arrivals of the source are taken; for one that serves tuple by tuple there is no model here.
    """
    streams = streams_of(network, source.arrivals.rate_per_s)

    @cache
    def alone(name: str) -> QueueSolution:
        operator, stream = pipeline.operator(name), streams[name]
        if operator.batches:
            return source.micro_batches(stream.keep, _batch_server(operator, network, stream))
        queue = map_ph_1(source.thinned(stream.keep), network.operator(name).service.scaled(stream.batch))
        return _served_by_one(queue, (name,), allocation, network)

    return NetworkSolution(
        LazySolutions(network.order, alone),
        LazySolutions(pipeline.paths, lambda path: sum_of([alone(name) for name in path.split(PATH_SEPARATOR)])),
    )


def _batch_server(operator: Operator, network: Network, stream: Stream) -> BatchServer:
    """A batch is split evenly over the replicas, so they are one server of their joint speed."""
    batches = operator.batches
    assert batches is not None  # noqa: S101 - a fact, not a check
    limit = None if batches.max_tuples is None else max(1, round(batches.max_tuples / stream.batch))
    per_tuple_s = network.operator(operator.name).service.mean_s * stream.batch
    return BatchServer(batches.overhead_s, per_tuple_s, trigger_s=batches.trigger_s, max_batch=limit)


def _served_by_one(
    solution: QueueSolution, way: tuple[str, ...], allocation: Allocation, network: Network
) -> QueueSolution:
    """Correct a solution that was found for servers of joint speed: a tuple is served by one replica."""
    several = [name for name in way if allocation[name].replicas > 1]
    if isinstance(solution, Unstable) or not several:
        return solution
    joint = {name: network.operator(name).service for name in several}
    extra_s = sum(joint[name].mean_s * (allocation[name].replicas - 1) for name in several)
    services = tuple(joint[name].scaled(allocation[name].replicas) for name in several)
    return LongerService(solution, extra_s, services)
