"""Replay: the response times that a window's own arrivals meet, with no model of the arrivals at all.

The recorded inter-arrival times (IATs) go through the server once more, with another speed, another number of
servers, or as micro-batches. What it yields is what would have happened in that window, starting empty, and so the
truth that a fitted model is judged by (Lindley 1952 for one server; Kiefer and Wolfowitz 1955 for several).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np
from numba import njit

from mead.arrays import FloatArray
from mead.queueing.ph import PH
from mead.queueing.queues.batch_server import BatchServer
from mead.queueing.queues.response import QueueSolution, Unstable, check_percent, overloaded

DEFAULT_SEQUENCES = 8
"""One sequence of service times is noise of 3-10 % in the mean response; the mean of eight is close to none."""


@dataclass(frozen=True, eq=False)
class ServiceTimes:
    """Sequences of service times shared by all candidates.

    They are drawn once (common random numbers).

    ``unit`` holds one sequence per row, in units of the mean ``mean_s``. A smaller CPU share only changes the mean.
    """

    unit: FloatArray = field(repr=False)
    mean_s: float

    @classmethod
    def drawn(
        cls, service: PH, tuples: int, rng: np.random.Generator, *, sequences: int = DEFAULT_SEQUENCES
    ) -> ServiceTimes:
        """Independent service times from a phase-type distribution, for windows of up to ``tuples`` arrivals."""
        return cls(service.sample((sequences, tuples), rng) / service.mean_s, service.mean_s)

    @classmethod
    def observed(cls, service_s: FloatArray) -> ServiceTimes:
        """The service times of the tuples themselves: one sequence, in the order of the arrivals."""
        mean_s = float(np.mean(service_s))
        if not (np.ndim(service_s) == 1 and np.min(service_s) >= 0 and 0 < mean_s < np.inf):
            raise ValueError("observed service times must be one row of finite seconds, none negative, not all zero")
        return cls(np.asarray(service_s, dtype=np.float64)[None, :] / mean_s, mean_s)

    def with_mean(self, mean_s: float) -> ServiceTimes:
        """The same sequences on a faster or slower server."""
        return replace(self, mean_s=mean_s)


@dataclass(frozen=True, eq=False)
class ReplayResponse:
    """Response times of every tuple of the window, one row per sequence of service times.

    Mean and percentiles are those of a row, averaged over the rows.
    """

    utilization: float
    response_s: FloatArray = field(repr=False)
    mean_batch: float = 1.0
    """Tuples served together."""

    @cached_property
    def mean_s(self) -> float:
        """Mean response time."""
        return float(self.response_s.mean())

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed."""
        return self.percentiles_s([percent])[0]

    def percentiles_s(self, percents: Sequence[float]) -> list[float]:
        """Several percentiles, from one partial sort."""
        tuples = self.response_s.shape[1]
        ranks = [ceil((1.0 - check_percent(percent)) * tuples - 1e-9) - 1 for percent in percents]
        ordered = np.partition(self.response_s, ranks, axis=1)
        return [float(ordered[:, rank].mean()) for rank in ranks]


def replay(iats_s: FloatArray, services: ServiceTimes, *, servers: int = 1) -> QueueSolution:
    """Replay a window through ``servers`` equal servers with one queue, first come first served.

    >>> steady = np.full(100, 2.0)
    >>> one = replay(steady, ServiceTimes.observed(np.tile([3.0, 0.5], 50)))
    >>> round(one.mean_s, 9), one.percentile_s(50), one.percentile_s(99)
    (2.25, 1.5, 3.0)
    >>> replay(steady, ServiceTimes.observed(np.full(100, 3.0)))
    Unstable(utilization=1.5, stable=False)
    >>> replay(steady, ServiceTimes.observed(np.full(100, 3.0)), servers=2).mean_s
    3.0
    """
    if servers < 1:
        raise ValueError(f"there must be at least one server; got {servers}")
    utilization = _rate_per_s(iats_s) * services.mean_s / servers
    if overloaded(utilization):
        return Unstable(utilization)
    if services.unit.shape[1] < iats_s.size:
        raise ValueError(
            f"the window has {iats_s.size} arrivals but there are service times for {services.unit.shape[1]}; draw more"
        )
    if servers == 1:
        return ReplayResponse(utilization, _one_server(iats_s, services))
    response_s = np.empty((services.unit.shape[0], iats_s.size))
    for row, unit in zip(response_s, services.unit, strict=True):
        _first_come_first_served(iats_s, unit, services.mean_s, np.zeros(servers), row)
    return ReplayResponse(utilization, response_s)


def replay_at_utilizations(
    iats_s: FloatArray, services: ServiceTimes, utilizations: Sequence[float]
) -> list[QueueSolution]:
    """The same window on one server, sped up or slowed down to each utilization."""
    mean_iat_s = 1.0 / _rate_per_s(iats_s)
    return [replay(iats_s, services.with_mean(u * mean_iat_s)) for u in utilizations]


def replay_batches(iats_s: FloatArray, server: BatchServer, extra_s: FloatArray | None = None) -> QueueSolution:
    """Replay a window through a micro-batch server.

    ``extra_s`` are seconds by which batches run longer than the server says, or shorter: the first batch has the first
    of them, and after the last one they begin again.

    >>> lone = replay_batches(np.full(10, 5.0), BatchServer(overhead_s=0.5, demand_s=0.25))
    >>> lone.mean_s, lone.mean_batch
    (0.75, 1.0)
    >>> uneven = replay_batches(np.full(10, 5.0), BatchServer(0.5, 0.25), np.array([0.25, -0.25]))
    >>> uneven.mean_s, uneven.percentile_s(95)
    (0.75, 1.0)
    """
    utilization = server.utilization(_rate_per_s(iats_s))
    if overloaded(utilization):
        return Unstable(utilization)
    response_s = np.empty((1, iats_s.size))
    batches = _gated_batches(
        np.cumsum(iats_s),
        server.overhead_s,
        server.per_tuple_s,
        server.trigger_s or 0.0,
        server.max_batch or iats_s.size,
        np.zeros(1) if extra_s is None else extra_s,
        response_s[0],
    )
    return ReplayResponse(utilization, response_s, iats_s.size / batches)


def _rate_per_s(iats_s: FloatArray) -> float:
    if iats_s.ndim != 1 or iats_s.size == 0:
        raise ValueError(f"a window is one row of IATs, at least one; got shape {iats_s.shape}")
    span_s = float(iats_s.sum())
    if not (iats_s.min() >= 0 and 0 < span_s < np.inf):
        raise ValueError("the IATs of a window must be finite and not negative, and some must be longer than 0 s")
    return iats_s.size / span_s


def _one_server(iats_s: FloatArray, services: ServiceTimes) -> FloatArray:
    """Lindley's recursion in closed form.

    ``R_i = S_i + C_i - min_{j <= i} C_j`` with ``C_i = sum (S_{k-1} - X_k)``.

    A compiled loop is three times as fast, but loading it costs a short command more than all its replays together.
    """
    response_s = np.empty((services.unit.shape[0], iats_s.size))
    surplus, lowest = np.zeros(iats_s.size), np.empty(iats_s.size)
    for row, unit in zip(response_s, services.unit, strict=True):  # one row at a time stays in the cache
        np.multiply(unit[: iats_s.size], services.mean_s, out=row)
        np.cumsum(row[:-1] - iats_s[1:], out=surplus[1:])
        np.minimum.accumulate(surplus, out=lowest)
        np.add(row, surplus, out=row)
        np.subtract(row, lowest, out=row)
    return response_s


@njit(cache=True)
def _first_come_first_served(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    iats_s, unit, mean_s, free_s, response_s
):
    """Each tuple takes the server that is free first; ``free_s`` is a heap with that server on top."""
    now = 0.0
    for i in range(iats_s.size):
        now += iats_s[i]
        done = max(now, free_s[0]) + unit[i] * mean_s
        response_s[i] = done - now
        place = 0
        child = 1
        while child < free_s.size:
            if child + 1 < free_s.size and free_s[child + 1] < free_s[child]:
                child += 1
            if free_s[child] >= done:
                break
            free_s[place] = free_s[child]
            place = child
            child = 2 * place + 1
        free_s[place] = done


@njit(cache=True)
def _gated_batches(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    arrival_s, overhead_s, per_tuple_s, trigger_s, max_batch, extra_s, response_s
):
    """Write the response time of each tuple; returns the number of batches.

    ``trigger_s`` 0 means no trigger.
    """
    first, batches = 0, 0
    start, end = -1.0, 0.0
    while first < arrival_s.size:
        if trigger_s > 0:
            tick = np.floor(start / trigger_s) + 1
            if tick * trigger_s <= start:  # 0.3 / 0.1 rounds down
                tick += 1
            start = max(end, tick * trigger_s)
            if arrival_s[first] > start:
                start = np.ceil(arrival_s[first] / trigger_s) * trigger_s
        else:
            start = end
        start = max(start, arrival_s[first])
        last = first + 1
        while last < arrival_s.size and last - first < max_batch and arrival_s[last] <= start:
            last += 1
        end = max(start + overhead_s + (last - first) * per_tuple_s + extra_s[batches % extra_s.size], start)
        for i in range(first, last):
            response_s[i] = end - arrival_s[i]
        first = last
        batches += 1
    return batches
