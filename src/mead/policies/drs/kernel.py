"""Assign processors one by one where each shortens the queues most: Algorithms 1 and 2 of DRS, compiled.

The gain of one more processor at operator i is ``l_i (E[T_i](k) - E[T_i](k + 1))``. By Little's law that is how much
shorter its queue becomes, in tuples. The service time is left out on purpose: it is in both terms, and with many
processors it would swamp their difference. The gate of a micro-batch is left out with it.

An Erlang-B recursion goes from k to k + 1 in one step, and a heap knows the largest gain: a processor costs
``O(log N)``, where the paper computes every delay anew for every processor.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from mead.queueing import batch_wait_s, whitt_factor

STATION = np.dtype(
    [
        ("rate_per_s", np.float64),
        ("load", np.float64),
        ("arrival_scv", np.float64),
        ("service_scv", np.float64),
        ("batched", np.bool_),
        ("overhead_s", np.float64),
        ("trigger_s", np.float64),
        ("most", np.int64),
    ]
)
"""One operator."""

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # not in its stubs
"""Compiled as a part of ``place`` only."""

refinement, held_back_s = inner(whitt_factor), inner(batch_wait_s)
"""The cache of compiled code looks at this file only: touch it when a formula changes. A test checks that."""


@njit(cache=True, error_model="numpy")
def place(stations, refined, spare, enough, processors, queues, blocked, gains, heap):  # pragma: no cover - compiled
    """Hand out up to ``spare`` processors.

    Stop early once the queues hold at most ``enough`` tuples together.

    Starts from ``processors`` and changes them; ``queues`` are the mean queue lengths at the end. The other arrays are
    room to work in. Ties go to the operator that stands first. Returns what is left of ``spare``.
    """
    size = begin(stations, refined, processors, queues, blocked, gains, heap)
    waiting = queues.sum()
    # Differences add up to rounding errors of this size. Where they could matter the queues are added up anew.
    doubt = 1e-9 * (1.0 + waiting)
    while spare > 0 and size > 0:
        if enough >= 0.0:
            if waiting <= enough + doubt:
                waiting = queues.sum()
                if waiting <= enough:
                    break
            if gains[heap[0]] <= 0.0:
                break
        i = heap[0]
        processors[i] += 1
        spare -= 1
        blocked[i] = less_blocked(stations[i].load, blocked[i], processors[i])
        waiting -= gains[i]
        queues[i] = queue(stations[i], refined, processors[i], blocked[i])
        if processors[i] == stations[i].most:
            size -= 1
            heap[0] = heap[size]
        else:
            gains[i] = queues[i] - next_queue(stations[i], refined, processors[i], blocked[i])
        sift(heap, size, gains, 0)
    return spare


@inner
def begin(stations, refined, processors, queues, blocked, gains, heap):  # pragma: no cover - compiled
    """Queues and gains of the start, and a heap of all operators that may have more."""
    size = 0
    for i in range(stations.size):
        blocked[i] = 1.0
        for j in range(1, processors[i] + 1):
            blocked[i] = less_blocked(stations[i].load, blocked[i], j)
        queues[i] = queue(stations[i], refined, processors[i], blocked[i])
        if processors[i] < stations[i].most:
            gains[i] = queues[i] - next_queue(stations[i], refined, processors[i], blocked[i])
            heap[size] = i
            size += 1
    for root in range(size // 2 - 1, -1, -1):
        sift(heap, size, gains, root)
    return size


@inner
def less_blocked(load, blocked, servers):  # pragma: no cover - compiled
    """Erlang's B with the last of so many servers, from that without it."""
    return load * blocked / (servers + load * blocked)


@inner
def queue(station, refined, servers, blocked):  # pragma: no cover - compiled
    """Mean number of waiting tuples: ``(a + s) / 2 C rho / (1 - rho)``, with Erlang's C from his B.

    With micro-batches, also those that wait for more of their own batch than processors could leave of it.
    """
    load = station.load
    if load == 0.0:
        return 0.0
    utilization = load / servers
    variability = (station.arrival_scv + station.service_scv) / 2.0
    tuples = 0.0
    if variability > 0.0:
        waits = blocked / (1.0 - utilization * (1.0 - blocked))
        tuples = variability * waits * load / (servers - load)
        if refined:
            tuples *= refinement(utilization, station.arrival_scv, station.service_scv, servers)
    if station.batched:
        service_s = load / station.rate_per_s
        tuples += station.rate_per_s * held_back_s(load, service_s, station.overhead_s, station.trigger_s, servers)
    return tuples


@inner
def next_queue(station, refined, servers, blocked):  # pragma: no cover - compiled
    """The queue of an operator if it had one processor more than ``servers``."""
    return queue(station, refined, servers + 1, less_blocked(station.load, blocked, servers + 1))


@inner
def sift(heap, size, gains, root):  # pragma: no cover - compiled
    """Let the entry at ``root`` sink to its place: above it larger gains, or equal ones that stand first."""
    moving = heap[root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and ahead(gains, heap[child + 1], heap[child]):
            child += 1
        if not ahead(gains, heap[child], moving):
            break
        heap[root] = heap[child]
        root = child
    heap[root] = moving


@inner
def ahead(gains, one, other):  # pragma: no cover - compiled
    """Whether one is to get a processor before the other."""
    return gains[one] > gains[other] or (gains[one] == gains[other] and one < other)
