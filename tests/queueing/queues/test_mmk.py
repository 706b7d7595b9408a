from __future__ import annotations

from math import exp, expm1, factorial, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.paths import vectors

from mead.queueing import Unstable
from mead.queueing.queues.mmk import erlang_b, erlang_c, mmk
from mead.queueing.queues.wait_and_service import WaitAndService

NODES = vectors("drs.json")["nodes"]


def stable_mmk(rate_per_s: float, mean_service_s: float, servers: int) -> WaitAndService:
    solution = mmk(rate_per_s, mean_service_s, servers)
    assert isinstance(solution, WaitAndService)
    return solution


def late_fraction(t: float, rate: float, mu: float, servers: int) -> float:
    """Closed form of P(R > t), with the wait of rate ``k mu - lambda``."""
    theta = servers * mu - rate
    gap = abs(theta - mu)
    both = exp(-min(mu, theta) * t) * (-expm1(-gap * t) / gap if gap else t)
    return exp(-mu * t) + erlang_c(rate / mu, servers) * mu * both


@pytest.mark.parametrize("node", NODES)
def test_nodes_of_the_drs_vectors(node: dict[str, float]) -> None:
    solution = stable_mmk(node["lam"], 1 / node["mu"], int(node["k"]))
    assert erlang_b(node["lam"] / node["mu"], int(node["k"])) == pytest.approx(node["erlang_b"], rel=1e-12)
    assert solution.mean_wait_s == pytest.approx(node["wq_mmk"], rel=1e-12)
    assert solution.mean_s == pytest.approx(node["T_mmk"], rel=1e-12)


@pytest.mark.parametrize(("load", "servers"), [(0.1, 1), (2.5, 3), (9.0, 10), (19.99, 20)])
def test_erlang_b_is_the_factorial_form(load: float, servers: int) -> None:
    terms = [load**j / factorial(j) for j in range(servers + 1)]
    assert erlang_b(load, servers) == pytest.approx(terms[-1] / sum(terms), rel=1e-12)


# The second and third have k mu - lambda equal, and almost equal, to mu.
@pytest.mark.parametrize(
    ("rate", "mu", "servers"), [(0.9, 1.0, 1), (2.0, 1.0, 3), (2.0 + 1e-9, 1.0, 3), (40.0, 10.0, 5), (1.0, 0.01, 400)]
)
@pytest.mark.parametrize("percent", [1, 50, 95, 99.999])
def test_percentiles_solve_the_closed_form(rate: float, mu: float, servers: int, percent: float) -> None:
    t = stable_mmk(rate, 1 / mu, servers).percentile_s(percent)
    assert late_fraction(t, rate, mu, servers) == pytest.approx(1 - percent / 100, rel=1e-9)


def test_one_server_is_exponential() -> None:
    assert stable_mmk(0.75, 1.0, 1).percentiles_s([50, 99]) == pytest.approx([log(2) * 4, log(100) * 4], rel=1e-10)


def test_ten_thousand_servers_do_not_overflow() -> None:
    solution = stable_mmk(9_900.0, 1.0, 10_000)
    # Halfin and Whitt (1981): the probability to wait tends to 1 / (1 + b N(b) / n(b)) with b = (1 - rho) sqrt(k) = 1.
    assert solution.wait_probability == pytest.approx(1 / (1 + 0.841345 / 0.241971), rel=0.02)
    assert solution.percentile_s(95) == pytest.approx(log(20), rel=0.01)


@pytest.mark.parametrize("rate", [10.0, 12.0, 1e9])
def test_overload_is_a_value(rate: float) -> None:
    solution = mmk(rate, 0.2, 2)
    assert solution == Unstable(rate * 0.1)


def test_no_arrivals_meet_the_bare_service_time() -> None:
    idle = stable_mmk(0.0, 2.0, 3)
    assert (idle.utilization, idle.mean_s) == (0.0, 2.0)
    assert idle.percentile_s(95) == pytest.approx(2 * log(20))


@given(st.floats(0.01, 0.99), st.integers(1, 60), st.floats(1e-6, 1e6))
def test_one_more_server_never_slows_down_and_the_unit_of_time_does_not_matter(
    utilization: float, servers: int, unit: float
) -> None:
    base = stable_mmk(utilization * servers, 1.0, servers)
    more = stable_mmk(utilization * servers, 1.0, servers + 1)
    scaled = stable_mmk(utilization * servers / unit, unit, servers)
    assert more.mean_s <= base.mean_s
    assert more.percentile_s(95) <= base.percentile_s(95) * (1 + 1e-12)
    assert scaled.mean_s == pytest.approx(base.mean_s * unit, rel=1e-9)
    assert scaled.percentile_s(95) == pytest.approx(base.percentile_s(95) * unit, rel=1e-9)


def test_an_independent_simulation_agrees() -> None:
    import ciw

    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(2.4)],
        service_distributions=[ciw.dists.Exponential(1.0)],
        number_of_servers=[3],
    )
    ciw.seed(7)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(25_000)
    responses = np.array([r.exit_date - r.arrival_date for r in simulation.get_all_records()])[2_000:]
    solution = stable_mmk(2.4, 1.0, 3)
    assert solution.mean_s == pytest.approx(responses.mean(), rel=0.05)
    assert solution.percentile_s(95) == pytest.approx(np.quantile(responses, 0.95), rel=0.05)


@pytest.mark.parametrize(
    ("rate", "mean_service_s", "servers", "complaint"),
    [(-1.0, 1.0, 1, "rate >= 0"), (1.0, 0.0, 1, "service time > 0"), (1.0, 0.1, 0, "at least one server")],
)
def test_what_cannot_be_a_queue_is_refused(rate: float, mean_service_s: float, servers: int, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        mmk(rate, mean_service_s, servers)
