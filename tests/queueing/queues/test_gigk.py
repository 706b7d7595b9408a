from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import vectors

from mead.queueing import PH, QueueSolution, ResponseTime, ServiceTimes, Unstable, gigk, replay, whitt_factor
from mead.queueing.queues.mmk import mmk

VECTORS = vectors("drs.json")
ASSIGNED = [case for case in VECTORS["cases"] if "ET_i" in case.get("expected", {})]


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


@pytest.mark.parametrize("node", VECTORS["nodes"])
def test_nodes_of_the_drs_vectors(node: dict[str, float]) -> None:
    queue = (node["lam"], node["a"], 1 / node["mu"], node["s"], int(node["k"]))
    assert stable(gigk(*queue)).mean_s == pytest.approx(node["T_ggk_ac"], rel=1e-12)
    assert stable(gigk(*queue, refined=True)).mean_s == pytest.approx(node["T_ggk_whitt"], rel=1e-12)


@pytest.mark.parametrize("case", ASSIGNED, ids=lambda case: case["id"])
def test_every_operator_of_the_drs_allocations(case: dict[str, Any]) -> None:
    for i, (servers, response) in enumerate(zip(case["expected"]["k"], case["expected"]["ET_i"], strict=True)):
        rate, mean_service_s = case["lambda_i"][i], 1 / case["mu_i"][i]
        if case["model"] == "mmk":
            solution = mmk(rate, mean_service_s, servers)
        else:
            refined = case["model"] == "ggk_whitt"
            solution = gigk(rate, case["a_i"][i], mean_service_s, case["s_i"][i], servers, refined=refined)
        assert stable(solution).mean_s == pytest.approx(response, rel=1e-9)


@given(st.floats(0.01, 0.99), st.integers(1, 40))
def test_poisson_arrivals_and_exponential_service_are_mmk(utilization: float, servers: int) -> None:
    exact = stable(mmk(utilization * servers, 1.0, servers))
    for refined in (False, True):
        general = stable(gigk(utilization * servers, 1.0, 1.0, 1.0, servers, refined=refined))
        assert general.mean_s == pytest.approx(exact.mean_s, rel=1e-12)
        assert general.percentile_s(95) == pytest.approx(exact.percentile_s(95), rel=1e-9)


@given(st.floats(0.05, 0.98), st.floats(0, 9), st.floats(0, 9), st.integers(1, 40), st.booleans())
def test_one_more_server_never_slows_down(
    utilization: float,
    arrival_scv: float,
    service_scv: float,
    servers: int,
    refined: bool,  # noqa: FBT001
) -> None:
    rate = utilization * servers
    base = stable(gigk(rate, arrival_scv, 1.0, service_scv, servers, refined=refined))
    more = stable(gigk(rate, arrival_scv, 1.0, service_scv, servers + 1, refined=refined))
    assert 1.0 <= more.mean_s <= base.mean_s


def test_constant_arrivals_and_service_never_wait() -> None:
    assert stable(gigk(1.8, 0.0, 1.0, 0.0, 2)).mean_s == 1.0
    assert stable(gigk(1.8, 0.0, 1.0, 0.0, 2, refined=True)).mean_s == 1.0


def test_the_factor_is_continuous_where_its_two_forms_meet() -> None:
    below = whitt_factor(0.8, 2.0 - 1e-9, 2.0, 5)
    above = whitt_factor(0.8, 2.0 + 1e-9, 2.0, 5)
    assert below == pytest.approx(above, rel=1e-6)


@pytest.mark.parametrize(("arrival_scv", "service_scv"), [(0.25, 0.5), (1.0, 4.0), (2.0, 0.5)])
def test_simulated_queues_agree_within_the_stated_error(arrival_scv: float, service_scv: float) -> None:
    rng = np.random.default_rng(17)
    iats = PH.with_moments(1.0, arrival_scv).sample(200_000, rng)
    services = ServiceTimes.drawn(PH.with_moments(2.8, service_scv), iats.size, rng, sequences=2)
    simulated = stable(replay(iats, services, servers=4))
    for refined in (False, True):
        model = stable(gigk(1.0, arrival_scv, 2.8, service_scv, 4, refined=refined))
        assert model.mean_s == pytest.approx(simulated.mean_s, rel=0.08)
        assert model.percentile_s(95) == pytest.approx(simulated.percentile_s(95), rel=0.12)


def test_overload_is_a_value() -> None:
    assert gigk(8.0, 1.0, 1.0, 2.0, 4) == Unstable(2.0)
