"""M/M/k: Poisson arrivals, exponential service, k servers and one queue. Exact.

The model of DRS (Fu et al. 2017, eq. 1-3). The factorials of its eq. 2 and 3 overflow beyond some dozens of servers,
so the probability to wait comes from the Erlang-B recursion, which is the same number and has no such limit.
"""

from __future__ import annotations

from mead.queueing.queues.response import QueueSolution, Unstable, overloaded
from mead.queueing.queues.wait_and_service import WaitAndService


def erlang_b(load: float, servers: int) -> float:
    """The fraction of arrivals lost without a waiting room: ``B(0) = 1, B(j) = A B(j-1) / (j + A B(j-1))``.

    >>> erlang_b(load=1.0, servers=2)
    0.2
    """
    blocked = 1.0
    for j in range(1, servers + 1):
        blocked = load * blocked / (j + load * blocked)
    return blocked


def erlang_c(load: float, servers: int) -> float:
    """Probability that an arrival waits: ``B / (1 - rho (1 - B))``.

    The load must be below ``servers``.

    >>> round(erlang_c(load=1.0, servers=2), 12)
    0.333333333333
    """
    blocked = erlang_b(load, servers)
    return blocked / (1 - load / servers * (1 - blocked))


def mmk(rate_per_s: float, mean_service_s: float, servers: int) -> QueueSolution:
    """The response time of an M/M/k queue; mean and percentiles are exact.

    A tuple waits with probability C (Erlang), and then an exponential time of rate ``k mu - lambda``.

    >>> mmk(rate_per_s=5.0, mean_service_s=0.1, servers=1).mean_s
    0.2
    >>> round(mmk(rate_per_s=10.0, mean_service_s=0.25, servers=3).mean_s, 12)
    0.601123595506
    >>> mmk(rate_per_s=30.0, mean_service_s=0.1, servers=3)
    Unstable(utilization=1.0, stable=False)
    """
    check_node(rate_per_s, mean_service_s, servers)
    load = rate_per_s * mean_service_s
    utilization = load / servers
    if overloaded(utilization):
        return Unstable(utilization)
    wait_probability = erlang_c(load, servers)
    mean_wait_s = wait_probability * mean_service_s / (servers - load)
    return WaitAndService(utilization, wait_probability, mean_wait_s, mean_service_s, service_scv=1.0)


def check_node(rate_per_s: float, mean_service_s: float, servers: int) -> None:
    """Refuse what cannot be a queue at all; overload is not refused, it is an answer."""
    if not (0 <= rate_per_s < float("inf") and 0 < mean_service_s < float("inf")):
        raise ValueError(
            f"a queue needs a finite rate >= 0 and a finite mean service time > 0; "
            f"got {rate_per_s:g} per second and {mean_service_s:g} s"
        )
    if servers < 1:
        raise ValueError(f"there must be at least one server; got {servers}")
