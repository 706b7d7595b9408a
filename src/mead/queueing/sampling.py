"""Drawing from MAPs and PH distributions fast: alias tables and a compiled walk.

The random numbers come from NumPy's generator in blocks, and the compiled part only walks the chain. So the
walk compiles in a fraction of a second, and the same seed gives the same samples everywhere.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from mead.arrays import FloatArray, IntArray

BLOCK = 1 << 16
"""Transitions drawn at once: large enough to hide the call, small enough to stay in the cache."""


def alias_table(weights: FloatArray) -> tuple[FloatArray, IntArray]:
    """Walker's alias method (Vose 1991), one table per row of weights.

    Column ``j`` of a row is kept with probability ``keep[row, j]`` and otherwise replaced by ``other[row, j]``.
    """
    rows, columns = weights.shape
    keep = np.ones((rows, columns))
    other = np.tile(np.arange(columns, dtype=np.int64), (rows, 1))
    for row in range(rows):
        scaled = weights[row] * (columns / weights[row].sum())
        small = [j for j in range(columns) if scaled[j] < 1]
        large = [j for j in range(columns) if scaled[j] >= 1]
        while small and large:
            poor, rich = small.pop(), large[-1]
            keep[row, poor], other[row, poor] = scaled[poor], rich
            scaled[rich] -= 1 - scaled[poor]
            if scaled[rich] < 1:
                small.append(large.pop())
        # The remaining weights are 1 up to rounding and stay as they are. A weight of zero never remains: the others
        # would have to fall short by a whole column.
    return keep, other


def sample_map(
    D0: FloatArray,
    D1: FloatArray,
    start: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw ``count`` inter-arrival times of a MAP.

    ``start`` is the distribution of the phase just after an arrival.
    """
    states = D0.shape[0]
    hidden = D0 - np.diag(np.diag(D0))
    keep, other = alias_table(np.hstack([hidden, D1]))
    mean_sojourn = -1.0 / np.diag(D0)
    state, elapsed, done = int(rng.choice(states, p=start)), 0.0, 0
    iats = np.empty(count)
    while done < count:
        block = min(BLOCK, max(count - done, 256))
        state, elapsed, done = walk(
            rng.standard_exponential(block), rng.random(block), mean_sojourn, keep, other, state, elapsed, iats, done
        )
    return iats


@njit(cache=True)
def walk(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    exponentials, uniforms, mean_sojourn, keep, other, state, elapsed, iats, done
):
    """Follow the chain through one block of random numbers, writing an IAT at every arrival."""
    states = mean_sojourn.size
    outcomes = 2 * states
    for i in range(exponentials.size):
        elapsed += exponentials[i] * mean_sojourn[state]
        spot = uniforms[i] * outcomes
        column = int(spot)
        if spot - column >= keep[state, column]:
            column = other[state, column]
        if column >= states:
            state = column - states
            iats[done] = elapsed
            elapsed = 0.0
            done += 1
            if done == iats.size:
                break
        else:
            state = column
    return state, elapsed, done


def sample_ph(alpha: FloatArray, T: FloatArray, shape: int | tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Samples of the phase-type distribution ``(alpha, T)``."""
    count = int(np.prod(shape))
    leave = -T.sum(axis=1)
    # A renewal process: absorption is the arrival, and the next sample starts afresh from alpha.
    iats = sample_map(T, np.outer(np.maximum(leave, 0.0), alpha), alpha, count, rng)
    result: npt.NDArray[np.float64] = iats.reshape(shape)
    return result
