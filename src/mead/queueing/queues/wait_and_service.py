"""A response time put together from a waiting time and an independent service time.

It is what the models share that know how long a tuple waits, exactly (M/M/k) or approximately (Kingman, GI/G/k), but
have no chain that describes waiting and service together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mead.queueing.matrix_exponential import MatrixExponential
from mead.queueing.ph import PH
from mead.queueing.queues.response import check_percent

NEGLIGIBLE_WAIT = 1e-9
"""Mean wait of waiting tuples, in service times, below which no percentile shows it and its phase only adds error."""


@dataclass(frozen=True, eq=False)
class WaitAndService:
    """No wait with probability ``1 - wait_probability``, otherwise an exponential one; then the service.

    >>> mm1 = WaitAndService(0.5, wait_probability=0.5, mean_wait_s=1.0, mean_service_s=1.0, service_scv=1.0)
    >>> mm1.mean_s, round(mm1.percentile_s(50), 9)
    (2.0, 1.386294361)
    """

    utilization: float
    wait_probability: float
    mean_wait_s: float
    """Over all tuples, those that do not wait included."""
    mean_service_s: float
    service_scv: float
    """Percentiles take the service time to be the two-moment fit of ``PH.with_moments``."""

    @property
    def mean_s(self) -> float:
        """Mean response time."""
        return self.mean_wait_s + self.mean_service_s

    @cached_property
    def distribution(self) -> PH:
        """Waiting and service as one phase-type distribution."""
        service = PH.with_moments(self.mean_service_s, self.service_scv)
        if self.mean_wait_s <= NEGLIGIBLE_WAIT * self.wait_probability * self.mean_service_s:
            return service
        phases = 1 + service.phases
        T = np.zeros((phases, phases))
        T[0, 0] = -self.wait_probability / self.mean_wait_s
        T[0, 1:] = -T[0, 0] * service.alpha
        T[1:, 1:] = service.T
        return PH(np.concatenate([[self.wait_probability], (1 - self.wait_probability) * service.alpha]), T)

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed."""
        return self.percentiles_s([percent])[0]

    def percentiles_s(self, percents: Sequence[float]) -> list[float]:
        """Several percentiles, which share all matrix powers."""
        late = np.array([check_percent(percent) for percent in percents])
        alpha, T = self.distribution.alpha, self.distribution.T * self.mean_s
        times = MatrixExponential(alpha[None], T[None], np.ones((1, alpha.size))).quantiles(late)[0]
        return [float(t) * self.mean_s for t in times]
