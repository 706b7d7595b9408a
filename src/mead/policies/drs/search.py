"""AssignProcessors and MinProcessors: Algorithms 1 and 2 of DRS (Fu et al. 2017), with corrections.

As printed, Algorithm 1 hands out one processor too many (``<=`` in line 7), and Algorithm 2 has a lower bound that
forgets how often an operator is visited and accepts a target that is exactly that bound. Both are optimal because the
queue of an operator is convex in its processors (Theorems 1 and 2), which limits per operator do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import inf
from typing import Literal

import numpy as np
import numpy.typing as npt

from mead.policies.drs.kernel import STATION, place
from mead.policies.drs.model import Model, OpenNetwork

UNLIMITED = 10_000_000
"""More processors than any cluster has, and few enough to be placed within a second."""

NEVER = -1.0
"""A total queue length that is never reached, so that all processors are handed out."""


class InsufficientProcessors(ValueError):  # noqa: N818 - the name stands in the JSON of ``mead allocate``
    """Some queue would grow without end."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"{needed} processors are needed so that no queue grows without end; there are {available}")
        self.needed, self.available = needed, available


class TmaxUnreachable(ValueError):  # noqa: N818 - as above
    """The target is below what any number of processors, or of those that there are, can bring."""

    def __init__(self, reason: Literal["lower_bound", "Kcap"], message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Placement:
    """Processors of every operator, and the sojourn time E[T] that they bring."""

    processors: tuple[int, ...]
    sojourn_s: float

    @property
    def total(self) -> int:
        """All processors."""
        return sum(self.processors)

    def __str__(self) -> str:
        return f"({':'.join(map(str, self.processors))})"


@dataclass(frozen=True)
class Limits:
    """The least and the most processors of every operator."""

    least: tuple[int, ...]
    most: tuple[int, ...]


def assign_processors(network: OpenNetwork, k_max: int, limits: Limits | None = None) -> Placement:
    """The placement of ``k_max`` processors with the shortest sojourn time (problem 6, Algorithm 1).

    >>> from mead.policies.drs.model import Station
    >>> print(assign_processors(OpenNetwork(6.0, (Station(6.0, 10.0), Station(7.5, 15.0))), k_max=5))
    (3:2)
    """
    start = _start(network, limits)
    needed = sum(start)
    if needed > k_max:
        raise InsufficientProcessors(needed, k_max)
    return _placed(network, start, limits, k_max - needed, NEVER)[0]


def min_processors(
    network: OpenNetwork, t_max_s: float, k_cap: int | None = None, limits: Limits | None = None
) -> Placement:
    """The fewest processors with which the sojourn time is no longer than ``t_max_s`` (problem 8, Algorithm 2).

    >>> from mead.policies.drs.model import Station
    >>> network = OpenNetwork(6.0, (Station(6.0, 10.0), Station(7.5, 15.0)))
    >>> print(min_processors(network, t_max_s=0.19))
    (3:2)
    >>> min_processors(network, t_max_s=0.18)
    Traceback (most recent call last):
        ...
    mead.policies.drs.search.TmaxUnreachable: without any waiting it takes 0.183333 s; a target of 0.18 s is out of reach
    """  # noqa: E501
    if network.shortest_s > t_max_s or (network.shortest_s == t_max_s and network.queues):
        raise TmaxUnreachable(
            "lower_bound",
            f"without any waiting it takes {network.shortest_s:.6g} s; a target of {t_max_s:.6g} s is out of reach",
        )
    start = _start(network, limits)
    available = UNLIMITED if k_cap is None else k_cap
    needed = sum(start)
    if needed > available:
        raise TmaxUnreachable("Kcap", str(InsufficientProcessors(needed, available)))
    enough = network.external_per_s * (t_max_s - network.shortest_s)
    best, left = _placed(network, start, limits, available - needed, enough)
    if best.sojourn_s > t_max_s * (1 + 1e-12):
        used_up = left == 0 or limits is not None
        reason: Literal["lower_bound", "Kcap"] = "Kcap" if used_up else "lower_bound"
        raise TmaxUnreachable(
            reason, f"{best.total} processors bring {best.sojourn_s:.6g} s, and not the target of {t_max_s:.6g} s"
        )
    return best


def assign_too_few(network: OpenNetwork, k_max: int, limits: Limits | None = None) -> Placement:
    """Place ``k_max`` processors where some queue grows without end.

    Each goes where the load per processor is highest.

    The paper has no such case. The more is served, the slower queues grow, so no processor is left idle only because
    there is no solution.

    >>> from mead.policies.drs.model import Station
    >>> network = OpenNetwork(9.0, (Station(9.0, 2.0), Station(9.0, 10.0)))
    >>> print(assign_too_few(network, k_max=4))
    (3:1)
    """
    processors = [1] * len(network.stations) if limits is None else list(limits.least)
    most = [UNLIMITED] * len(processors) if limits is None else limits.most
    loads = [station.load for station in network.stations]
    heap = [(-loads[i] / k if k < most[i] else inf, i) for i, k in enumerate(processors)]
    heapify(heap)
    for _ in range(k_max - sum(processors)):
        pressure, i = heap[0]
        if pressure == inf:  # every operator has all that it may have
            break
        processors[i] += 1
        heapreplace(heap, (-loads[i] / processors[i] if processors[i] < most[i] else inf, i))
    return Placement(tuple(processors), network.sojourn_s(processors))


def _start(network: OpenNetwork, limits: Limits | None) -> tuple[int, ...]:
    """The fewest processors that keep up with what arrives (Algorithm 1, lines 1-3)."""
    if limits is None:
        return network.least
    for least, most in zip(network.least, limits.most, strict=True):
        if least > most:
            raise InsufficientProcessors(least, most)
    return tuple(max(pair) for pair in zip(network.least, limits.least, strict=True))


def _placed(
    network: OpenNetwork, start: tuple[int, ...], limits: Limits | None, spare: int, enough: float
) -> tuple[Placement, int]:
    """Hand out processors one by one. Returns the placement, and how many processors are left over."""
    processors = np.array(start, dtype=np.int64)
    queues, blocked, gains = np.zeros((3, processors.size))
    left = place(
        _records(network, limits),
        network.model is Model.WHITT,
        spare,
        enough,
        processors,
        queues,
        blocked,
        gains,
        np.zeros(processors.size, dtype=np.int64),
    )
    sojourn_s = network.shortest_s + float(queues.sum()) / network.external_per_s
    return Placement(tuple(processors.tolist()), sojourn_s), int(left)


def _records(network: OpenNetwork, limits: Limits | None) -> npt.NDArray[np.void]:
    """The network, for compiled code."""
    most = [UNLIMITED] * len(network.stations) if limits is None else limits.most
    exponential = network.model is Model.MMK
    return np.array(
        [
            (
                station.rate_per_s,
                station.load,
                1.0 if exponential else station.arrival_scv,
                1.0 if exponential else station.service_scv,
                station.batches is not None,
                station.batches.overhead_s if station.batches else 0.0,
                (station.batches.trigger_s or 0.0) if station.batches else 0.0,
                limit,
            )
            for station, limit in zip(network.stations, most, strict=True)
        ],
        dtype=STATION,
    )
