"""MAP/PH/1, first come first served: the exact response time of one operator under bursty arrivals.

The age of the tuple in service grows at speed 1 and drops at each departure: a fluid queue (Sengupta 1989;
He 2005). Its return matrix Psi solves a Riccati equation, found here by the doubling algorithm ADDA (Wang, Wang
and Li 2012). The response time then is matrix-exponential, ``P(R > t) = b exp(Kt) e``.

All of it works on stacks: many queues, or one queue at many utilizations, go through NumPy together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mead.models.arrays import FloatArray
from mead.models.map import MAP
from mead.models.ph import PH
from mead.models.queues.response import QueueSolution, Unstable, check_percent

DOUBLING_TOLERANCE = 1e-13
MAX_DOUBLINGS = 64
TAYLOR_ORDER = 12
TAYLOR_REACH = 0.25
"""``||K h||`` of one Taylor step; the first neglected term is then below 1e-17."""


def map_ph_1(arrivals: MAP, service: PH) -> QueueSolution:
    """The response time of a MAP/PH/1 queue.

    >>> mm1 = map_ph_1(MAP.poisson(0.5), PH.exponential(1.0))
    >>> round(mm1.mean_s, 9), round(mm1.percentile_s(95) / np.log(20), 9)
    (2.0, 2.0)
    >>> map_ph_1(MAP.poisson(2.0), PH.exponential(1.0))
    Unstable(utilization=2.0, stable=False)
    """
    return map_ph_1_many([(arrivals, service)])[0]


def map_ph_1_at_utilizations(arrivals: MAP, service: PH, utilizations: Sequence[float]) -> list[QueueSolution]:
    """The same arrivals, with the service sped up or slowed down to each utilization, in one call."""
    work = arrivals.rate_per_s * service.mean_s
    return map_ph_1_many([(arrivals, service.scaled(u / work)) for u in utilizations])


def map_ph_1_many(queues: Sequence[tuple[MAP, PH]]) -> list[QueueSolution]:
    """Many queues in one call. Their MAPs must have one number of states, their services one number of phases."""
    means = [service.mean_s for _, service in queues]
    utilizations = [arrivals.rate_per_s * mean for (arrivals, _), mean in zip(queues, means, strict=True)]
    solutions: list[QueueSolution] = [Unstable(u) for u in utilizations]
    stable = [i for i, u in enumerate(utilizations) if u < 1]
    if stable:
        # Time runs in mean service times, so that no tolerance depends on the user's unit.
        b, K, e = age_process(
            np.stack([queues[i][0].D0 * means[i] for i in stable]),
            np.stack([queues[i][0].D1 * means[i] for i in stable]),
            np.stack([queues[i][1].alpha for i in stable]),
            np.stack([queues[i][1].T * means[i] for i in stable]),
        )
        for row, i in enumerate(stable):
            solutions[i] = MapPh1Response(*queues[i], utilizations[i], means[i], b[row], K[row], e[row])
    return solutions


@dataclass(frozen=True, eq=False)
class MapPh1Response:
    """A stable MAP/PH/1 queue: its response time ``P(R > t) = b exp(K t / scale_s) e`` and its queue length."""

    arrivals: MAP = field(repr=False)
    service: PH = field(repr=False)
    utilization: float
    scale_s: float
    b: FloatArray = field(repr=False)
    K: FloatArray = field(repr=False)
    e: FloatArray = field(repr=False)

    @cached_property
    def mean_s(self) -> float:
        """``b (-K)^-1 e``."""
        return float(self.b @ np.linalg.solve(-self.K, self.e)) * self.scale_s

    def percentile_s(self, percent: float) -> float:
        """The response time that ``percent`` of the tuples do not exceed."""
        return self.percentiles_s([percent])[0]

    def percentiles_s(self, percents: Sequence[float]) -> list[float]:
        """Several percentiles, which share all matrix powers."""
        late = np.array([check_percent(percent) for percent in percents])
        times = quantiles(self.b[None], self.K[None], self.e[None], late)
        return [float(t) * self.scale_s for t in times[0]]

    def late_fraction(self, t_s: float) -> float:
        """``P(R > t)``."""
        from scipy.linalg import expm
        return float(self.b @ expm(self.K * (t_s / self.scale_s)) @ self.e)

    @property
    def mean_queue_length(self) -> float:
        """Tuples waiting or in service at an arbitrary time, by Little's law."""
        return self.arrivals.rate_per_s * self.mean_s


def _solve_columns(matrix, columns):
    return np.linalg.solve(matrix, columns)


def age_process(D0: FloatArray, D1: FloatArray, alpha: FloatArray, S: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """``(b, K, e)`` of stacked queues, in units of time whose mean service is 1; every one must be stable."""
    queues, n, _ = D0.shape
    m = alpha.shape[1]
    exits = -S.sum(axis=2)
    eye_n, eye_nm = np.eye(n), np.eye(n * m)
    A = np.einsum("ij,qkl->qikjl", eye_n, -S).reshape(queues, n * m, n * m)
    B = np.einsum("ij,qk->qikj", eye_n, exits).reshape(queues, n * m, n)
    C = np.einsum("qij,qk->qijk", D1, alpha).reshape(queues, n, n * m)
    D = -D0
    psi = _return_matrix(A, B, C, D, eye_n, eye_nm)
    K = psi @ C - A
    e = np.tile(exits, (1, n))
    flow = np.linalg.solve(D, C)                       # (-D0)^-1 C
    gamma = _stationary_stack(flow @ psi)
    beta = (gamma[:, None, :] @ flow)
    b = np.linalg.solve(-K.transpose(0, 2, 1), beta.transpose(0, 2, 1))[:, :, 0]
    b /= (b * e).sum(axis=1, keepdims=True)
    return b, K, e


def _return_matrix(A, B, C, D, eye_n, eye_nm):
    """Psi, the minimal solution of ``X C X - X D - A X + B = 0``, by alternating-directional doubling (ADDA)."""
    up = np.diagonal(A, axis1=1, axis2=2).max(axis=1)[:, None, None]
    down = np.diagonal(D, axis1=1, axis2=2).max(axis=1)[:, None, None]
    gap = up + down
    d_inv = np.linalg.inv(D + up * eye_n)
    a_inv = np.linalg.inv(A + down * eye_nm)
    w_inv = np.linalg.inv(A + down * eye_nm - B @ d_inv @ C)
    v_inv = np.linalg.inv(D + up * eye_n - C @ a_inv @ B)
    E = eye_n - gap * v_inv
    F = eye_nm - gap * w_inv
    G = gap * (d_inv @ C @ w_inv)
    H = gap * (w_inv @ B @ d_inv)
    for _ in range(MAX_DOUBLINGS):
        M = np.linalg.inv(eye_n - G @ H)
        ME = M @ E
        FH = F @ H
        step = FH @ ME
        H = H + step
        if np.abs(step).max() < DOUBLING_TOLERANCE:
            break
        MGF = M @ (G @ F)
        G = G + E @ MGF
        F = F @ F + FH @ MGF
        E = E @ ME
        c = np.sqrt(np.abs(F).max(axis=(1, 2), keepdims=True) / np.maximum(np.abs(E).max(axis=(1, 2), keepdims=True), 1e-300))
        E = E * c
        F = F / c
    return H


def _stationary_stack(chains):
    """Stationary vectors of a stack of stochastic matrices: replace one equation by the normalisation."""
    n = chains.shape[-1]
    system = chains.transpose(0, 2, 1) - np.eye(n)
    system[:, -1, :] = 1.0
    right = np.zeros((chains.shape[0], n, 1)); right[:, -1] = 1.0
    return np.linalg.solve(system, right)[:, :, 0]


def quantiles(b, K, e, late):
    """times[q, i] with ``b exp(K t) e = late[i]`` per queue."""
    queues, size = b.shape
    h = TAYLOR_REACH / np.abs(K).sum(axis=2).max(axis=1)
    X = np.eye(size) + 0 * K
    Kh = K * h[:, None, None]
    # Paterson-Stockmeyer
    K2 = Kh @ Kh; K3 = K2 @ Kh; K4 = K2 @ K2
    from math import factorial
    I = np.eye(size)
    c = [1 / factorial(k) for k in range(13)]
    X = c[8]*I + c[9]*Kh + c[10]*K2 + c[11]*K3 + c[12]*K4
    X = c[4]*I + c[5]*Kh + c[6]*K2 + c[7]*K3 + K4 @ X
    X = c[0]*I + c[1]*Kh + c[2]*K2 + c[3]*K3 + K4 @ X
    powers = [X]
    low = late.min()
    while ((b[:, None, :] @ powers[-1])[:, 0] * e).sum(axis=1).max() > low:
        powers.append(powers[-1] @ powers[-1])
    # derivative vectors
    P = late.size
    v = np.repeat(b[:, None, :], P, axis=1)
    t = np.zeros((queues, P))
    for k in range(len(powers) - 1, -1, -1):
        w = v @ powers[k]
        tail = (w * e[:, None, :]).sum(axis=2)
        go = tail > late
        v = np.where(go[:, :, None], w, v)
        t += np.where(go, 2.0**k, 0.0)
    coef = np.empty((13, queues, P))
    u = e[:, :, None]
    for k in range(13):
        coef[k] = (v @ u)[:, :, 0] * c[k]
        u = Kh @ u
    x = np.full((queues, P), 0.5)
    for _ in range(6):
        f = coef[12]; d = np.zeros_like(f)
        for k in range(11, -1, -1):
            d = d * x + f
            f = f * x + coef[k]
        x = np.clip(x - (f - late) / d, 0.0, 1.0)
    return (t + x) * h[:, None]
