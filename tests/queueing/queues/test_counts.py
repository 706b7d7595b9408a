from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import simpson
from scipy.linalg import expm
from scipy.stats import poisson

from mead.arrays import FloatArray
from mead.queueing import MAP
from mead.queueing.queues.counts import CountLaw, CountLaws, joined

BURSTY = MAP(
    [[-5.0, 1.0, 0.0], [0.2, -40.0, 0.3], [0.0, 0.7, -0.7]], [[4.0, 0.0, 0.0], [0.0, 38.5, 1.0], [0.0, 0.0, 0.0]]
)


def moments(law: CountLaw, start: FloatArray) -> tuple[float, float]:
    """Mean and variance of the count from a distribution of the phase."""
    mass = np.einsum("i,cij->c", start, law.mass)
    mean = float(mass @ law.tuples)
    return mean, float(mass @ (law.tuples - mean) ** 2)


@pytest.mark.parametrize("span_s", [0.001, 0.4, 2.0, 3.5])
def test_poisson_arrivals_have_poisson_counts(span_s: float) -> None:
    law = CountLaws(MAP.poisson(5.0), span_s).law(1)
    assert law.width == 1
    np.testing.assert_allclose(law.mass[:, 0, 0], poisson.pmf(law.tuples, 5.0 * span_s), atol=2e-11)


@pytest.mark.parametrize("span_s", [100.0, 1e4, 1e7])
def test_wide_cells_keep_the_moments_and_the_shape(span_s: float) -> None:
    law = CountLaws(MAP.poisson(5.0), span_s).law(1)
    mean, variance = moments(law, np.ones(1))
    assert law.width > 1
    assert mean == pytest.approx(5.0 * span_s, rel=1e-9)
    assert variance == pytest.approx(5.0 * span_s, rel=1e-4)
    third = float(law.mass[:, 0, 0] @ (law.tuples - mean) ** 3)
    assert third == pytest.approx(5.0 * span_s, abs=1e-3 * variance**1.5)
    middle = np.cumsum(law.mass[:, 0, 0]) - law.mass[:, 0, 0] / 2
    np.testing.assert_allclose(middle, poisson.cdf(law.tuples, 5.0 * span_s), atol=0.02)


@pytest.mark.parametrize("span_s", [0.01, 0.3, 2.0, 30.0, 1000.0])
def test_a_map_has_the_dispersion_that_its_own_formula_gives(span_s: float) -> None:
    law = CountLaws(BURSTY, span_s).law(1)
    mean, variance = moments(law, BURSTY.time_stationary)
    assert mean == pytest.approx(BURSTY.rate_per_s * span_s, rel=1e-8)
    assert variance / mean == pytest.approx(float(BURSTY.idc(span_s)[0]), rel=1e-6)


@pytest.mark.parametrize("idc", [10.0, 1000.0])
@pytest.mark.parametrize("multiple", [1.0, 1.5, 1.625, 24.0, 4096.0])
def test_neither_trimming_nor_wider_cells_move_the_mean(idc: float, multiple: float) -> None:
    # A server close to saturation magnifies an error of the mean by orders of magnitude.
    law = CountLaws(MAP.two_state(300.0, idc), 0.1).law(multiple)
    np.testing.assert_allclose(law.tuples @ law.mass.sum(axis=2), law.mean, rtol=1e-8)


def test_rare_and_very_fast_bursts_do_not_blur_ordinary_counts() -> None:
    # Two tuples per second; every 80 s on average 60 more at once, so that 1500 in one span are not impossible.
    law = CountLaws(MAP([[-2.0125, 0.0125], [10.0, -610.0]], [[2.0, 0.0], [0.0, 600.0]]), 8.0).law(1)
    assert law.tuples[-1] > 1000
    assert law.width <= law.rate_per_s * law.span_s / 4


@pytest.mark.parametrize("span_s", [0.05, 1.0, 40.0])
def test_the_generating_function_is_a_matrix_exponential(span_s: float) -> None:
    law = CountLaws(BURSTY, span_s).law(1)
    # Far from 1 on long spans almost every count would vanish.
    for z in (1.0, 1 - 0.5 / (1 + BURSTY.rate_per_s * span_s)):
        generated = np.einsum("c,cij->ij", z**law.tuples, law.mass)
        np.testing.assert_allclose(generated, expm((BURSTY.D0 + z * BURSTY.D1) * span_s), rtol=1e-5)
    np.testing.assert_allclose(law.none, expm(BURSTY.D0 * span_s), atol=1e-12)
    np.testing.assert_allclose(law.some.sum(axis=0), expm((BURSTY.D0 + BURSTY.D1) * span_s) - law.none, atol=1e-9)


def mean_until(t: float) -> FloatArray:
    """Expected arrivals until t, per phase, by integrating the rate."""
    times = np.linspace(0.0, t, 401)
    rates = [expm((BURSTY.D0 + BURSTY.D1) * u) @ BURSTY.D1.sum(axis=1) for u in times]
    return np.asarray(simpson(rates, x=times, axis=0))


def test_exact_means_and_the_arrivals_of_each_half() -> None:
    law = CountLaws(BURSTY, 2.0).law(1)
    np.testing.assert_allclose(law.mean, mean_until(2.0), rtol=1e-7)
    times = np.linspace(0.0, 2.0, 21)
    np.testing.assert_allclose(law.area, simpson([mean_until(t) for t in times], x=times, axis=0), rtol=1e-4)
    early, late = law.parts
    assert (early.begin, early.end, late.begin, late.end) == (0.0, 0.5, 0.5, 1.0)
    np.testing.assert_allclose(early.expected.sum(axis=0), mean_until(1.0), rtol=1e-6)
    np.testing.assert_allclose(late.expected.sum(axis=0), mean_until(2.0) - mean_until(1.0), rtol=1e-6)


@given(st.integers(1, 40), st.integers(1, 40))
def test_two_spans_join_to_the_law_of_their_sum(first: int, second: int) -> None:
    laws = CountLaws(BURSTY, 0.25)
    together, direct = joined(laws.law(first), laws.law(second)), CountLaws(BURSTY, 0.25 * (first + second)).law(1)
    assert together.span_s == pytest.approx(direct.span_s)
    for start in np.eye(3):
        assert moments(together, start) == pytest.approx(moments(direct, start), rel=1e-5)


def test_no_time_brings_no_arrivals() -> None:
    law = CountLaws(BURSTY, 0.0, halvings=0).law(1)
    np.testing.assert_array_equal(law.mass, np.eye(3)[None])
    assert law.mean.tolist() == [0.0, 0.0, 0.0]


@given(st.floats(0.01, 1e6), st.floats(1e-4, 0.5))
def test_a_cheap_multiple_is_near_the_wanted_one(wanted: float, relative: float) -> None:
    laws = CountLaws(MAP.poisson(50.0), 3.0)
    assert laws.nearest(wanted, relative) == pytest.approx(wanted, rel=relative, abs=0.51 / laws.unit)
