"""Every forecaster against something that says the same in another way."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import polynomial
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neural_network import MLPRegressor

from mead.arrays import FloatArray
from mead.queueing.forecasting.extrapolation import Autoregressive, Basic, Ewma, Fourier, Linear
from mead.queueing.forecasting.forecaster import Forecaster
from mead.queueing.forecasting.learning import Forest, Perceptron
from mead.queueing.forecasting.selection import Automatic, Conformal

WINDOW, STEPS = 40, 6
SERIES = np.random.default_rng(5).gamma(4.0, 50.0, 60)
INDEX = np.arange(WINDOW + STEPS, dtype=float)[:, None]


def said(one: Forecaster, samples: FloatArray = SERIES) -> FloatArray:
    one.observe(samples)
    return one.forecast(STEPS)


def test_basic_is_the_last_interval() -> None:
    assert said(Basic(WINDOW)).tolist() == SERIES[-STEPS:].tolist()


def test_lr_is_that_of_scikit_learn() -> None:
    model = LinearRegression().fit(INDEX[:WINDOW], SERIES[-WINDOW:])
    assert said(Linear(WINDOW)) == pytest.approx(model.predict(INDEX[WINDOW:]), rel=1e-9)


@pytest.mark.parametrize("degree", [3, None])
def test_fft_is_the_sum_of_its_trend_and_its_ten_strongest_waves(degree: int | None) -> None:
    window = SERIES[-WINDOW:]
    trend = np.zeros(1) if degree is None else polynomial.polyfit(np.arange(WINDOW), window, degree)
    rest = window - polynomial.polyval(np.arange(WINDOW), trend)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(WINDOW), np.arange(WINDOW)) / WINDOW)
    spectrum = turns @ rest
    strongest = sorted(range(WINDOW), key=lambda k: -abs(spectrum[k]))[:10]
    expected = [
        polynomial.polyval(t, trend)
        + sum((spectrum[k] * np.exp(2j * np.pi * k * t / WINDOW)).real for k in strongest) / WINDOW
        for t in range(WINDOW, WINDOW + STEPS)
    ]
    assert said(Fourier(WINDOW, degree=degree)) == pytest.approx(expected, rel=1e-6)


def test_ann_of_the_authors_program_is_their_recipe() -> None:
    model = MLPRegressor(random_state=1, max_iter=1000).fit(INDEX[:WINDOW], SERIES[-WINDOW:] / 1000)
    expected = 1000 * model.predict(INDEX[WINDOW:])
    assert said(Perceptron(WINDOW, repo_compat=True)) == pytest.approx(expected, rel=1e-9)


def test_a_standardised_ann_follows_a_line() -> None:
    assert said(Perceptron(WINDOW), 100 + 5.0 * np.arange(60.0)) == pytest.approx(395 + 5.0 * np.arange(1, 7), rel=0.05)


def test_rf_is_that_of_scikit_learn() -> None:
    model = RandomForestRegressor(random_state=1).fit(INDEX[:WINDOW], SERIES[-WINDOW:])
    assert said(Forest(WINDOW)) == pytest.approx(model.predict(INDEX[WINDOW:]), rel=1e-12)


def test_ewma_is_the_weighted_mean_of_all_samples() -> None:
    weights = (1 - 2 / 13) ** np.arange(SERIES.size)[::-1]
    assert said(Ewma(span=12)) == pytest.approx(np.full(STEPS, np.average(SERIES, weights=weights)), rel=1e-12)


@pytest.mark.parametrize("size", [12, WINDOW])
def test_ar_is_ridge_regression_on_five_lags_carried_on(size: int) -> None:
    """With the 12 samples of the default too."""
    window = SERIES[-size:]
    standard = (window - window.mean()) / window.std()
    rows = np.array([standard[i : i + 5] for i in range(size - 5)])
    model = Ridge(alpha=1.0, fit_intercept=False).fit(rows, standard[5:])
    past = standard.tolist()
    for _ in range(STEPS):
        past.append(float(np.clip(model.predict([past[-5:]])[0], standard.min(), standard.max())))
    assert said(Autoregressive(size)) == pytest.approx(window.mean() + window.std() * np.array(past[-STEPS:]))


def test_ar_finds_a_cycle_of_five_samples_in_twelve() -> None:
    """Four lags leave two samples of the cycle that look alike."""
    cycle = np.array([100.0, 100.0, 100.0, 100.0, 300.0])
    ahead = said(Autoregressive(12), np.tile(cycle, 4))
    assert ahead[[4]] > 220.0
    assert ahead[:4].max() < 150.0


def test_an_upper_quantile_is_exceeded_as_seldom_as_it_says() -> None:
    rng = np.random.default_rng(9)
    series = rng.gamma(4.0, 25.0, 5000)
    for quantile in (0.5, 0.8, 0.9):
        upper, below = Conformal(Ewma(span=30), steps=10, quantile=quantile), []
        upper.observe(series[:500])
        for origin in range(500, 4990, 10):
            below.append(series[origin : origin + 10].mean() <= upper.forecast(10)[0])
            upper.observe(series[origin : origin + 10])
        assert np.mean(below) == pytest.approx(quantile, abs=0.04)


def test_the_margin_is_the_rank_of_split_conformal_prediction() -> None:
    upper = Conformal(Basic(1), steps=1, quantile=0.75)
    assert upper.margin == 0.0
    upper.observe(np.array([10.0, 13.0, 12.0, 17.0, 17.0]))  # residuals 3, -1, 5, 0
    assert upper.margin == 5.0  # the fourth of four: ceil(5 * 0.75)
    upper.observe(np.array([18.0]))  # one more of 1: ceil(6 * 0.75) = 5
    assert upper.margin == 5.0
    upper.observe(np.array([16.0, 16.0]))  # -2 and 0: ceil(8 * 0.75) = 6 of -2 -1 0 0 1 3 5
    assert upper.margin == 3.0


def test_auto_goes_with_the_trend_and_leaves_it_with_the_noise() -> None:
    rng = np.random.default_rng(4)
    series = np.concatenate([np.linspace(100.0, 1000.0, 120), rng.gamma(4.0, 250.0, 240)])
    best = Automatic({"ewma": Ewma(STEPS), "lr": Linear(12)}, steps=STEPS)
    choices = []
    for origin in range(0, series.size, STEPS):
        best.observe(series[origin : origin + STEPS])
        best.forecast(STEPS)
        choices.append(best.choice)
    assert set(choices[3:20]) == {"lr"}
    assert set(choices[-20:]) == {"ewma"}
    assert best.errors["ewma"] < best.errors["lr"]


def test_auto_without_candidates_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to choose from"):
        Automatic({}, steps=1)


@pytest.mark.parametrize("quantile", [0.0, 1.0, 1.5])
def test_a_quantile_lies_within(quantile: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Conformal(Basic(1), steps=1, quantile=quantile)
