"""Windows that have broken one fitter or another: every fitter must answer them with valid models."""

from __future__ import annotations

import numpy as np
import pytest

from mead.arrays import FloatArray


def _exponential(count: int, seed: int = 7) -> FloatArray:
    return np.random.default_rng(seed).exponential(1.0, count)


ODD_WINDOWS = {
    "regular": np.random.default_rng(1).gamma(4.0, 0.25, 2000),
    "constant": np.full(2000, 0.25),
    "alternating": np.tile([1.0, 2.0], 1000),
    "two thirds zeros": np.where(np.random.default_rng(2).random(2000) < 0.67, 0.0, 1.0),
    "one arrival apart": np.concatenate([np.zeros(1999), [1.0]]),
    "ties": np.round(_exponential(2000), 2),
    "one huge gap": np.concatenate([_exponential(1500), [1e5], _exponential(1500, seed=8)]),
    "level shift": np.concatenate([_exponential(1500), _exponential(1500, seed=8) / 3]),
    "steep level shift": np.concatenate([_exponential(1500), _exponential(1500) * 1e-4]),
    "nearly constant": 1.0 + 1e-12 * _exponential(2000),
    "sorted": np.sort(_exponential(2000)),
    "Pareto": np.random.default_rng(3).pareto(1.1, 2000),
    "periodic": np.tile(np.concatenate([np.full(99, 0.01), [10.0]]), 20),
    "just enough": _exponential(200),
    "microseconds": _exponential(2500) * 1e-6,
    "kiloseconds": _exponential(2500) * 1e3,
}


@pytest.fixture(params=ODD_WINDOWS)
def odd_window(request: pytest.FixtureRequest) -> FloatArray:
    return np.array(ODD_WINDOWS[request.param])
