"""Kingman's GI/G/1: rate and variability of the arrivals, no correlation.

One of MEAD's baselines. It knows nothing of correlation between inter-arrival times, which is why it falls short
under bursty arrivals by an order of magnitude and more.
"""

from __future__ import annotations

from mead.queueing.queues.mmk import check_node
from mead.queueing.queues.response import QueueSolution, Unstable, overloaded
from mead.queueing.queues.wait_and_service import WaitAndService


def kingman(rate_per_s: float, arrival_scv: float, mean_service_s: float, service_scv: float) -> QueueSolution:
    """The response time of a GI/G/1 queue by Kingman's heavy-traffic formula (1961).

    Mean wait ``rho / (1 - rho) (ca^2 + cs^2) / 2`` service times: exact for M/G/1, and too long as a rule for arrivals
    more regular than Poisson at low load. Percentiles rest on the customary exponential wait: a tuple waits with
    probability rho, and then an exponential time of the right mean. That is exact for M/M/1.

    >>> mm1 = kingman(rate_per_s=0.5, arrival_scv=1.0, mean_service_s=1.0, service_scv=1.0)
    >>> mm1.mean_s
    2.0
    >>> kingman(rate_per_s=0.5, arrival_scv=4.0, mean_service_s=1.0, service_scv=0.5).mean_s
    3.25
    """
    check_node(rate_per_s, mean_service_s, servers=1)
    check_scvs(arrival_scv, service_scv)
    utilization = rate_per_s * mean_service_s
    if overloaded(utilization):
        return Unstable(utilization)
    mean_wait_s = utilization / (1 - utilization) * (arrival_scv + service_scv) / 2 * mean_service_s
    return WaitAndService(utilization, utilization, mean_wait_s, mean_service_s, service_scv)


def check_scvs(*scvs: float) -> None:
    """Squared coefficients of variation are finite and not negative."""
    if not all(0 <= scv < float("inf") for scv in scvs):
        raise ValueError(f"squared coefficients of variation must be finite and >= 0; got {[f'{c:g}' for c in scvs]}")
