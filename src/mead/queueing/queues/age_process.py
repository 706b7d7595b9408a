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

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.markov import stationary_rows
from mead.queueing.matrix_exponential import MatrixExponential

MAX_DOUBLINGS = 64
SETTLED = 1e-13
QUADRATIC = 1e-6
"""Once a step is this small and a thousand times smaller than the one before, the next would be lost in rounding."""


def age_process(D0: FloatArray, D1: FloatArray, alpha: FloatArray, S: FloatArray) -> MatrixExponential:
    """Response times of stacked stable MAP/PH/1 queues.

    The MAPs are ``(D0, D1)``, the services ``(alpha, S)`` of mean 1.
    """
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
    start = stationary_rows(next_arrival @ psi) @ next_arrival
    K = psi @ C - A
    e = np.tile(exits, (1, landing.size))
    b = np.linalg.solve(-K.transpose(0, 2, 1), start.transpose(0, 2, 1))[:, :, 0]
    return MatrixExponential(b / (b * e).sum(axis=1, keepdims=True), K, e)


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
    psi: FloatArray = np.empty_like(H)
    active = np.arange(H.shape[0])
    before = np.full(H.shape[0], np.inf)
    identity = np.eye(states)
    for _ in range(MAX_DOUBLINGS):
        ME = np.linalg.solve(identity - G @ H, np.concatenate([E, G @ F], axis=2))
        FH = F @ H
        step = FH @ ME[:, :, :states]
        H = H + step
        change = step.max(axis=(1, 2))
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
    """The largest entry of each non-negative matrix, or next to nothing: ready to divide by."""
    return np.asarray(np.maximum(stack.max(axis=(1, 2), keepdims=True), 1e-200))
