"""The Hurst parameter of streams whose own is known."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mead.arrays import FloatArray
from mead.queueing import hurst
from mead.queueing.statistics.hurst import levels_of


def fractional_noise(parameter: float, size: int, rng: np.random.Generator) -> FloatArray:
    """Fractional Gaussian noise by circulant embedding (Davies and Harte, 1987), which is exact."""
    k = np.arange(size + 1.0)
    covariance = 0.5 * ((k + 1) ** (2 * parameter) - 2 * k ** (2 * parameter) + np.abs(k - 1) ** (2 * parameter))
    strength = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    noise = rng.standard_normal(2 * size) + 1j * rng.standard_normal(2 * size)
    return np.asarray(np.fft.fft(np.sqrt(np.maximum(strength, 0) / (2 * size)) * noise).real[:size])


@pytest.mark.parametrize("parameter", [0.6, 0.7, 0.8, 0.9])
def test_arrivals_whose_rate_has_long_memory(parameter: float) -> None:
    rng = np.random.default_rng(7)
    rates = 16 + 4 * fractional_noise(parameter, 2**16, rng)
    counts = np.rint(np.maximum(rates, 0)).astype(int)
    arrivals = np.sort(np.repeat(np.arange(counts.size), counts) + rng.random(counts.sum()))
    found = hurst(np.diff(arrivals))
    assert found is not None
    assert found.value == pytest.approx(parameter, abs=0.04)


@pytest.mark.parametrize("seed", range(3))
def test_poisson_arrivals_have_no_memory(seed: int) -> None:
    found = hurst(np.random.default_rng(seed).standard_exponential(300_000))
    assert found is not None
    assert found.value == pytest.approx(0.5, abs=4 * found.error)
    assert found.error < 0.02
    assert found.fits


def test_it_does_not_depend_on_the_unit_of_time() -> None:
    iats = np.random.default_rng(1).pareto(1.5, 20_000)
    one, other = hurst(iats), hurst(iats * 2.0**-10)
    assert one is not None
    assert other is not None
    assert (one.value, one.error) == (other.value, other.error)
    assert one.longest_s == 2**10 * other.longest_s


@pytest.mark.parametrize("iats_s", [np.zeros(0), np.zeros(9), np.ones(1), np.ones(10_000), np.arange(20.0)])
def test_little_or_regular_data_has_none(iats_s: FloatArray) -> None:
    assert hurst(iats_s) is None


def test_energies_are_those_of_the_haar_wavelet() -> None:
    # The estimator adds up squared counts; here every difference between neighbours is taken one by one.
    iats_s = np.random.default_rng(3).standard_exponential(3_000)
    end_s = iats_s.sum()
    ages_s = end_s - np.cumsum(iats_s)
    levels = levels_of(iats_s.size, end_s)
    for fine, coarse in pairwise(levels):
        counts = np.bincount((ages_s / fine.length_s).astype(int), minlength=fine.intervals)[: fine.in_pairs]
        pairs = counts.reshape(-1, 2)
        squares = int((counts**2).sum())
        assert len(pairs) == coarse.intervals
        assert ((pairs[:, 0] - pairs[:, 1]) ** 2).sum() == 2 * squares - (pairs.sum(axis=1) ** 2).sum()
