from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paths import vectors

from mead.arrays import FloatArray
from mead.queueing import MAP, PH, Unstable, map_ph_1, map_ph_1_at_utilizations
from mead.queueing.markov import stationary
from mead.queueing.queues.map_ph_1 import MapPh1Response, map_ph_1_many

VECTORS = vectors("mapph1.json")["cases"]


def solved(arrivals: MAP, service: PH) -> MapPh1Response:
    solution = map_ph_1(arrivals, service)
    assert isinstance(solution, MapPh1Response)
    return solution


@pytest.mark.parametrize("case", VECTORS, ids=lambda c: f"{c['arrival']}-{c['service']}-{c['utilisation']}")
def test_mean_and_percentiles_agree_with_the_vectors(case: dict[str, Any]) -> None:
    queue = solved(MAP(case["D0"], case["D1"]), PH(case["service_alpha"], case["service_T"]))
    expected = case["expected"]
    assert queue.utilization == pytest.approx(case["utilisation"], rel=1e-6)
    assert queue.mean_s == pytest.approx(expected["mean_response_time"], rel=1e-9)
    assert queue.percentiles_s([50, 95, 99]) == pytest.approx([expected[p] for p in ("p50", "p95", "p99")], rel=1e-9)


@pytest.mark.parametrize("case", [c for c in VECTORS if c.get("simulate")], ids=lambda c: c["arrival"])
def test_the_simulations_among_the_vectors_agree_too(case: dict[str, Any]) -> None:
    queue = solved(MAP(case["D0"], case["D1"]), PH(case["service_alpha"], case["service_T"]))
    simulated = case["simulation"]["mean_response_time"]
    # Three half-widths of the 95 % interval: one case in a billion would miss by chance.
    assert abs(queue.mean_s - simulated["value"]) < 3 * simulated["ci95_half"]


@pytest.mark.parametrize("rho", [0.1, 0.9, 0.999])
def test_deep_percentiles_of_m_m_1_follow_its_exponential(rho: float) -> None:
    queue = solved(MAP.poisson(rho), PH.exponential(1.0))
    for percent in (1.0, 50.0, 99.9, 99.9999, 99.9999999):
        exact = -np.log(1.0 - percent / 100.0) / (1.0 - rho)
        assert queue.percentile_s(percent) == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize("rho", [0.2, 0.9, 0.99, 0.9999])
def test_m_erlang_1_has_the_mean_of_pollaczek_and_khinchine(rho: float) -> None:
    queue = solved(MAP.poisson(rho), PH.erlang(2, 1.0))
    assert queue.mean_s == pytest.approx(1.0 + 0.75 * rho / (1.0 - rho), rel=1e-6)


def test_percentile_and_late_fraction_are_inverse() -> None:
    queue = solved(MAP.two_state(0.6, idc=80.0), PH.erlang(3, 1.0))
    for percent in (5.0, 50.0, 99.0, 99.99):
        assert queue.late_fraction(queue.percentile_s(percent)) == pytest.approx(1 - percent / 100, rel=1e-8)


@pytest.mark.parametrize("utilization", [1.0, 1.0 + 1e-12, 1.05, 40.0])
def test_an_overloaded_queue_is_a_value_of_its_own(utilization: float) -> None:
    solution = map_ph_1(MAP.two_state(utilization, idc=20.0), PH.erlang(2, 1.0))
    assert isinstance(solution, Unstable)
    assert solution.utilization == pytest.approx(utilization)


def test_stable_and_unstable_queues_share_one_call() -> None:
    arrivals = MAP.two_state(1.0, idc=20.0)
    alone = solved(arrivals, PH.erlang(2, 0.5))
    stable, unstable = map_ph_1_many([(arrivals, PH.erlang(2, 0.5)), (arrivals, PH.erlang(2, 2.0))])
    assert isinstance(stable, MapPh1Response)
    assert stable.mean_s == pytest.approx(alone.mean_s, rel=1e-12)
    assert isinstance(unstable, Unstable)


def test_percentiles_of_many_queues_at_once_are_those_of_each() -> None:
    arrivals, service = MAP.two_state(1.0, idc=20.0), PH.erlang(2, 1.0)
    together = map_ph_1_at_utilizations(arrivals, service, (0.3, 1.2, 0.9), percents=(50, 99))
    alone = map_ph_1_at_utilizations(arrivals, service, (0.3, 1.2, 0.9))
    for a, b in ((together[0], alone[0]), (together[2], alone[2])):
        assert isinstance(a, MapPh1Response)
        assert isinstance(b, MapPh1Response)
        assert [a.percentile_s(50), a.percentile_s(99)] == pytest.approx(b.percentiles_s([50, 99]), rel=1e-10)
    assert isinstance(together[1], Unstable)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e9])
def test_the_unit_of_time_does_not_matter(unit: float) -> None:
    arrivals, service = MAP.two_state(0.7, idc=100.0), PH.erlang(2, 1.0)
    reference, scaled = solved(arrivals, service), solved(arrivals.scaled(1 / unit), service.scaled(unit))
    assert scaled.mean_s == pytest.approx(reference.mean_s * unit, rel=1e-10)
    assert scaled.percentile_s(99) == pytest.approx(reference.percentile_s(99) * unit, rel=1e-10)


@pytest.mark.parametrize("slow", [1e-4, 1e-6, 1e-8])
def test_very_slow_modulation_splits_into_the_queues_of_its_states(slow: float) -> None:
    """Neither state overloads the server, so the mean tends to that of two M/M/1 queues, weighted by their arrivals."""
    rates = np.array([0.8, 0.2])
    arrivals = MAP(np.diag(-rates - slow) + slow * (1 - np.eye(2)), np.diag(rates))
    separate = (rates / (1 - rates)).sum() / rates.sum()
    assert solved(arrivals, PH.exponential(1.0)).mean_s == pytest.approx(separate, rel=100 * slow + 1e-6)


def test_states_that_no_arrival_leaves_behind_change_nothing() -> None:
    """A Coxian stage is such a state; the same renewal process written with both stages as targets is the check."""
    iat = PH.erlang(2, 1.0)
    one_target = MAP(iat.T, np.outer(iat.exit_rates, iat.alpha))
    cyclic = PH.with_moments(1.0, 0.5)
    both = MAP(cyclic.T, np.outer(cyclic.exit_rates, cyclic.alpha))
    service = PH.erlang(2, 0.8)
    assert solved(one_target, service).mean_s == pytest.approx(solved(both, service).mean_s, rel=1e-12)


def queue_length_tail(arrivals: MAP, service: PH, longest: int) -> FloatArray:
    """``P(N > k)`` for k = 0 .. longest, tuples waiting or in service at an arbitrary time.

    The queue length and phases are a quasi-birth-death process with ``pi_{k+1} = pi_k R`` (Neuts 1981, ch. 3). It is
    solved without the age process, so that it checks its mean.
    """
    first, rate_matrix = quasi_birth_death(arrivals, service)
    beyond = np.linalg.solve(np.eye(rate_matrix.shape[0]) - rate_matrix, np.ones(rate_matrix.shape[0]))
    tail = np.empty(longest + 1)
    for k in range(longest + 1):
        tail[k] = first @ beyond
        first = first @ rate_matrix
    return tail


def quasi_birth_death(arrivals: MAP, service: PH) -> tuple[FloatArray, FloatArray]:
    """``(pi_1, R)`` of the process (queue length, arrival phase, service phase).

    R by logarithmic reduction (Latouche and Ramaswami 1993).
    """
    n, m = arrivals.states, service.phases
    up = np.kron(arrivals.D1, np.eye(m))
    local = np.kron(arrivals.D0, np.eye(m)) + np.kron(np.eye(n), service.T)
    down = np.kron(np.eye(n), np.outer(service.exit_rates, service.alpha))
    high, low = np.linalg.solve(-local, up), np.linalg.solve(-local, down)
    G, ahead = low.copy(), high.copy()
    while np.abs(1.0 - G.sum(axis=1)).max() > 1e-13 and np.abs(ahead).max() > 1e-15:
        inner = np.eye(n * m) - high @ low - low @ high
        high, low = np.linalg.solve(inner, high @ high), np.linalg.solve(inner, low @ low)
        G = G + ahead @ low
        ahead = ahead @ high
    R = up @ np.linalg.inv(-(local + up @ G))
    # Level 0 has no service phase: pi_0 D0 + pi_1 (I x s) = 0 and pi_0 (D1 x alpha) + pi_1 (local + R down) = 0.
    empty = -np.kron(arrivals.D1, service.alpha[None, :]) @ np.linalg.inv(local + R @ down)
    leave = np.kron(np.eye(n), service.exit_rates[:, None])
    pi_0 = stationary(arrivals.D0 + empty @ leave)
    pi_1 = pi_0 @ empty
    total = pi_0.sum() + pi_1 @ np.linalg.solve(np.eye(n * m) - R, np.ones(n * m))
    return np.asarray(pi_1 / total), np.asarray(R)


def test_the_check_by_queue_lengths_is_geometric_for_m_m_1() -> None:
    tail = queue_length_tail(MAP.poisson(0.8), PH.exponential(1.0), 40)
    np.testing.assert_allclose(tail, 0.8 ** np.arange(1, 42), rtol=1e-10)


def test_the_mean_agrees_with_queue_lengths_by_littles_law() -> None:
    arrivals, service = MAP.two_state(0.7, idc=30.0), PH.erlang(2, 1.0)
    tail = queue_length_tail(arrivals, service, 30_000)
    assert tail[0] == pytest.approx(0.7, rel=1e-9)
    assert tail.sum() == pytest.approx(arrivals.rate_per_s * solved(arrivals, service).mean_s, rel=1e-8)


@settings(max_examples=50, deadline=None)
@given(
    idc=st.floats(6.0, 500.0),
    phases=st.integers(1, 4),
    utilizations=st.lists(st.floats(0.05, 0.97), min_size=2, max_size=6, unique=True),
)
def test_a_faster_server_never_answers_later(idc: float, phases: int, utilizations: list[float]) -> None:
    queues = map_ph_1_at_utilizations(MAP.two_state(1.0, idc=idc), PH.erlang(phases, 1.0), sorted(utilizations))
    means = [q.mean_s for q in queues if isinstance(q, MapPh1Response)]
    tails = [q.percentile_s(95) for q in queues if isinstance(q, MapPh1Response)]
    assert len(means) == len(utilizations)
    assert means == sorted(means)
    assert tails == sorted(tails)


@pytest.mark.parametrize("percent", [0.0, 100.0, -1.0, 101.0, float("nan")])
def test_percentiles_that_do_not_exist_are_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 100"):
        solved(MAP.poisson(0.5), PH.exponential(1.0)).percentile_s(percent)


@pytest.mark.parametrize("idle", [1e-2, 1e-3, 1e-4, 2e-5])
def test_close_to_saturation_the_mean_is_still_that_of_pollaczek_and_khinchine(idle: float) -> None:
    queue = solved(MAP.poisson(1 - idle), PH.erlang(2, 1.0))
    assert queue.mean_s == pytest.approx(1.0 + 0.75 * (1 - idle) / idle, rel=1e-5)


@pytest.mark.parametrize("idle", [1e-6, 1e-8, 1e-10, 1e-14, 0.0])
def test_what_rounding_would_decide_is_overload(idle: float) -> None:
    assert isinstance(map_ph_1(MAP.two_state(1 - idle, idc=50.0), PH.erlang(2, 1.0)), Unstable)
