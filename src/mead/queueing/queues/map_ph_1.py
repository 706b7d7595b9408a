"""MAP/PH/1, first come first served: the exact response time of one operator under bursty arrivals.

From the age process: ``P(R > t) = b exp(Kt) e``, K from the Riccati equation in ``age_process``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import expm

from mead.queueing.map import MAP
from mead.queueing.matrix_exponential import MatrixExponential
from mead.queueing.ph import PH
from mead.queueing.queues.age_process import age_process
from mead.queueing.queues.response import QueueSolution, Unstable, check_percent, overloaded


def map_ph_1(arrivals: MAP, service: PH) -> QueueSolution:
    """The response time of a MAP/PH/1 queue.

    >>> mm1 = map_ph_1(MAP.poisson(0.5), PH.exponential(1.0))
    >>> round(mm1.mean_s, 9), round(mm1.percentile_s(75), 9)  # 2 and 2 ln 4
    (2.0, 2.772588722)
    >>> map_ph_1(MAP.poisson(2.0), PH.exponential(1.0))
    Unstable(utilization=2.0, stable=False)
    """
    return map_ph_1_many([(arrivals, service)])[0]


def map_ph_1_at_utilizations(
    arrivals: MAP, service: PH, utilizations: Sequence[float], *, percents: Sequence[float] = ()
) -> list[QueueSolution]:
    """The same arrivals, with the service sped up or slowed down to each utilization, in one call."""
    work = arrivals.rate_per_s * service.mean_s
    return map_ph_1_many([(arrivals, service.scaled(u / work)) for u in utilizations], percents=percents)


def map_ph_1_many(queues: Sequence[tuple[MAP, PH]], *, percents: Sequence[float] = ()) -> list[QueueSolution]:
    """Solve many queues in one call.

    Their MAPs must have the same number of states, their services the same number of phases.

    Percentiles that are named here are computed for all queues together; others are when they are asked for.
    """
    means = [service.mean_s for _, service in queues]
    utilizations = [arrivals.rate_per_s * mean for (arrivals, _), mean in zip(queues, means, strict=True)]
    solutions: list[QueueSolution] = [Unstable(u) for u in utilizations]
    stable = [i for i, u in enumerate(utilizations) if not overloaded(u)]
    if stable:
        solved = age_process(
            np.stack([queues[i][0].D0 * means[i] for i in stable]),
            np.stack([queues[i][0].D1 * means[i] for i in stable]),
            np.stack([queues[i][1].alpha for i in stable]),
            np.stack([queues[i][1].T * means[i] for i in stable]),
        )
        times = solved.quantiles(np.array([check_percent(p) for p in percents])) if percents else None
        for row, i in enumerate(stable):
            one = MatrixExponential(solved.b[row : row + 1], solved.K[row : row + 1], solved.e[row : row + 1])
            ready = {} if times is None else dict(zip(percents, (times[row] * means[i]).tolist(), strict=True))
            solutions[i] = MapPh1Response(*queues[i], utilizations[i], one, ready)
    return solutions


@dataclass(frozen=True, eq=False)
class MapPh1Response:
    """A stable MAP/PH/1 queue: its response time and its queue length."""

    arrivals: MAP = field(repr=False)
    service: PH = field(repr=False)
    utilization: float
    response: MatrixExponential = field(repr=False)
    """In mean service times."""
    ready_s: Mapping[float, float] = field(default_factory=dict, repr=False)
    """Percentiles that were computed together with those of other queues."""

    @cached_property
    def mean_s(self) -> float:
        """Mean response time."""
        return float(self.response.means()[0]) * self.service.mean_s

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed."""
        return self.ready_s[percent] if percent in self.ready_s else self.percentiles_s([percent])[0]

    def percentiles_s(self, percents: Sequence[float]) -> list[float]:
        """Several percentiles, which share the costly part."""
        late = np.array([check_percent(percent) for percent in percents])
        return [float(t) * self.service.mean_s for t in self.response.quantiles(late)[0]]

    def late_fraction(self, t_s: float) -> float:
        """``P(R > t)``: how many tuples a deadline of ``t_s`` would miss."""
        r = self.response
        return float(r.b[0] @ expm(r.K[0] * (t_s / self.service.mean_s)) @ r.e[0])
