from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mead.arrays import FloatArray
from mead.policies.adaptive.rates import CHANCES, HEADROOM, PARTS, SIMILAR, _parts, learn, smoothed, smoothing

MEAN, SD, PERSISTENCE = 1000.0, 300.0, 0.6


@pytest.fixture(scope="module")
def persistent() -> FloatArray:
    """A first-order autoregression: x(k+1) = m + phi (x(k) - m) + noise."""
    rng = np.random.default_rng(3)
    noise = rng.normal(0.0, SD * np.sqrt(1 - PERSISTENCE**2), 60_000)
    counts = np.empty(noise.size)
    above = 0.0
    for k, shock in enumerate(noise):
        above = PERSISTENCE * above + shock
        counts[k] = max(MEAN + above, 1.0)
    return counts


@given(
    st.integers(1, 60).flatmap(
        lambda n: st.tuples(
            arrays(float, n, elements=st.floats(0, 1e6)), arrays(float, n, elements=st.floats(0.01, 10))
        )
    )
)
def test_the_parts_of_a_distribution_rise_and_keep_its_mean(drawn: tuple[FloatArray, FloatArray]) -> None:
    values, weights = drawn
    parts = _parts(values, weights)
    assert CHANCES @ parts == pytest.approx(np.average(values, weights=weights), rel=1e-9, abs=1e-6)
    assert (np.diff(parts) >= -1e-6 * (1 + values.max())).all()


def test_a_step_of_the_rate_is_forgotten_with_the_time_constant_of_the_memory() -> None:
    counts = np.concatenate([np.full(200, 10.0), np.full(40, 20.0)])
    rates = smoothed(counts, smoothing(0.5))[200:]
    after_s = 0.5 * np.arange(1, 41)
    assert rates == pytest.approx(20 - 10 * np.exp(-after_s / 3.0), abs=1e-6)


def test_rates_of_an_autoregression_return_to_the_mean_as_theory_says(persistent: FloatArray) -> None:
    model = learn(persistent, period_s=1.0)
    # Covariance of the next count with the smoothed rate, over the variance of that rate.
    w, phi = smoothing(1.0), PERSISTENCE
    slope = phi * (2 - w) / (1 + phi * (1 - w))
    rate_sd = SD * np.sqrt(w / (2 - w) * (1 + phi * (1 - w)) / (1 - phi * (1 - w)))
    rates = np.linspace(MEAN - 3.5 * rate_sd, MEAN + 3.5 * rate_sd, 2001)
    density = np.exp(-0.5 * ((rates - MEAN) / rate_sd) ** 2)
    common = [i for i, rate in enumerate(model.rates) if abs(rate - MEAN) < 1.4 * rate_sd]
    assert len(common) >= 3
    for i in common:
        alike = density * np.exp(-0.5 * (np.log(rates / model.rates[i]) / SIMILAR) ** 2)
        expected = model.rates[i] * np.average((MEAN + slope * (rates - MEAN)) / rates, weights=alike)
        assert CHANCES @ model.outcomes[i] == pytest.approx(expected, rel=0.01)
    low, high = common[0], common[-1]
    assert CHANCES @ model.outcomes[low] > 1.01 * model.rates[low]
    assert CHANCES @ model.outcomes[high] < 0.99 * model.rates[high]


def test_poisson_counts_vary_alike_around_every_rate() -> None:
    counts = np.random.default_rng(5).poisson(400.0, 20_000).astype(float)
    model = learn(counts, period_s=1.0, most=600.0)
    relative = model.outcomes / model.rates[:, None]
    assert np.ptp(relative, axis=0).max() < 0.03
    # The count and the rate that it is compared with both vary; both are nearly normal.
    w = smoothing(1.0)
    sd = np.sqrt((1 + w / (2 - w)) / 400.0)
    quantiles = [NormalDist(1.0, sd).inv_cdf(p) for p in np.linspace(0.00005, 0.99995, 10_000)]
    expected = [np.mean(quantiles[round(a * 10_000) : round(b * 10_000)]) for a, b in pairwise(PARTS)]
    assert relative[4] == pytest.approx(np.array(expected), abs=0.012)


@given(most=st.floats(0.0, 1e4), seed=st.integers(0, 100))
def test_the_grid_reaches_beyond_every_rate_seen_and_asked_for(most: float, seed: int) -> None:
    counts = np.random.default_rng(seed).gamma(0.5, 200.0, 300)
    model = learn(counts, period_s=1.0, most=most)
    seen = smoothed(counts, smoothing(1.0))[:-1]
    assert model.rates[-1] == pytest.approx(HEADROOM * max(seen.max(), most))
    assert model.rates[0] < np.quantile(seen, 0.02)
    assert (np.diff(model.rates) > 0).all()
    assert (model.outcomes >= 0).all()


def test_arrivals_that_never_came_are_a_model_of_nothing() -> None:
    model = learn(np.zeros(20), period_s=1.0, most=500.0)
    assert model.outcomes.max() == 0
    assert model.mean == 0
    assert model.rates[-1] == pytest.approx(625.0)


@pytest.mark.parametrize("delay", [1, 3])
def test_errors_are_what_came_until_an_order_acts_beyond_what_the_rate_promised(
    delay: int, persistent: FloatArray
) -> None:
    counts = persistent[: 100 + delay]
    rates = smoothed(counts, smoothing(1.0))
    surplus = sorted(sum(counts[k + j] - rates[k] for j in range(1, delay + 1)) / rates[k] for k in range(100))
    expected = [np.mean(surplus[round(100 * a) : round(100 * b)]) for a, b in pairwise(PARTS)]
    assert learn(counts, 1.0, delay=delay).errors == pytest.approx(np.array(expected))


def test_orders_that_act_at_once_meet_the_backlog_that_they_were_made_for(persistent: FloatArray) -> None:
    assert (learn(persistent[:200], 1.0).errors == 0).all()


def test_scaling_a_model_is_learning_from_scaled_counts(persistent: FloatArray) -> None:
    scaled = learn(persistent[:500], 1.0, most=2000.0, delay=2).scaled(2.5)
    learned = learn(2.5 * persistent[:500], 1.0, most=5000.0, delay=2)
    for name in ("rates", "outcomes", "smoothing", "mean", "highest", "errors"):
        assert getattr(scaled, name) == pytest.approx(getattr(learned, name)), name
