from __future__ import annotations

import numpy as np
import pytest

from mead.queueing.fitting.kpc.targets import FASTEST_PHASE, measured


def test_joint_moments_are_those_of_the_definition() -> None:
    iats = np.random.default_rng(1).exponential(1.0, 700)
    targets = measured(iats / iats.mean())
    x = iats / iats.mean()
    for (i, j), value in zip(targets.joint_lags, targets.joint, strict=True):
        direct = np.mean([x[t] * x[t + i] * x[t + i + j] for t in range(x.size - i - j)])
        assert value == pytest.approx(direct, rel=1e-12)
        assert i <= j


def test_the_longest_lag_is_a_tenth_of_the_window() -> None:
    targets = measured(np.random.default_rng(2).exponential(1.0, 50_000))
    assert targets.lags[-1] == 5000
    assert targets.lags.size == 319


def test_lags_end_where_the_correlation_has_decayed() -> None:
    x = np.ones(1000)
    x[::2] = 2.0
    x[500:] = np.random.default_rng(3).permutation(x[500:])
    targets = measured(x / x.mean())
    assert np.all(np.abs(targets.rho[:-1]) >= 1e-6)


def test_the_range_of_phases_narrows_with_the_time_they_last() -> None:
    targets = measured(np.random.default_rng(4).exponential(1.0, 10_000))
    fastest, slowest = targets.phases_seen(np.array([0.0, 0.9, 0.999]))
    assert np.all(np.diff(fastest) > 0)
    assert np.all(np.diff(slowest) < 0)
    assert fastest[0] == FASTEST_PHASE
    assert slowest[0] > 7
    assert 0.85 < fastest[2] < 1 < slowest[2] < 1.15
