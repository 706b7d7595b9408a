from __future__ import annotations

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.queueing import Unstable, kingman
from mead.queueing.queues.mg1 import mg1

utilizations = st.floats(0.01, 0.98)
scvs = st.floats(0.0, 20.0)


@pytest.mark.parametrize("utilization", [0.1, 0.5, 0.95])
def test_poisson_arrivals_and_exponential_service_are_exact(utilization: float) -> None:
    solution = kingman(utilization, 1.0, 1.0, 1.0)
    assert not isinstance(solution, Unstable)
    assert solution.mean_s == pytest.approx(1 / (1 - utilization))
    assert solution.percentile_s(99) == pytest.approx(log(100) / (1 - utilization), rel=1e-9)


@given(utilizations, scvs)
def test_poisson_arrivals_give_the_mean_of_mg1(utilization: float, service_scv: float) -> None:
    general, poisson = kingman(utilization, 1.0, 1.0, service_scv), mg1(utilization, 1.0, service_scv)
    assert not isinstance(general, Unstable)
    assert not isinstance(poisson, Unstable)
    assert general.mean_s == pytest.approx(poisson.mean_s)


@given(utilizations, scvs, scvs, st.floats(0.0, 10.0))
def test_variability_never_helps(utilization: float, arrival_scv: float, service_scv: float, more: float) -> None:
    base = kingman(utilization, arrival_scv, 1.0, service_scv)
    worse = kingman(utilization, arrival_scv + more, 1.0, service_scv)
    assert not isinstance(base, Unstable)
    assert not isinstance(worse, Unstable)
    assert worse.mean_s >= base.mean_s
    assert worse.percentile_s(95) >= base.percentile_s(95) * (1 - 1e-9)


def test_constant_arrivals_and_service_never_wait() -> None:
    steady = kingman(0.9, 0.0, 1.0, 0.0)
    assert not isinstance(steady, Unstable)
    assert steady.mean_s == 1.0


def test_overload_is_a_value() -> None:
    assert kingman(2.0, 1.0, 0.75, 1.0) == Unstable(1.5)


@pytest.mark.parametrize(("arrival_scv", "service_scv"), [(-0.1, 1.0), (1.0, float("nan")), (float("inf"), 1.0)])
def test_impossible_variability_is_refused(arrival_scv: float, service_scv: float) -> None:
    with pytest.raises(ValueError, match="coefficients of variation"):
        kingman(0.5, arrival_scv, 1.0, service_scv)
