"""Streams between operators: tuples per tuple of the source, and batches.

Everything in the network comes from one source, so its bursts reach all operators together. A stream is therefore
described by what became of each source tuple: with probability ``keep`` it has descendants here, ``batch`` of them in
the mean. Filters lower ``keep``, flat maps and merging copies raise ``batch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, prod

from mead.queueing.network.graph import Network
from mead.queueing.ph import PH


@dataclass(frozen=True)
class Stream:
    """The tuples that reach an operator, per tuple of the source.

    >>> Stream().through(0.5), Stream().through(0.5).through(4.0)
    (Stream(keep=0.5, batch=1.0), Stream(keep=0.5, batch=4.0))
    """

    keep: float = 1.0
    batch: float = 1.0

    @property
    def tuples(self) -> float:
        """Mean tuples here per tuple of the source."""
        return self.keep * self.batch

    def through(self, selectivity: float) -> Stream:
        """The stream after an edge.

        A filter makes batches smaller, and removes them only where they are single.
        """
        batch = self.batch * selectivity
        return Stream(self.keep, batch) if batch >= 1 else Stream(self.keep * batch, 1.0)


def merged(streams: Sequence[Stream]) -> Stream:
    """Several streams of one source at one operator.

    Filters on different ways are taken as independent. Copies that meet again are taken to arrive together: true on
    the scale of bursts, which decides about long queues, and too early by the delays of the ways on the scale of single
    tuples.

    >>> merged([Stream(), Stream()])
    Stream(keep=1.0, batch=2.0)
    """
    if len(streams) == 1:
        return streams[0]
    keep = 1.0 - prod(1.0 - stream.keep for stream in streams)
    return Stream(keep, sum(stream.tuples for stream in streams) / keep)


def streams_of(network: Network, rate_per_s: float) -> dict[str, Stream]:
    """The stream at every operator. One that cannot keep up lets through what it can serve, and no more."""
    streams: dict[str, Stream] = {}
    for name in network.order:
        edges = network.into(name)
        sources = [_served(network, edge.source, streams[edge.source], rate_per_s) for edge in edges]
        inputs = [stream.through(edge.selectivity) for stream, edge in zip(sources, edges, strict=True)]
        streams[name] = merged(inputs) if inputs else Stream()
    return streams


def utilization_of(network: Network, name: str, stream: Stream, rate_per_s: float) -> float:
    """Load offered to each server of an operator."""
    operator = network.operator(name)
    return rate_per_s * stream.tuples * operator.service.mean_s / operator.servers


def _served(network: Network, name: str, stream: Stream, rate_per_s: float) -> Stream:
    utilization = utilization_of(network, name, stream, rate_per_s)
    return Stream(stream.keep / max(utilization, 1.0), stream.batch)


def batch_service(service: PH, batch: float, most_phases: int) -> PH:
    """Time to serve a whole batch.

    It is exact for a single tuple, otherwise fitted by two moments with ``most_phases`` at most.

    The number of tuples is the whole number below or above ``batch``, so its variance is ``f (1 - f)`` with the
    fraction f; the rest is the variance of a random sum.

    >>> round(batch_service(PH.exponential(1.0), 2.5, 8).mean_s, 9)
    2.5
    """
    if batch == 1:
        return service
    fraction = batch - floor(batch)
    scv = (service.scv + fraction * (1 - fraction) / batch) / batch
    return PH.with_moments(batch * service.mean_s, max(scv, 1 / most_phases))


def time_in_batch(service: PH, batch: float) -> PH:
    """From the start of a batch to the end of one of its tuples, any of them alike; by two moments.

    >>> round(time_in_batch(PH.exponential(1.0), 3.0).mean_s, 9)
    2.0
    """
    if batch == 1:
        return service
    low = floor(batch)
    sizes = [(low, low + 1 - batch), (low + 1, batch - low)]
    # A tuple is the k-th of its batch with probability P(size >= k) / mean size.
    place = sum(weight * n * (n + 1) / 2 for n, weight in sizes) / batch
    square = sum(weight * n * (n + 1) * (2 * n + 1) / 6 for n, weight in sizes) / batch
    scv = (place * service.scv + square - place**2) / place**2
    return PH.with_moments(place * service.mean_s, scv)


def diluted(service: PH, share: float) -> PH:
    """Service at a server that only a ``share`` of the tuples need.

    The others take zero time; the mixture is fitted by two moments.

    >>> thin = diluted(PH.exponential(1.0), 0.5)
    >>> round(thin.mean_s, 9), round(thin.scv, 9)
    (0.5, 3.0)
    """
    return PH.with_moments(share * service.mean_s, (1 + service.scv) / share - 1)
