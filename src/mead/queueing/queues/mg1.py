"""M/G/1 and M/PH/1: Poisson arrivals at one server. MEAD's simplest baseline, blind to burstiness."""

from __future__ import annotations

from dataclasses import dataclass, field

from mead.queueing.map import MAP
from mead.queueing.ph import PH
from mead.queueing.queues.kingman import check_scvs
from mead.queueing.queues.map_ph_1 import map_ph_1
from mead.queueing.queues.mmk import check_node
from mead.queueing.queues.response import QueueSolution, ResponseTime, Unstable
from mead.queueing.queues.wait_and_service import WaitAndService


def m_ph_1(rate_per_s: float, service: PH) -> QueueSolution:
    """The response time of an M/PH/1 queue: mean and percentiles are exact.

    >>> half = m_ph_1(0.5, PH.erlang(2, mean_s=1.0))
    >>> round(half.mean_s, 9)
    1.75
    """
    return map_ph_1(MAP.poisson(rate_per_s), service)


def mg1(rate_per_s: float, mean_service_s: float, service_scv: float) -> QueueSolution:
    """The response time of an M/G/1 queue whose service time is known by mean and SCV only.

    The mean is exact for any such service time (Pollaczek 1930, Khinchine 1932):
    ``E[R] = E[S] + rho / (1 - rho) (1 + cs^2) / 2 E[S]``. Percentiles depend on more than two moments; they are
    those of M/PH/1 with the two-moment fit of ``PH.with_moments``.

    >>> mg1(rate_per_s=0.5, mean_service_s=1.0, service_scv=0.0).mean_s
    1.5
    """
    check_node(rate_per_s, mean_service_s, servers=1)
    check_scvs(service_scv)
    if rate_per_s == 0:
        return WaitAndService(0.0, 0.0, 0.0, mean_service_s, service_scv)
    two_moments = m_ph_1(rate_per_s, PH.with_moments(mean_service_s, service_scv))
    if isinstance(two_moments, Unstable):
        return two_moments
    utilization = rate_per_s * mean_service_s
    mean_wait_s = utilization / (1 - utilization) * (1 + service_scv) / 2 * mean_service_s
    return MG1Response(utilization, mean_wait_s + mean_service_s, two_moments)


@dataclass(frozen=True, eq=False)
class MG1Response:
    """A stable M/G/1 queue.

    The mean holds for any service with these moments, the percentiles for one such service.
    """

    utilization: float
    mean_s: float
    two_moments: ResponseTime = field(repr=False)

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed, for the two-moment service."""
        return self.two_moments.percentile_s(percent)
