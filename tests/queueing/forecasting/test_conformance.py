"""What every forecaster has to keep to, whatever it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.queueing import PREDICTORS, Predictor, forecaster
from mead.queueing.forecasting.forecaster import Forecaster, NothingObservedError

EVERY = pytest.mark.parametrize("name", PREDICTORS)
QUICK: tuple[Predictor, ...] = tuple(name for name in PREDICTORS if name not in {"ann", "ann-repo", "rf"})
STEPS = 6


def made(name: Predictor) -> Forecaster:
    return forecaster(name, window=12, steps=STEPS)


def said(name: Predictor, samples: FloatArray) -> FloatArray:
    one = made(name)
    one.observe(samples)
    return one.forecast(STEPS)


@EVERY
def test_as_many_finite_steps_as_asked_for_however_little_was_seen(name: Predictor) -> None:
    one = made(name)
    for sample in (80.0, 120.0, 0.0, 400.0):
        one.observe(np.array([sample]))
        for steps in (1, STEPS):
            ahead = one.forecast(steps)
            assert ahead.shape == (steps,)
            assert np.isfinite(ahead).all()


@EVERY
def test_no_forecast_before_the_first_sample(name: Predictor) -> None:
    one = made(name)
    one.observe(np.empty(0))
    with pytest.raises(NothingObservedError, match="before the first sample"):
        one.forecast(STEPS)


@EVERY
@pytest.mark.parametrize("samples", [[1.0, np.nan], [np.inf], [[1.0, 2.0]]])
def test_what_is_no_sample_is_refused(name: Predictor, samples: list[float]) -> None:
    with pytest.raises(ValueError, match="one row of finite numbers"):
        made(name).observe(np.array(samples))


@EVERY
def test_a_forecast_of_no_steps_is_refused(name: Predictor) -> None:
    one = made(name)
    one.observe(np.ones(3))
    with pytest.raises(ValueError, match="at least 1 step"):
        one.forecast(0)


@EVERY
def test_asking_twice_gives_the_same_answer(name: Predictor) -> None:
    one = made(name)
    one.observe(np.random.default_rng(1).poisson(100.0, 30).astype(float))
    assert one.forecast(STEPS).tolist() == one.forecast(STEPS).tolist()


@EVERY
def test_samples_may_come_in_any_pieces(name: Predictor) -> None:
    samples = np.random.default_rng(2).poisson(100.0, 30).astype(float)
    piecewise = made(name)
    for piece in np.array_split(samples, [1, 4, 4, 17]):
        piecewise.observe(piece)
    assert piecewise.forecast(STEPS) == pytest.approx(said(name, samples), rel=1e-12)


@pytest.mark.parametrize("name", [name for name in PREDICTORS if name != "ann-repo"])
def test_a_constant_goes_on(name: Predictor) -> None:
    assert said(name, np.full(40, 250.0)) == pytest.approx(np.full(STEPS, 250.0), rel=1e-6)


@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(1.0, 1e4), min_size=12, max_size=40), st.sampled_from([1e-3, 7.0, 1e4]))
def test_the_unit_of_the_samples_does_not_matter(name: Predictor, samples: list[float], unit: float) -> None:
    values = np.array(samples)
    scale = unit * values.max()
    np.testing.assert_allclose(said(name, unit * values), unit * said(name, values), atol=1e-6 * scale)


def test_the_unit_matters_to_the_authors_recipe_and_not_to_the_standardised_one() -> None:
    samples = np.random.default_rng(3).poisson(300.0, 40).astype(float)
    repo = [float(said("ann-repo", unit * samples).mean() / unit) for unit in (1.0, 100.0)]
    standard = [float(said("ann", unit * samples).mean() / unit) for unit in (1.0, 100.0)]
    assert abs(repo[0] / repo[1] - 1) > 0.2
    assert standard[0] == pytest.approx(standard[1], rel=1e-6)
