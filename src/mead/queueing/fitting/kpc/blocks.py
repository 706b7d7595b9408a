"""The building blocks of KPC: two-state MAPs in closed form, and exactly which of them exist.

Up to its state description a MAP(2) is determined by four numbers: three moments of the IAT and the ``decay`` of its
autocorrelation, the second eigenvalue of the embedded chain (Bodrog, Heindl, Horvath and Telek 2008). A block here
has mean 1, because the scales of blocks cancel in a Kronecker product. The other three are

* ``excess = (SCV - 1) / 2``, so that the autocorrelation is ``rho_k = excess / SCV * decay^k``;
* ``decay`` in [0, 1);
* ``phase_product``, the product of the two phase means. It stands for the third moment:
  ``E[X^3] / 6 = (1 + excess)^2 + phase_product * excess``.

With SCV above 1 every decay in [0, 1) and every positive phase product exists, and so does a form whose ``D0`` is
diagonal, which KPC needs in all blocks but one. With SCV below 1 and ``d = -excess`` a block exists if and only if

    ``(sqrt(decay) + sqrt(d))^2 <= phase_product <= (1 - sqrt(d))^2``,

hence only for ``decay <= (1 - 2 sqrt(d))^2``. Both follow from the acyclic canonical form, see ``_regular_block``.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.map import MAP

EXPONENTIAL = 1e-6
"""A block whose excess is smaller than this is taken as exponential: its correlation could not be seen."""

LEAST_EXCESS = -0.25
"""Excess of Erlang-2, the most regular MAP(2): SCV 1/2."""

SLACK = 1e-9
"""How far a block may be outside its range through rounding; it is then moved onto the edge."""


class InfeasibleBlockError(ValueError):
    """No MAP(2) has these numbers. The message says which limit is broken."""


def largest_decay(excess: FloatArray) -> FloatArray:
    """The slowest decay that a MAP(2) with this SCV can have.

    >>> largest_decay(np.array([-0.25, -0.01, 0.5])).round(9).tolist()
    [0.0, 0.64, 1.0]
    """
    return np.asarray(np.square(1.0 - 2.0 * np.sqrt(np.clip(-excess, 0.0, -LEAST_EXCESS))))


def regular_products(excess: FloatArray, decay: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest phase product of blocks with SCV below 1."""
    d = np.clip(-excess, 0.0, -LEAST_EXCESS)
    high = np.square(1.0 - np.sqrt(d))
    return np.minimum(np.square(np.sqrt(decay) + np.sqrt(d)), high), high


def block(excess: float, decay: float, phase_product: float) -> MAP:
    """The MAP(2) of mean 1 with these numbers; ``D0`` is diagonal unless the SCV is below 1.

    >>> bursty = block(excess=1.5, decay=0.9, phase_product=0.5)
    >>> round(bursty.scv, 9), bursty.acf([1, 2]).round(9).tolist()
    (4.0, [0.3375, 0.30375])
    >>> erlang = block(excess=-0.25, decay=0.0, phase_product=0.25)
    >>> erlang.D0.tolist()
    [[-2.0, 2.0], [0.0, -2.0]]
    """
    if not 0 <= decay < 1:
        raise InfeasibleBlockError(f"the decay of a block must lie in [0, 1); got {decay:g}")
    if abs(excess) < EXPONENTIAL:
        return MAP.poisson(1.0)
    if excess > 0:
        return _bursty_block(excess, decay, phase_product)
    return _regular_block(excess, decay, phase_product)


def block_with_moments(moments: tuple[float, float, float], decay: float) -> MAP:
    """The MAP(2) with the first three moments of the IAT and the decay that are asked for.

    >>> bursty = block_with_moments((2.0, 20.0, 400.0), decay=0.5)
    >>> [round(bursty.moment(k), 9) for k in (1, 2, 3)]
    [2.0, 20.0, 400.0]
    """
    first, second, third = moments
    if not first > 0:
        raise InfeasibleBlockError(f"the mean of a block must be positive; got {first:g}")
    m2, m3 = second / first**2 / 2.0, third / first**3 / 6.0
    excess = m2 - 1.0
    if abs(excess) < EXPONENTIAL and abs(m3 - 1.0) > 3 * EXPONENTIAL:
        raise InfeasibleBlockError(f"with SCV 1 a block is exponential and its third moment 6; got {6 * m3:g}")
    phase_product = 1.0 if abs(excess) < EXPONENTIAL else (m3 - m2**2) / excess
    return block(excess, decay, phase_product).scaled(1.0 / first)


def composed_kpc(excess: FloatArray, decay: FloatArray, phase_product: FloatArray) -> MAP:
    """The Kronecker product of blocks of mean 1; only the first may have an SCV below 1.

    Casale, Zhang and Smirni (2010): ``E[X^k] = prod E[X_j^k] / k!^(J-1)`` and
    ``1 + SCV rho_k = prod (1 + excess_j decay_j^k)``. Exponential blocks change nothing and add no states.

    >>> both = composed_kpc(np.array([0.5, 1.0]), np.array([0.5, 0.9]), np.array([1.0, 1.0]))
    >>> both.states, round(both.scv, 9), round(both.mean_iat_s, 9)
    (4, 5.0, 1.0)
    """
    whole = MAP.poisson(1.0)
    for numbers in zip(excess.tolist(), decay.tolist(), phase_product.tolist(), strict=True):
        whole = whole.composed(block(*numbers))
    return whole


def _bursty_block(excess: float, decay: float, phase_product: float) -> MAP:
    """The block with SCV above 1: a hyperexponential IAT.

    Each arrival draws the phase anew with probability ``1 - decay``.

    The phase means solve ``t^2 - (1 + excess + phase_product) t + phase_product = 0``, and lie on both sides of 1.
    """
    if not phase_product > 0:
        raise InfeasibleBlockError(
            f"with SCV {1 + 2 * excess:g} the third moment must exceed 1.5 E[X^2]^2 / E[X]; "
            f"the phase product is {phase_product:g}"
        )
    # As (t1 - t2)^2 = (1 - v)^2 + h^2 + 2h(1 + v) nothing cancels; nor does it below, because (t1 - 1)(1 - t2) = h.
    gap = sqrt((1.0 - phase_product) ** 2 + excess**2 + 2.0 * excess * (1.0 + phase_product))
    slow = (1.0 + excess + phase_product + gap) / 2.0
    fast = phase_product / slow
    if phase_product < 1:
        below = 1.0 - fast
        above = excess / below
    else:
        above = slow - 1.0
        below = excess / above
    in_slow, in_fast = below / (above + below), above / (above + below)
    leave_slow, leave_fast = (1.0 - decay) * in_fast, (1.0 - decay) * in_slow
    return MAP(
        [[-1.0 / slow, 0.0], [0.0, -1.0 / fast]],
        [[(1.0 - leave_slow) / slow, leave_slow / slow], [leave_fast / fast, (1.0 - leave_fast) / fast]],
    )


def _regular_block(excess: float, decay: float, phase_product: float) -> MAP:
    """The block with SCV below 1, in canonical form.

    It is acyclic with positive decay (Bodrog et al. 2008, form 1).

    Phase 1 passes to phase 2 with probability A and else sends; phase 2 returns to phase 1 with probability B when
    it sends, so ``decay = (1-A)(1-B)``. With phase means ``1-u`` and ``1-w`` a mean of 1 asks ``u/A + w/B = 1`` and
    the SCV asks ``uw = d``. Eliminating B gives a quadratic in A, whose discriminant is
    ``(1 - u - w - decay)^2 - 4 d decay``; with ``phase_product = (1-u)(1-w)`` that yields the limits above.
    """
    if excess < LEAST_EXCESS - SLACK:
        raise InfeasibleBlockError(f"the SCV of a block must be at least 1/2; got {1 + 2 * excess:g}")
    d = min(-excess, -LEAST_EXCESS)
    low, high = ((sqrt(decay) + sqrt(d)) ** 2, (1.0 - sqrt(d)) ** 2)
    if not low - SLACK <= phase_product <= high + SLACK or low > high + SLACK:
        raise InfeasibleBlockError(
            f"with SCV {1 - 2 * d:g} and decay {decay:g} the phase product must lie in [{low:g}, {high:g}]; "
            f"got {phase_product:g}"
        )
    total = 1.0 + d - phase_product  # u + w
    w = (total + sqrt(max(total**2 - 4.0 * d, 0.0))) / 2.0
    u = d / w
    root = sqrt(max((1.0 - total - decay) ** 2 - 4.0 * d * decay, 0.0))
    pass_on = min((1.0 - w + u - decay + root) / (2.0 * (1.0 - w)), 1.0)  # A
    back = min(w * pass_on / (pass_on - u), 1.0)  # B
    first, second = 1.0 / (1.0 - u), 1.0 / (1.0 - w)
    return MAP(
        [[-first, first * pass_on], [0.0, -second]],
        [[first * (1.0 - pass_on), 0.0], [second * back, second * (1.0 - back)]],
    )
