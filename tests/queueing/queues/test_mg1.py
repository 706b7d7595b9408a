from __future__ import annotations

from math import exp, factorial, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from mead.queueing import PH, Unstable, m_ph_1
from mead.queueing.queues.mg1 import mg1
from mead.queueing.queues.mmk import mmk


@given(st.floats(0.01, 0.99), st.floats(0.02, 30.0), st.floats(1e-4, 1e4))
def test_two_moments_give_the_pollaczek_khinchine_mean_of_the_exact_queue(
    utilization: float, service_scv: float, mean_service_s: float
) -> None:
    rate = utilization / mean_service_s
    general = mg1(rate, mean_service_s, service_scv)
    exact = m_ph_1(rate, PH.with_moments(mean_service_s, service_scv))
    assert not isinstance(general, Unstable)
    assert not isinstance(exact, Unstable)
    assert general.mean_s == pytest.approx(exact.mean_s, rel=1e-9)
    assert general.percentile_s(95) == exact.percentile_s(95)


@pytest.mark.parametrize("utilization", [0.2, 0.9])
def test_exponential_service_is_mm1(utilization: float) -> None:
    general, mm1 = mg1(utilization, 1.0, 1.0), mmk(utilization, 1.0, 1)
    assert not isinstance(general, Unstable)
    assert not isinstance(mm1, Unstable)
    for percent in (50.0, 95.0, 99.9):
        assert general.percentile_s(percent) == pytest.approx(mm1.percentile_s(percent), rel=1e-9)
        assert general.percentile_s(percent) == pytest.approx(log(100 / (100 - percent)) / (1 - utilization), rel=1e-9)


def md1_wait_cdf(t: float, rate: float) -> float:
    """P(W <= t) of M/D/1 with service 1 (Erlang 1909)."""
    terms = [(rate * (k - t)) ** k / factorial(k) * exp(-rate * (k - t)) for k in range(int(t) + 1)]
    return (1 - rate) * float(np.sum(terms))


def test_constant_service_has_the_exact_mean_and_nearly_the_percentiles_of_md1() -> None:
    constant = mg1(0.7, 1.0, 0.0)
    assert not isinstance(constant, Unstable)
    assert constant.mean_s == pytest.approx(1 + 0.7 / 0.6, rel=1e-12)
    p95 = 1 + brentq(lambda t: md1_wait_cdf(t, 0.7) - 0.95, 0.01, 15)
    # The service of the model has 64 phases, not infinitely many.
    assert constant.percentile_s(95) == pytest.approx(p95, rel=0.02)


def test_overload_is_a_value_and_no_arrivals_are_no_wait() -> None:
    assert mg1(3.0, 0.5, 1.0) == Unstable(1.5)
    idle = mg1(0.0, 2.0, 1.0)
    assert not isinstance(idle, Unstable)
    assert (idle.mean_s, idle.utilization) == (2.0, 0.0)
    assert idle.percentile_s(50) == pytest.approx(2 * log(2))
