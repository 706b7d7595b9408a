"""First stage of KPC: the SCV and decay of every block.

The product of the blocks has the autocorrelation and SCV of the window.

Casale, Zhang and Smirni (2010). The objective is the published one,
``||rho - rho_model||_1 / ||rho||_2 + (SCV - SCV_model)^2 / SCV^2``. Two things differ.

No start can leave the blocks that exist: the parameters are unconstrained and mapped onto them, the first block's
decay onto ``[0, largest_decay]``. As published the first block may take any decay with an SCV below 1; the optimum
then is a block that does not exist, its correlation is dropped when the MAP is built, and the fit is lost.

The starts cover all time scales of the window. Published decays are uniform on (0, 1), so that one start in a thousand
has a block that lasts a thousand arrivals, and SCVs are uniform on (1, 2) whatever the window has.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.queueing.fitting.kpc.blocks import EXPONENTIAL, LEAST_EXCESS, largest_decay
from mead.queueing.fitting.kpc.descent import descend
from mead.queueing.fitting.kpc.targets import SAMPLES_PER_LAG, Targets

ROUNDED = 1e-2
"""The absolute value is rounded off below this part of the mean autocorrelation, so that it has a curvature."""

LEAST_LOGIT = -12.0
"""Decays below 6e-6 are no correlation at all."""

SAME_CURVE = 0.01
"""Two fits whose SCVs and autocorrelations differ by less than this part are one fit found twice."""


@dataclass(frozen=True, eq=False)
class CorrelationFits:
    """Local optima, best first: one row per optimum, one column per block."""

    excess: FloatArray
    decay: FloatArray
    objective: FloatArray

    def best(self, count: int) -> CorrelationFits:
        """The first ``count`` of them."""
        return CorrelationFits(self.excess[:count], self.decay[:count], self.objective[:count])


def fit_correlation(targets: Targets, blocks: int, starts: int, rng: np.random.Generator) -> CorrelationFits:
    """Descend from ``starts`` random points, and keep the optima that differ."""
    start = _starts(targets, blocks, starts, rng)
    low = np.repeat([log(EXPONENTIAL / 2.0), LEAST_LOGIT], blocks)
    # No SCV exceeds the number of IATs; and a state that outlasts the window cannot be told from a trend.
    high = np.full(2 * blocks, np.log(targets.size))
    shape = start.shape
    point = descend(_Objective(targets), start, (np.broadcast_to(low, shape), np.broadcast_to(high, shape)))
    family = _Family(point)
    scv, rho = family.scv(), family.rho(targets.lags)
    objective = _misfit(targets, scv, rho)
    kept: list[int] = []
    for row in np.argsort(objective, kind="stable").tolist():
        far = np.abs(rho[kept] - rho[row]).sum(axis=1) > SAME_CURVE * np.abs(targets.rho).sum()
        wide = np.abs(scv[kept] - scv[row]) > SAME_CURVE * scv[row]
        if np.all(far | wide):
            kept.append(row)
    return CorrelationFits(family.excess[kept], np.exp(family.log_decay[kept]), objective[kept])


def _starts(targets: Targets, blocks: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Starting points of the descent, see ``_Family``.

    The product of the blocks has the window's SCV, and the logarithm of a block's life, ``1 / (1 - decay)`` arrivals,
    is uniform up to the longest lag. By turns 1, 2, ... blocks are not exponential, so that the smaller products
    are among the optima.
    """
    log_product = log((1.0 + targets.reachable_scv) / 2.0)  # of 1 + excess over all blocks
    weight = rng.random((count, blocks))
    used = 1 + np.arange(count) % blocks if log_product > 0 else np.ones(count)  # only the first can be regular
    weight[np.arange(blocks) >= used[:, None]] = 0.0
    growth = np.expm1(weight / weight.sum(axis=1, keepdims=True) * log_product)
    growth[:, 0] -= LEAST_EXCESS
    odds = np.expm1(rng.random((count, blocks)) * log(targets.size / SAMPLES_PER_LAG))  # decay / (1 - decay)
    return np.hstack([np.log(np.maximum(growth, EXPONENTIAL / 2.0)), np.log(np.maximum(odds, EXPONENTIAL))])


def _misfit(targets: Targets, scv: FloatArray, rho: FloatArray) -> FloatArray:
    off = np.abs(rho - targets.rho).sum(axis=1) / np.linalg.norm(targets.rho)
    return np.asarray(off + np.square(scv / targets.reachable_scv - 1.0))


class _Family:
    """The blocks that unconstrained parameters stand for, and their product."""

    def __init__(self, point: FloatArray) -> None:
        """Read the parameters of the blocks from ``point``.

        A row holds one logarithm per block for the excess, then one logit per block for the decay.
        """
        blocks = point.shape[1] // 2
        self.growth = np.exp(point[:, :blocks])
        self.excess = self.growth.copy()
        self.excess[:, 0] += LEAST_EXCESS
        logit = point[:, blocks:]
        self.log_decay = -np.logaddexp(0.0, -logit)
        self.decay_slope = -np.expm1(self.log_decay)
        room = np.maximum(largest_decay(self.excess[:, 0]), EXPONENTIAL**2)
        self.log_decay[:, 0] += np.log(room)
        # d log(largest decay) / d log(growth): a first block with SCV below 1 has less room the more regular it is.
        regular = self.excess[:, 0] < 0
        root = np.sqrt(np.where(regular, np.maximum(-self.excess[:, 0], EXPONENTIAL), 1.0))
        self.room_slope = np.where(regular, 2.0 * self.growth[:, 0] / (root * np.sqrt(room)), 0.0)

    def scv(self) -> FloatArray:
        """``1 + SCV = 2 prod (1 + excess_j)``."""
        return np.asarray(2.0 * (1.0 + self.excess).prod(axis=1) - 1.0)

    def rho(self, lags: IntArray) -> FloatArray:
        """``1 + SCV rho_k = prod (1 + excess_j decay_j^k)``."""
        factors = 1.0 + self.excess[:, :, None] * np.exp(self.log_decay[:, :, None] * lags)
        return np.asarray((factors.prod(axis=1) - 1.0) / self.scv()[:, None])


class _Objective:
    """The rounded-off objective with its gradient and curvature; see ``descend``.

    The curvature is that of the least-squares problem which touches the sum of absolute values from above at the
    present point: weights ``1 / |residual|``.
    """

    def __init__(self, targets: Targets) -> None:
        self.lags = targets.lags.astype(np.float64)
        self.rho = targets.rho
        self.target_scv = targets.reachable_scv
        self.norm = float(np.linalg.norm(targets.rho))
        self.rounded = ROUNDED * float(np.abs(targets.rho).mean())

    def __call__(self, point: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:  # noqa: ARG002
        family = _Family(point)
        powers = np.exp(family.log_decay[:, :, None] * self.lags)
        terms = family.excess[:, :, None] * powers
        factors = 1.0 + terms
        whole = factors.prod(axis=1)
        scv = family.scv()
        rho = (whole - 1.0) / scv[:, None]
        residual = rho - self.rho
        size = np.maximum(np.abs(residual), self.rounded)
        miss = scv / self.target_scv - 1.0
        value = (residual**2 / size + size).sum(axis=1) / (2.0 * self.norm) + miss**2

        without = whole[:, None] / factors / scv[:, None, None]
        scv_slope = (1.0 + scv)[:, None] / (1.0 + family.excess)
        by_excess = without * powers - rho[:, None] * (scv_slope / scv[:, None])[:, :, None]
        by_log_decay = without * terms * self.lags
        by_growth = by_excess * family.growth[:, :, None]
        by_growth[:, 0] += by_log_decay[:, 0] * family.room_slope[:, None]
        jacobian = np.concatenate([by_growth, by_log_decay * family.decay_slope[:, :, None]], axis=1)
        miss_slope = np.hstack([scv_slope * family.growth, np.zeros_like(scv_slope)]) / self.target_scv

        weighted = jacobian / (size * self.norm)[:, None]
        gradient = (weighted @ residual[:, :, None])[:, :, 0] + 2.0 * miss[:, None] * miss_slope
        curvature = weighted @ jacobian.transpose(0, 2, 1) + 2.0 * miss_slope[:, :, None] * miss_slope[:, None, :]
        return value, gradient, curvature
