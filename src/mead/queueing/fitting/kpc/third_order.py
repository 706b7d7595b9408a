"""Second stage of KPC: the third moment of every block, from third-order joint moments of the window.

Casale, Zhang and Smirni (2010). SCV and decay of the blocks stay as the first stage found them. Since
``P^k = 1 theta + decay^k (I - 1 theta)`` in two states, a block of mean 1 has, for any form of its matrices,

    ``E[X_0 X_i X_{i+j}] = 1 + h (g^i + g^j) + h (h + v) g^{i+j}``

with excess h, decay g and phase product v, and in a Kronecker product these multiply, as do the scales of the blocks.
So the means of the blocks, unknowns of the published fit, cannot matter and are 1 here; what is left is one phase
product per block, in which the model is linear.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.queueing.fitting.kpc.blocks import regular_products
from mead.queueing.fitting.kpc.correlation import CorrelationFits
from mead.queueing.fitting.kpc.descent import descend
from mead.queueing.fitting.kpc.targets import Targets

THIRD_FACTOR = 2.0
"""The third moment of the IAT should stay within half and twice that of the window."""

OUTSIDE_WEIGHT = 10.0
"""Weight of the logarithm by which the third moment is outside."""

INSIDE_WEIGHT = 0.03
"""Weight of the logarithm of the ratio itself. It is small: it decides where the joint moments do not, as for a block
without correlation, whose third moment they do not show."""


@dataclass(frozen=True, eq=False)
class ThirdOrderFits:
    """Per optimum of the first stage the best phase products, and their misfit."""

    phase_product: FloatArray
    score: FloatArray


def fit_third_order(
    targets: Targets, correlation: CorrelationFits, starts: int, rng: np.random.Generator
) -> ThirdOrderFits:
    """The best of ``starts`` descents for each row of ``correlation``."""
    rows, blocks = correlation.excess.shape
    excess = np.repeat(correlation.excess, starts, axis=0)
    decay = np.repeat(correlation.decay, starts, axis=0)
    low, high = _products_allowed(targets, excess, decay)
    # The published start, a third moment of (1.5 + U(0, 1)) E[X^2]^2 / E[X], in terms of the phase product.
    start = rng.random(excess.shape) / 1.5 * np.square(1.0 + excess) / np.maximum(np.abs(excess), 1e-9)
    objective = _Objective(targets, excess, decay)
    point = descend(objective, np.log(np.maximum(start, 1e-12)), (np.log(low), np.log(high)), tolerance=1e-5)
    score = np.sqrt(objective.squared_misfit(point)).reshape(rows, starts)
    best = score.argmin(axis=1)
    products = np.exp(point).reshape(rows, starts, blocks)
    return ThirdOrderFits(products[np.arange(rows), best], score[np.arange(rows), best])


def _products_allowed(targets: Targets, excess: FloatArray, decay: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Phase products of blocks that exist, and whose phases the window could have shown.

    As ``(t1 - 1)(1 - t2) = excess``, a bound on one phase mean is a bound on the product. The published bounds (above
    zero, and below 1e-16 where 1e16 was meant) let a phase send at an infinite rate for thousands of arrivals; such
    blocks fit the joint moments and overstate the queue a hundredfold. A phase that lasts ``1/(1-g)`` arrivals shows
    in the means of that many successive IATs, so it must lie within their extremes.
    """
    fastest, slowest = targets.phases_seen(decay)
    bursty = np.maximum(excess, 0.0)
    fastest = np.minimum(fastest, 1.0 - 1e-6)
    slowest = np.maximum(slowest, 1.0 + 1e-6)
    low = fastest * (1.0 + bursty / (1.0 - fastest))
    high = np.maximum(slowest * (1.0 - bursty / (slowest - 1.0)), low)
    regular_low, regular_high = regular_products(excess, decay)
    return np.where(excess < 0, regular_low, low), np.where(excess < 0, regular_high, high)


class _Objective:
    """Squared misfit of joint moments and third moment; see ``descend``.

    Its variables are logarithms of phase products.
    """

    def __init__(self, targets: Targets, excess: FloatArray, decay: FloatArray) -> None:
        log_decay = np.log(decay)[:, :, None]
        i, j = targets.joint_lags.T
        at_i, at_j = np.exp(log_decay * i), np.exp(log_decay * j)
        self.excess = excess
        self.slope = excess[:, :, None] * at_i * at_j
        self.base = 1.0 + excess[:, :, None] * (at_i + at_j) + excess[:, :, None] * self.slope
        self.joint = targets.joint
        # Rare arrivals apart in time can have no joint moments at all; those of Poisson arrivals are then the measure.
        self.norm = float(np.linalg.norm(targets.joint)) or sqrt(targets.joint.size)
        self.log_third = log(targets.third)

    def squared_misfit(self, point: FloatArray) -> FloatArray:
        """The value alone, at one point for every start."""
        return self(point, np.arange(point.shape[0]))[0]

    def __call__(self, point: FloatArray, which: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        product, excess = np.exp(point), self.excess[which]
        change = self.slope[which] * product[:, :, None]
        factors = self.base[which] + change
        whole = factors.prod(axis=1)
        residual = (whole - self.joint) / self.norm
        jacobian = whole[:, None] / factors * change / self.norm

        thirds = np.square(1.0 + excess) + product * excess  # E[X^3] / 6 of every block
        ratio = np.log(thirds).sum(axis=1) - self.log_third
        outside = np.sign(ratio) * np.maximum(np.abs(ratio) - log(THIRD_FACTOR), 0.0)
        penalty = np.stack([INSIDE_WEIGHT * ratio, OUTSIDE_WEIGHT * outside], axis=1)
        weights = np.stack([np.full_like(ratio, INSIDE_WEIGHT), OUTSIDE_WEIGHT * (outside != 0)], axis=1)
        penalty_slope = (product * excess / thirds)[:, :, None] * weights[:, None, :]

        residual = np.concatenate([residual, penalty], axis=1)
        jacobian = np.concatenate([jacobian, penalty_slope], axis=2)
        value = np.square(residual).sum(axis=1)
        gradient = 2.0 * (jacobian @ residual[:, :, None])[:, :, 0]
        return value, gradient, 2.0 * jacobian @ jacobian.transpose(0, 2, 1)
