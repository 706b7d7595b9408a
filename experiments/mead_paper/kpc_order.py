"""The number of KPC blocks, from the recursion of the autocorrelation.

The autocorrelation of a MAP with n states is a sum of n - 1 geometric terms, so it obeys a linear recursion over
n - 1 lags. The size whose regression has the least Schwarz criterion is taken (Casale, Zhang and Smirni 2010).

Two defects of the published choice are repaired. It gives a MAP of n states a recursion over n lags, so that two
states are said to do where two geometric terms are seen, which takes three; and it sets no limit to n, see below.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.fitting.kpc.targets import DECAYED

MAX_ROWS = 10_000
"""More lags than this are thinned out, densely at the short end."""

ROWS_PER_UNKNOWN = 4
"""A regression on m lags may have at most m/4 unknowns. As published there is no limit, so that a window whose
correlation decays early is interpolated, with no residual left, and the largest MAP wins."""

EXACT = 1e-20
"""A residual below this share is rounding: the recursion holds exactly."""


@dataclass(frozen=True)
class Order:
    """Number of two-state blocks, and the squared autocorrelation left over."""

    blocks: int
    unexplained: float


def choose_order(rho: FloatArray, max_states: int) -> Order:
    """The number of blocks for an autocorrelation at lags 1, 2, ...

    Only lags with ``max_states`` lags behind them are regressed, the same for every size.

    >>> lags = np.arange(1.0, 400.0)
    >>> choose_order(0.3 * 0.9**lags, 16).blocks
    1
    >>> choose_order(0.2 * 0.9**lags + 0.2 * 0.5**lags, 16).blocks
    2
    """
    low = np.flatnonzero(rho < DECAYED)
    lags = min(int(low[0]) if low.size else rho.size, rho.size - max_states)
    best, least = Order(blocks=1, unexplained=0.0), np.inf
    rows = np.arange(max(lags, 0))
    if lags > MAX_ROWS:
        rows = np.unique(np.round(np.geomspace(1, lags, MAX_ROWS)).astype(np.int64)) - 1
    target = rho[rows]
    scale = float(target @ target)
    for blocks in range(1, max_states.bit_length()):
        order = 2**blocks - 1
        if order > rows.size / ROWS_PER_UNKNOWN:
            break
        later = rho[rows[:, None] + np.arange(1, order + 1)]
        residual = target - later @ np.linalg.lstsq(later, target, rcond=None)[0]
        unexplained = max(float(residual @ residual) / scale, EXACT)
        criterion = rows.size * log(unexplained * scale / rows.size) + order * log(rows.size)
        if criterion < least:
            best, least = Order(blocks, unexplained), criterion
    return best
