from __future__ import annotations

from math import exp, factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import erlang

from mead.queueing import MAX_ERLANG_PHASES, PH
from mead.queueing.ph import InvalidPHError

means = st.floats(1e-6, 1e3)


@given(st.integers(1, 40), means)
def test_erlang_moments_have_their_closed_form(phases: int, mean: float) -> None:
    service = PH.erlang(phases, mean)
    assert service.phases == phases
    assert service.mean_s == pytest.approx(mean)
    assert service.scv == pytest.approx(1 / phases)
    third = phases * (phases + 1) * (phases + 2) * (mean / phases) ** 3
    assert service.moment(3) == pytest.approx(third)


def test_hyperexponential_moments_are_a_weighted_sum() -> None:
    service = PH([0.3, 0.7], np.diag([-2.0, -5.0]))
    for k in (1, 2, 3):
        assert service.moment(k) == pytest.approx(factorial(k) * (0.3 / 2**k + 0.7 / 5**k))


@given(st.floats(0.0, 30.0))
def test_survival_of_an_erlang_is_that_of_scipy(t: float) -> None:
    assert PH.erlang(3, 4.5).survival(t) == pytest.approx(erlang.sf(t, 3, scale=1.5), rel=1e-9, abs=1e-12)


def test_survival_of_an_exponential() -> None:
    assert PH.exponential(2.0).survival(3.0) == pytest.approx(exp(-1.5))


@given(means, st.floats(1 / MAX_ERLANG_PHASES, 50.0))
def test_two_moments_are_met(mean: float, scv: float) -> None:
    service = PH.with_moments(mean, scv)
    assert service.mean_s == pytest.approx(mean)
    assert service.scv == pytest.approx(scv, rel=1e-6)


@pytest.mark.parametrize("phases", range(1, MAX_ERLANG_PHASES + 1))
def test_two_moments_are_met_where_the_number_of_phases_changes(phases: int) -> None:
    # At SCV 1/k rounding decides between k and k + 1 phases, and a probability is zero up to rounding.
    for scv in (np.nextafter(1 / phases, 0), 1 / phases, np.nextafter(1 / phases, 2)):
        assert PH.with_moments(1.0, scv).scv == pytest.approx(1 / phases, rel=1e-9)


def test_a_constant_becomes_the_least_variable_erlang() -> None:
    assert PH.with_moments(3.0, 0.0).scv == pytest.approx(1 / MAX_ERLANG_PHASES)


@given(st.floats(1e-3, 1e3))
def test_a_smaller_share_only_stretches_time(factor: float) -> None:
    service = PH([0.3, 0.7], [[-2.0, 1.0], [0.0, -5.0]])
    slower = service.scaled(factor)
    assert slower.mean_s == pytest.approx(service.mean_s * factor)
    assert slower.scv == pytest.approx(service.scv)
    assert slower.survival(factor) == pytest.approx(service.survival(1.0))


def test_exit_rates_are_what_the_rows_lack() -> None:
    assert PH([1.0, 0.0], [[-2.0, 1.5], [0.0, -5.0]]).exit_rates == pytest.approx([0.5, 5.0])


def test_samples_agree_with_the_exact_moments() -> None:
    service = PH([0.3, 0.7, 0.0], [[-2.0, 0.5, 1.0], [0.0, -5.0, 5.0], [0.1, 0.0, -1.0]])
    samples = service.sample((4, 100_000), np.random.default_rng(1))
    assert samples.shape == (4, 100_000)
    for k in (1, 2):
        error = (samples**k).std() / np.sqrt(samples.size)
        assert (samples**k).mean() == pytest.approx(service.moment(k), abs=4 * error)
    late = (samples > 2.0).mean()
    exact = service.survival(2.0)
    assert late == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / samples.size))


def test_samples_are_independent_of_each_other() -> None:
    samples = PH.erlang(2, 1.0).sample(100_000, np.random.default_rng(2))
    assert np.abs(np.corrcoef(samples[1:], samples[:-1])[0, 1]) < 4 / np.sqrt(100_000)


@pytest.mark.parametrize(
    ("alpha", "T", "rule"),
    [
        ([], np.zeros((0, 0)), "alpha must be a vector and T square"),
        ([1.0], [[-1.0, 0.0], [0.0, -1.0]], "alpha must be a vector and T square"),
        ([[1.0]], [[-1.0]], "alpha must be a vector and T square"),
        ([1.0], [[np.nan]], "finite numbers only"),
        ([0.5, 0.4], np.diag([-1.0, -1.0]), "alpha must be non-negative and sum to 1"),
        ([1.5, -0.5], np.diag([-1.0, -1.0]), "alpha must be non-negative and sum to 1"),
        ([1.0, 0.0], [[-1.0, -0.5], [0.0, -1.0]], "T must be non-negative off its diagonal"),
        ([1.0, 0.0], [[-1.0, 1.5], [0.0, -1.0]], "row 0 sums to 0.5"),
        ([1.0], [[1.0]], "must not sum to more than zero"),
        ([1.0, 0.0], [[-1.0, 1.0], [1.0, -1.0]], "never left for good"),
        ([1.0, 0.0], [[-1.0, 1.0], [0.0, 0.0]], "never left for good"),
    ],
)
def test_what_is_no_phase_type_distribution_is_refused_with_the_broken_rule(alpha: Any, T: Any, rule: str) -> None:
    with pytest.raises(InvalidPHError, match=rule):
        PH(alpha, T)


@pytest.mark.parametrize("make", [lambda: PH.erlang(0, 1.0), lambda: PH.erlang(2, 0.0), lambda: PH.exponential(-1.0)])
def test_an_erlang_that_cannot_be_is_refused(make: Any) -> None:
    with pytest.raises(InvalidPHError, match="phases >= 1 and mean > 0"):
        make()


@pytest.mark.parametrize(("mean", "scv"), [(0.0, 1.0), (1.0, -0.1), (float("nan"), 1.0), (1.0, float("nan"))])
def test_moments_that_cannot_be_are_refused(mean: float, scv: float) -> None:
    with pytest.raises(InvalidPHError, match="mean > 0 and SCV >= 0"):
        PH.with_moments(mean, scv)


def test_a_distribution_cannot_be_changed() -> None:
    alpha = np.array([1.0])
    service = PH(alpha, [[-1.0]])
    alpha[0] = 5.0
    assert service.alpha[0] == 1.0
    for values in (service.alpha, service.T, service.exit_rates):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 5.0
