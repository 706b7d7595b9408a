"""MAP/PH/1, first come first served: the exact response time of one operator under bursty arrivals.

From the age process: ``P(R > t) = b exp(Kt) e``, K from the Riccati equation in ``age_process``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import expm

from mead.arrays import FloatArray
from mead.queueing.map import MAP
from mead.queueing.markov import stationary
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

    @property
    def mean_queue_length(self) -> float:
        """Tuples waiting or in service at an arbitrary time, by Little's law."""
        return self.arrivals.rate_per_s * self.mean_s

    def queue_length_tail(self, longest: int) -> FloatArray:
        """``P(N > k)`` for k = 0 .. longest, tuples waiting or in service at an arbitrary time.

        The queue length and phases are a quasi-birth-death process with ``pi_{k+1} = pi_k R`` (Neuts 1981, ch. 3).
        """
        first, rate_matrix = _quasi_birth_death(self.arrivals, self.service)
        beyond = np.linalg.solve(np.eye(rate_matrix.shape[0]) - rate_matrix, np.ones(rate_matrix.shape[0]))
        tail = np.empty(longest + 1)
        for k in range(longest + 1):
            tail[k] = first @ beyond
            first = first @ rate_matrix
        return tail


def _quasi_birth_death(arrivals: MAP, service: PH) -> tuple[FloatArray, FloatArray]:
    """``(pi_1, R)`` of the process (queue length, arrival phase, service phase).

    R by logarithmic reduction (Latouche and Ramaswami 1993).
    """
    n, m = arrivals.states, service.phases
    up = np.kron(arrivals.D1, np.eye(m))
    local = np.kron(arrivals.D0, np.eye(m)) + np.kron(np.eye(n), service.T)
    down = np.kron(np.eye(n), np.outer(service.exit_rates, service.alpha))
    high, low = np.linalg.solve(-local, up), np.linalg.solve(-local, down)
    G, ahead = low.copy(), high.copy()
    while np.abs(1.0 - G.sum(axis=1)).max() > 1e-13 and np.abs(ahead).max() > 1e-15:
        inner = np.eye(n * m) - high @ low - low @ high
        high, low = np.linalg.solve(inner, high @ high), np.linalg.solve(inner, low @ low)
        G = G + ahead @ low
        ahead = ahead @ high
    R = up @ np.linalg.inv(-(local + up @ G))
    # Level 0 has no service phase: pi_0 D0 + pi_1 (I x s) = 0 and pi_0 (D1 x alpha) + pi_1 (local + R down) = 0.
    empty = -np.kron(arrivals.D1, service.alpha[None, :]) @ np.linalg.inv(local + R @ down)
    leave = np.kron(np.eye(n), service.exit_rates[:, None])
    pi_0 = stationary(arrivals.D0 + empty @ leave)
    pi_1 = pi_0 @ empty
    total = pi_0.sum() + pi_1 @ np.linalg.solve(np.eye(n * m) - R, np.ones(n * m))
    return np.asarray(pi_1 / total), np.asarray(R)
