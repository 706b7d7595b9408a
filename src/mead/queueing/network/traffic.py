"""The traffic equations: how many tuples reach every operator, through splits, joins and loops.

DRS (Fu et al. 2017) measures these rates; what it leaves out is how they change with the rate at the source.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mead.arrays import FloatArray, frozen

ENDLESS_GAIN = 1 - 1e-6
"""A loop of this gain counts as one that returns everything: rounding can take that much off a gain of exactly 1."""


class UnstableLoop(ValueError):  # noqa: N818 - the name stands in the JSON of ``mead allocate``
    """A loop returns as many tuples as it takes in, or more: their number would grow without end."""

    def __init__(self, gain: float) -> None:
        super().__init__(
            f"the loops return {gain:.6g} tuples for each that enters (spectral radius of the gains); "
            f"it must be below 1"
        )
        self.gain = gain


def loop_gain(gains: ArrayLike) -> float:
    """Spectral radius: the factor by which a tuple multiplies per edge, in the long run.

    >>> round(loop_gain([[0.0, 4.0], [0.2, 0.0]]), 12)  # four out, a fifth of each back
    0.894427191
    """
    return float(np.abs(np.linalg.eigvals(np.asarray(gains, dtype=np.float64))).max(initial=0.0))


def arrival_rates(gains: ArrayLike, external_per_s: ArrayLike) -> FloatArray:
    """Tuples per second at every operator: ``l = gamma + G' l``.

    ``gains[i][j]`` is how many tuples go to operator j for each that operator i has served: a fraction for a split, 1
    each for a broadcast, more for a flat map. A join gets the sum of its inputs.

    >>> arrival_rates([[0.0, 1.0], [0.0, 0.2]], [6.0, 0.0]).tolist()  # a fifth goes round once more
    [6.0, 7.5]
    >>> arrival_rates([[0.0, 4.0], [0.3, 0.0]], [5.0, 0.0])
    Traceback (most recent call last):
        ...
    mead.queueing.network.traffic.UnstableLoop: the loops return 1.09545 tuples for each that enters (spectral radius \
of the gains); it must be below 1
    """
    matrix, external = np.asarray(gains, dtype=np.float64), np.asarray(external_per_s, dtype=np.float64)
    if matrix.shape != (external.size, external.size):
        raise ValueError(f"{external.size} operators need gains of as many rows and columns; got {matrix.shape}")
    if (gain := loop_gain(matrix)) >= ENDLESS_GAIN:
        raise UnstableLoop(gain)
    return frozen(np.linalg.solve(np.eye(external.size) - matrix.T, external))
