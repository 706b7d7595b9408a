"""One processor after the other to where it shortens the queues most: Algorithms 1 and 2 of DRS, compiled.

The gain of one more processor at operator i is ``l_i (E[T_i](k) - E[T_i](k + 1))``. By Little's law that is how much
shorter its queue becomes, in tuples. The service time is left out on purpose: it is in both terms, and with many
processors it would swamp their difference.

An Erlang-B recursion goes from k to k + 1 in one step, and a heap knows the largest gain: a processor costs
``O(log N)``, where the paper computes every delay anew for every processor.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from numba import njit

from mead.models.queues.gigk import whitt_factor

inner = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]  # not in its stubs
"""Compiled as a part of ``place`` only."""

refinement = inner(whitt_factor)
"""The cache of compiled code looks at this file only: whoever changes the formula has to touch it too. A test tells."""


@njit(cache=True, error_model="numpy")
def place(  # pragma: no cover - compiled
    loads, arrival_scvs, service_scvs, refined, most, spare, enough, processors, queues, blocked, gains, heap
):
    """Hand out up to ``spare`` processors; stop early once the queues hold no more than ``enough`` tuples together.

    Starts from ``processors`` and changes them; ``queues`` are the mean queue lengths at the end. The other arrays are
    room to work in. Ties go to the operator that stands first. Returns what is left of ``spare``.
    """
    size = begin(loads, arrival_scvs, service_scvs, refined, most, processors, queues, blocked, gains, heap)
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
        blocked[i] = loads[i] * blocked[i] / (processors[i] + loads[i] * blocked[i])
        waiting -= gains[i]
        queues[i] = queue(loads[i], arrival_scvs[i], service_scvs[i], refined, processors[i], blocked[i])
        if processors[i] == most[i]:
            size -= 1
            heap[0] = heap[size]
        else:
            gains[i] = queues[i] - next_queue(loads, arrival_scvs, service_scvs, refined, processors, blocked, i)
        sift(heap, size, gains, 0)
    return spare


@inner
def begin(  # pragma: no cover - compiled
    loads, arrival_scvs, service_scvs, refined, most, processors, queues, blocked, gains, heap
):
    """Queues and gains of the start, and a heap of all operators that may have more."""
    size = 0
    for i in range(loads.size):
        blocked[i] = 1.0
        for j in range(1, processors[i] + 1):
            blocked[i] = loads[i] * blocked[i] / (j + loads[i] * blocked[i])
        queues[i] = queue(loads[i], arrival_scvs[i], service_scvs[i], refined, processors[i], blocked[i])
        if processors[i] < most[i]:
            gains[i] = queues[i] - next_queue(loads, arrival_scvs, service_scvs, refined, processors, blocked, i)
            heap[size] = i
            size += 1
    for root in range(size // 2 - 1, -1, -1):
        sift(heap, size, gains, root)
    return size


@inner
def queue(load, arrival_scv, service_scv, refined, servers, blocked):  # pragma: no cover - compiled
    """Mean number of waiting tuples: ``(a + s) / 2 C rho / (1 - rho)``, with Erlang's C from his B."""
    variability = (arrival_scv + service_scv) / 2.0
    if load == 0.0 or variability == 0.0:
        return 0.0
    utilization = load / servers
    waits = blocked / (1.0 - utilization * (1.0 - blocked))
    tuples = variability * waits * load / (servers - load)
    if refined:
        tuples *= refinement(utilization, arrival_scv, service_scv, servers)
    return tuples


@inner
def next_queue(loads, arrival_scvs, service_scvs, refined, processors, blocked, i):  # pragma: no cover - compiled
    """The queue of operator i if it had one processor more."""
    servers = processors[i] + 1
    less_blocked = loads[i] * blocked[i] / (servers + loads[i] * blocked[i])
    return queue(loads[i], arrival_scvs[i], service_scvs[i], refined, servers, less_blocked)


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
