from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.paths import vectors

from mead.arrays import FloatArray
from mead.queueing import MAP, InvalidMAPError

VECTORS = vectors("map_moments.json")["maps"]
every_vector = pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])


def from_rates(hidden: FloatArray, D1: FloatArray) -> MAP:
    off_diagonal = hidden - np.diag(np.diag(hidden))
    return MAP(off_diagonal - np.diag((off_diagonal + D1).sum(axis=1)), D1)


def square(n: int) -> st.SearchStrategy[FloatArray]:
    return arrays(np.float64, (n, n), elements=st.floats(0.1, 10))


maps = st.integers(1, 4).flatmap(lambda n: st.builds(from_rates, square(n), square(n)))
diagonal_maps = st.integers(1, 3).flatmap(lambda n: st.builds(from_rates, st.just(np.zeros((n, n))), square(n)))
"""MAPs whose D0 is diagonal: every transition brings an arrival."""


# -- agreement with numbers that others computed --------------------------------------------------------------------


@every_vector
def test_statistics_agree_with_the_vectors(vector: dict[str, Any]) -> None:
    process = MAP(vector["D0"], vector["D1"])
    assert process.states == vector["states"]
    assert process.rate_per_s == pytest.approx(vector["rate"], rel=1e-12)
    assert process.mean_iat_s == pytest.approx(vector["E1"], rel=1e-12)
    assert [process.moment(k) for k in (1, 2, 3)] == pytest.approx([vector[f"E{k}"] for k in (1, 2, 3)], rel=1e-12)
    assert process.scv == pytest.approx(vector["SCV"], rel=1e-12)
    assert process.idc_limit == pytest.approx(vector["idc_limit"], rel=1e-11)
    lags = [int(lag) for lag in vector["acf"]]
    assert process.acf(lags) == pytest.approx(list(vector["acf"].values()), rel=1e-10, abs=1e-13)


@every_vector
def test_the_limit_of_dispersion_is_the_sum_of_correlations(vector: dict[str, Any]) -> None:
    # I = scv (1 + 2 sum rho_k), summed over as many lags as matter.
    process = MAP(vector["D0"], vector["D1"])
    total = 1.0 + 2.0 * process.acf(range(1, 20_000)).sum()
    slowest = np.sort(np.abs(np.linalg.eigvals(process.embedded_chain)))[-2] if process.states > 1 else 0.0
    assert process.scv * total == pytest.approx(process.idc_limit, rel=max(1e-6, 3 * slowest**20_000))


def test_poisson_has_no_memory() -> None:
    poisson = MAP.poisson(7.0)
    assert [poisson.moment(k) for k in (1, 2, 3, 4)] == pytest.approx([factorial(k) / 7.0**k for k in (1, 2, 3, 4)])
    assert poisson.acf([1, 5]).tolist() == [0.0, 0.0]
    assert poisson.idc([1e-6, 1.0, 1e6]) == pytest.approx([1.0, 1.0, 1.0])


# -- the two-state MAP by rate and index of dispersion --------------------------------------------------------------


def test_the_published_two_state_map() -> None:
    # Elastic-PPQ's generator for I = 1000 ends at F = 4.0004, pfs = 9.0e-4, psf = 3.6e-3.
    process = MAP.two_state(rate_per_s=10_000.0, idc=1_000.0, ratio=4.0004)
    leave_fast, leave_slow = process.D1[0, 1] / process.D1[0].sum(), process.D1[1, 0] / process.D1[1].sum()
    assert leave_fast == pytest.approx(9.0e-4, rel=0.002)
    assert leave_slow == pytest.approx(3.6e-3, rel=0.002)
    assert (-np.diag(process.D0)).tolist() == pytest.approx([40_004.0, 10_000 / 4.0004])


@given(st.floats(1.1, 8.0), st.floats(20.0, 1e5), st.floats(1e-3, 1e6))
def test_the_two_state_map_obeys_the_formulas_of_its_paper(ratio: float, idc: float, rate: float) -> None:
    process = MAP.two_state(rate, idc, ratio=ratio)
    pfs, psf = process.D1[0, 1] / process.D1[0].sum(), process.D1[1, 0] / process.D1[1].sum()
    fast, slow, mean = rate * ratio, rate / ratio, 1 / rate
    second = 2 * (psf / fast**2 + pfs / slow**2) / (psf + pfs)
    assert process.rate_per_s == pytest.approx(rate, rel=1e-9)
    assert process.idc_limit == pytest.approx(idc, rel=1e-7)
    assert process.idc_limit == pytest.approx(
        1 + 2 * pfs * psf * (fast - slow) ** 2 / ((pfs + psf) * (fast * pfs + slow * psf) ** 2), rel=1e-7
    )
    assert process.scv == pytest.approx(2 * ratio - 3 + 2 / ratio, rel=1e-6)
    assert process.acf([1])[0] == pytest.approx(0.5 * (1 - psf - pfs) * (1 - mean**2 / (second - mean**2)), rel=1e-6)


@pytest.mark.parametrize(
    ("rate", "idc", "ratio", "complaint"),
    [
        (0.0, 10.0, 4.0, "rate > 0"),
        (1.0, 1.0, 4.0, "index of dispersion > 1"),
        (1.0, 10.0, 1.0, "ratio > 1"),
        (float("nan"), 10.0, 4.0, "rate > 0"),
        (1.0, 4.0, 4.0, "cannot be below 4.6; got 4"),
    ],
)
def test_a_two_state_map_that_cannot_be_is_refused(rate: float, idc: float, ratio: float, complaint: str) -> None:
    with pytest.raises(InvalidMAPError, match=complaint):
        MAP.two_state(rate, idc, ratio=ratio)


# -- what must hold for every MAP -----------------------------------------------------------------------------------


@given(maps)
def test_both_stationary_vectors_are_stationary(process: MAP) -> None:
    generator = process.D0 + process.D1
    assert process.time_stationary @ generator == pytest.approx(np.zeros(process.states), abs=1e-10)
    assert process.embedded_chain.sum(axis=1) == pytest.approx(np.ones(process.states))
    assert process.arrival_stationary @ process.embedded_chain == pytest.approx(process.arrival_stationary)
    assert process.moment(1) * process.rate_per_s == pytest.approx(1.0)


@given(maps)
def test_dispersion_goes_from_one_to_its_limit(process: MAP) -> None:
    early, late = process.idc([1e-12, 1e9])
    assert early == pytest.approx(1.0, abs=1e-9)
    assert late == pytest.approx(process.idc_limit, rel=1e-6)


@given(maps, st.floats(0.05, 20.0))
def test_dispersion_is_what_integrating_the_covariance_gives(process: MAP, t: float) -> None:
    # 1 + 2/(rate t) int_0^t (t-u) cov(u) du by Simpson's rule, with exp(Qu) from an eigendecomposition.
    values, vectors = np.linalg.eig(process.D0 + process.D1)
    assume(np.linalg.cond(vectors) < 1e6)
    rate, pi = process.rate_per_s, process.time_stationary
    u = np.linspace(0, 1, 4001) ** 2 * t
    left = (pi @ process.D1) @ vectors
    right = np.linalg.solve(vectors, process.D1.sum(axis=1) - rate)
    covariance = np.real(np.exp(np.outer(u, values)) * left @ right)
    integrand = (t - u) * covariance * 2 * np.linspace(0, 1, 4001) * t
    weights = np.where(np.arange(4001) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    assert process.idc(t)[0] == pytest.approx(1 + 2 / (rate * t) * float(integrand @ weights) / 12_000, rel=1e-6)


@given(maps)
def test_correlations_are_correlations(process: MAP) -> None:
    rho = process.acf([3, 1, 2, 1])
    assert (np.abs(rho) <= 1).all()
    assert rho[1] == rho[3]
    assert rho == pytest.approx([process.acf([lag])[0] for lag in (3, 1, 2, 1)], abs=1e-12)


@given(maps, st.floats(1e-6, 1e6))
def test_scaling_time_changes_the_rate_and_nothing_else(process: MAP, factor: float) -> None:
    faster = process.scaled(factor)
    assert faster.rate_per_s == pytest.approx(process.rate_per_s * factor)
    assert faster.scv == pytest.approx(process.scv)
    assert faster.acf([1, 7]) == pytest.approx(process.acf([1, 7]), abs=1e-10)
    assert faster.idc_limit == pytest.approx(process.idc_limit)
    assert process.with_rate(factor).rate_per_s == pytest.approx(factor)


@given(maps, st.floats(0.01, 1.0))
def test_thinning_scales_the_rate_and_takes_dispersion_towards_one(process: MAP, keep: float) -> None:
    thin = process.thinned(keep)
    assert thin.rate_per_s == pytest.approx(keep * process.rate_per_s)
    # Var = keep^2 Var N + keep (1-keep) E N, so I' - 1 = keep (I - 1), at every time.
    assert thin.idc(0.7)[0] - 1 == pytest.approx(keep * (process.idc(0.7)[0] - 1), abs=1e-9)
    assert thin.idc_limit - 1 == pytest.approx(keep * (process.idc_limit - 1), abs=1e-9)


@pytest.mark.parametrize("keep", [0.0, -0.1, 1.1, float("nan")])
def test_a_probability_that_is_none_cannot_thin(keep: float) -> None:
    with pytest.raises(ValueError, match=r"must be in \(0, 1\]"):
        MAP.poisson(1.0).thinned(keep)


@given(maps, diagonal_maps)
def test_composition_multiplies_moments(one: MAP, other: MAP) -> None:
    both = one.composed(other)
    assert both.states == one.states * other.states
    for k in (1, 2, 3):
        assert both.moment(k) == pytest.approx(one.moment(k) * other.moment(k) / factorial(k))


def test_composing_two_maps_with_hidden_transitions_is_refused() -> None:
    hidden = MAP([[-2.0, 1.0], [1.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(InvalidMAPError, match="D0 must be non-negative off its diagonal"):
        hidden.composed(hidden)


# -- what is no MAP -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("D0", "D1", "rule"),
    [
        ([[-1.0, 0.0]], [[1.0, 0.0]], "must be square and of one size"),
        ([[-1.0]], [[1.0, 0.0], [0.0, 1.0]], "must be square and of one size"),
        (np.zeros((0, 0)), np.zeros((0, 0)), "must be square and of one size"),
        ([-1.0], [1.0], "must be square and of one size"),
        ([[-np.inf]], [[np.inf]], "finite numbers only"),
        ([[np.nan]], [[1.0]], "finite numbers only"),
        ([[-1.0, -1.0], [0.0, -1.0]], [[1.0, 1.0], [1.0, 0.0]], r"D0 must be non-negative.*\[0\]\[1\] is -1"),
        ([[-1.0, 2.0], [1.0, -1.0]], [[0.0, -1.0], [0.0, 0.0]], r"D1 must be non-negative; entry \[0\]\[1\] is -1"),
        ([[-1.0, 0.5], [0.5, -1.0]], [[0.5, 0.0], [0.0, 0.6]], "must sum to zero; row 1 sums to 0.1"),
        ([[1.0]], [[0.0]], "must sum to zero; row 0 sums to 1"),
        ([[0.0]], [[0.0]], "nothing ever happens"),
        ([[-1.0, 1.0], [1.0, -1.0]], [[0.0, 0.0], [0.0, 0.0]], "there are no arrivals"),
        ([[-1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]], r"irreducible.*\[0\], \[1\]"),
        ([[-1.0, 1.0], [0.0, -1.0]], [[0.0, 0.0], [0.0, 1.0]], "irreducible"),
    ],
)
def test_matrices_that_are_no_map_are_refused_with_the_broken_rule(D0: Any, D1: Any, rule: str) -> None:
    with pytest.raises(InvalidMAPError, match=rule):
        MAP(D0, D1)


def test_rounding_in_a_printed_matrix_is_forgiven() -> None:
    assert MAP([[-1.0, 0.333333333], [0.5, -1.0]], [[0.666666667, 0.0], [0.0, 0.5]]).states == 2


@pytest.mark.parametrize("times", [0.0, -1.0, [1.0, 0.0]])
def test_dispersion_needs_time(times: Any) -> None:
    with pytest.raises(ValueError, match="needs t > 0"):
        MAP.poisson(1.0).idc(times)


def test_correlation_starts_at_lag_one() -> None:
    with pytest.raises(ValueError, match="lags start at 1; got 0"):
        MAP.poisson(1.0).acf([1, 0])


def test_a_map_cannot_be_changed() -> None:
    D0, D1 = np.array([[-2.0]]), np.array([[2.0]])
    process = MAP(D0, D1)
    D0[0, 0] = -99.0
    assert process.D0[0, 0] == -2.0
    for matrix in (process.D0, process.D1, process.time_stationary, process.embedded_chain, process.arrival_stationary):
        with pytest.raises(ValueError, match="read-only"):
            matrix[0] = 5.0
    with pytest.raises(AttributeError):
        process.D0 = D0  # type: ignore[misc]
