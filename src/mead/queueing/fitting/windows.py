"""Fits of several windows of one buffer.

Long windows see slow bursts; short ones forget old behaviour sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np

from mead.arrays import FloatArray
from mead.queueing.fitting.calibration import fit_calibrated
from mead.queueing.fitting.kpc.fit import fit_kpc
from mead.queueing.fitting.window import WindowFit

DEFAULT_WINDOWS = (50_000, 25_000)

Fitter: TypeAlias = Literal["calibrated", "kpc"]


def fit_windows(
    buffer: FloatArray,
    sizes: Sequence[int] = DEFAULT_WINDOWS,
    *,
    fitter: Fitter = "calibrated",
    best: int = 5,
    seed: int = 0,
) -> tuple[WindowFit, ...]:
    """Fit the last ``size`` IATs of a buffer in seconds, for each size.

    Results come in the order of ``sizes``.

    A buffer with fewer IATs than that is used whole, once, and the note says so. Every window starts from the same
    seed: its models do not depend on which other windows are asked for.

    >>> from mead.queueing.map import MAP
    >>> buffer = MAP.poisson(100.0).sample(3_000, np.random.default_rng(1))
    >>> [(fit.size, fit.note) for fit in fit_windows(buffer, (5_000, 2_500), best=1)]
    [(3000, 'only 3000 of the 5000 IATs asked for are there'), (2500, '')]
    """
    if not sizes or min(sizes) < 1:
        raise ValueError(f"windows must hold at least one IAT each; got {list(sizes)}")
    return tuple(_noted(_fit(buffer[-size:], fitter, best, seed), size) for size in distinct(sizes, buffer.size))


def distinct(sizes: Sequence[int], available: int) -> list[int]:
    """The sizes that give different windows: those larger than what is available all give the same one.

    >>> distinct((50_000, 25_000, 1_000, 1_000), available=3_000)
    [50000, 1000]
    """
    first: dict[int, int] = {}
    for size in sizes:
        first.setdefault(min(size, available), size)
    return list(first.values())


def _fit(window: FloatArray, fitter: Fitter, best: int, seed: int) -> WindowFit:
    if fitter == "kpc":
        return fit_kpc(window, best=best, rng=np.random.default_rng(seed))
    return fit_calibrated(window, best=best, seed=seed)


def _noted(fit: WindowFit, asked: int) -> WindowFit:
    if fit.size >= asked:
        return fit
    short = f"only {fit.size} of the {asked} IATs asked for are there"
    return replace(fit, note=f"{short}; {fit.note}" if fit.note else short)
