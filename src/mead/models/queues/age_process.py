"""The linear algebra of MAP/PH/1: the age of the tuple in service as a fluid queue.

The age of the tuple in service grows at speed 1 and drops by one inter-arrival time at each departure (Sengupta
1989; He 2005). The matrix Psi, which says in which phase a level is met again on the way down, solves a Riccati
equation; the doubling algorithm ADDA (Wang, Wang and Li 2012) finds it with quadratic convergence. The response time
then is matrix-exponential: ``P(R > t) = b exp(Kt) e``.

All functions take stacks of queues, so that the many small systems of a fit go through NumPy together. Time runs in
mean service times: no tolerance here depends on the user's unit. Every queue must be stable, every MAP irreducible;
a queue that is neither would get a plausible, wrong number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial

import numpy as np

from mead.models.arrays import FloatArray

MAX_DOUBLINGS = 64
SETTLED = 1e-13
QUADRATIC = 1e-8
"""Once a step is this small and a thousand times smaller than the one before, the next would be lost in rounding."""

TAYLOR = np.array([1.0 / factorial(k) for k in range(13)])
TAYLOR_REACH = 0.25
"""``||K h||`` of one Taylor step; the first neglected term is then below 1e-17."""
NEWTON_STEPS = 5
"""On a polynomial that is nearly straight, five steps from the middle reach rounding."""


@dataclass(frozen=True, eq=False)
class AgeProcess:
    """``P(R > t) = b exp(Kt) e`` of stacked queues; ``b`` and ``e`` have shape (queues, phases)."""

    b: FloatArray
    K: FloatArray
    e: FloatArray

    def means(self) -> FloatArray:
        """``b (-K)^-1 e``, one per queue."""
        inside = np.linalg.solve(-self.K, self.e[:, :, None])
        return np.asarray((self.b[:, None, :] @ inside)[:, 0, 0])

    def quantiles(self, late: FloatArray) -> FloatArray:
        """Times t with ``P(R > t) = late``, shape (queues, len(late)).

        The powers ``exp(K h 2^k)`` come by squaring and are shared by all quantiles. Going down the powers gives t
        bit by bit, and Newton's method on one Taylor polynomial the rest, so there is no root search in the dark.
        """
        h = TAYLOR_REACH / np.abs(self.K).sum(axis=2).max(axis=1)
        step = self.K * h[:, None, None]
        powers = self._powers(step, float(late.min()))
        ages = np.repeat(self.b[:, None, :], late.size, axis=1)
        ticks = np.zeros((self.b.shape[0], late.size))
        for exponent in range(len(powers) - 1, -1, -1):
            later = ages @ powers[exponent]
            still_late = (later @ self.e[:, :, None])[:, :, 0] > late
            ages = np.where(still_late[:, :, None], later, ages)
            ticks += np.where(still_late, 2.0**exponent, 0.0)
        return np.asarray((ticks + self._last_fraction(step, ages, late)) * h[:, None])

    def _powers(self, step: FloatArray, least: float) -> list[FloatArray]:
        """``exp(step)`` squared again and again, until every queue is later than the last with less than ``least``."""
        powers = [_taylor_exponential(step)]
        while float(((self.b[:, None, :] @ powers[-1])[:, 0] * self.e).sum(axis=1).max()) > least:
            powers.append(powers[-1] @ powers[-1])
        return powers

    def _last_fraction(self, step: FloatArray, ages: FloatArray, late: FloatArray) -> FloatArray:
        """The fraction x of one step with ``ages exp(step x) e = late``."""
        coefficients = np.empty((TAYLOR.size, *ages.shape[:2]))
        column = self.e[:, :, None]
        for k, weight in enumerate(TAYLOR):
            coefficients[k] = (ages @ column)[:, :, 0] * weight
            column = step @ column
        x = np.full(ages.shape[:2], 0.5)
        for _ in range(NEWTON_STEPS):
            value, slope = coefficients[-1], np.zeros_like(x)
            for coefficient in coefficients[-2::-1]:
                slope = slope * x + value
                value = value * x + coefficient
            x = np.clip(x - (value - late) / slope, 0.0, 1.0)
        return x


def age_process(D0: FloatArray, D1: FloatArray, alpha: FloatArray, S: FloatArray) -> AgeProcess:
    """The age processes of stacked stable queues whose mean service is 1: MAPs ``(D0, D1)``, services ``(alpha, S)``."""
    queues, states, _ = D0.shape
    # The age process only knows the phases just after an arrival. A Coxian stage or an off state never is one, and
    # leaving it out makes the largest matrices up to half as wide.
    landing = np.flatnonzero(D1.any(axis=(0, 1)))
    exits = -S.sum(axis=2)
    size = landing.size * alpha.shape[1]
    A = (np.eye(landing.size)[None, :, None, :, None] * -S[:, None, :, None, :]).reshape(queues, size, size)
    B = (np.eye(states)[landing][None, :, None, :] * exits[:, None, :, None]).reshape(queues, size, states)
    C = (D1[:, :, landing, None] * alpha[:, None, None, :]).reshape(queues, states, size)
    psi = _return_matrices(A, B, C, -D0)
    next_arrival = np.linalg.solve(-D0, C)
    start = _stationary_rows(next_arrival @ psi) @ next_arrival
    K = psi @ C - A
    e = np.tile(exits, (1, landing.size))
    b = np.linalg.solve(-K.transpose(0, 2, 1), start.transpose(0, 2, 1))[:, :, 0]
    return AgeProcess(b / (b * e).sum(axis=1, keepdims=True), K, e)


def _return_matrices(A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray) -> FloatArray:
    """Psi, the least solution of ``X C X - X D - A X + B = 0``, of every queue, by doubling (ADDA)."""
    states, size = C.shape[1:]
    up = np.diagonal(A, axis1=1, axis2=2).max(axis=1)[:, None, None]
    down = np.diagonal(D, axis1=1, axis2=2).max(axis=1)[:, None, None]
    A, D = A + down * np.eye(size), D + up * np.eye(states)
    d_inverse, a_inverse = np.linalg.inv(D), np.linalg.inv(A)
    w_inverse, v_inverse = np.linalg.inv(A - B @ d_inverse @ C), np.linalg.inv(D - C @ a_inverse @ B)
    gap = up + down
    E, F = np.eye(states) - gap * v_inverse, np.eye(size) - gap * w_inverse
    G, H = gap * (d_inverse @ C @ w_inverse), gap * (w_inverse @ B @ d_inverse)
    psi = np.empty_like(H)
    active = np.arange(H.shape[0])
    before = np.full(H.shape[0], np.inf)
    for _ in range(MAX_DOUBLINGS):
        ME = np.linalg.solve(np.eye(states) - G @ H, np.concatenate([E, G @ F], axis=2))
        FH = F @ H
        step = FH @ ME[:, :, :states]
        H = H + step
        change = np.abs(step).max(axis=(1, 2))
        settled = (change < SETTLED) | ((change < QUADRATIC) & (change < 1e-3 * before))
        if settled.any():
            psi[active[settled]] = H[settled]
            if settled.all():
                return psi
            E, F, G, H, ME, FH, active, before, change = (
                array[~settled] for array in (E, F, G, H, ME, FH, active, before, change)
            )
        before = change
        MGF = ME[:, :, states:]
        G = G + E @ MGF
        F = F @ F + FH @ MGF
        E = E @ ME[:, :, :states]
        # Only the products of E and F matter. Left alone, one grows beyond all bounds while the other vanishes.
        balance = np.sqrt(_largest(F) / _largest(E))
        E, F = E * balance, F / balance
    psi[active] = H
    return psi


def _largest(stack: FloatArray) -> FloatArray:
    """The largest entry of each matrix, never zero, ready to divide by."""
    return np.asarray(np.maximum(np.abs(stack).max(axis=(1, 2), keepdims=True), 1e-200))


def _stationary_rows(chains: FloatArray) -> FloatArray:
    """Stationary row vectors of stacked stochastic matrices: one equation gives way to the normalisation."""
    system = chains.transpose(0, 2, 1) - np.eye(chains.shape[1])
    system[:, -1, :] = 1.0
    right = np.zeros((chains.shape[0], chains.shape[1], 1))
    right[:, -1] = 1.0
    return np.asarray(np.linalg.solve(system, right).transpose(0, 2, 1))


def _taylor_exponential(step: FloatArray) -> FloatArray:
    """``exp(step)`` by the Taylor polynomial of order 12, in the five products of Paterson and Stockmeyer (1973)."""
    identity = np.eye(step.shape[1])
    second = step @ step
    third, fourth = second @ step, second @ second
    result = TAYLOR[12] * fourth
    for k in (8, 4, 0):
        low = TAYLOR[k] * identity + TAYLOR[k + 1] * step + TAYLOR[k + 2] * second + TAYLOR[k + 3] * third
        result = low + (result if k == 8 else fourth @ result)
    return result
