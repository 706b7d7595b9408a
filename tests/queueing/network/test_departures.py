from __future__ import annotations

import numpy as np
import pytest

from mead.queueing import MAP, PH, Unstable, map_ph_1
from mead.queueing.network.departures import Departures, departures, phase_groups
from mead.queueing.network.levels import depths_of, levels_of

BURSTY = MAP.two_state(1.0, idc=100.0)
SERVICES = [PH.exponential(0.8), PH.erlang(2, 0.8), PH.with_moments(0.8, 4.0)]
ARRIVALS = [MAP.poisson(1.0), BURSTY, MAP.two_state(1.0, idc=6.0), MAP([[-2.0, 2.0], [0.0, -2.0]], [[0, 0], [2, 0]])]


def stream(arrivals: MAP, service: PH) -> MAP:
    left = departures(arrivals, service, phase_groups(arrivals))
    return MAP(left.D0, left.D1)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("service", SERVICES)
def test_depths_hold_all_of_the_queue(arrivals: MAP, service: PH) -> None:
    levels = levels_of(arrivals, service)
    depths = depths_of(levels)
    assert levels.empty.sum() == pytest.approx(1 - 0.8, rel=1e-9)
    busy = np.array([depth.mass for depth in depths])
    assert busy.sum() == pytest.approx(0.8, rel=1e-9)
    assert busy.min() > -1e-12
    for depth in depths:
        assert (depth.falling <= depth.mass + 1e-12).all()
        assert (depth.rising <= depth.mass + 1e-12).all()


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("service", SERVICES)
def test_the_queue_length_obeys_littles_law(arrivals: MAP, service: PH) -> None:
    levels = levels_of(arrivals, service)
    beyond = np.linalg.inv(np.eye(levels.first.size) - levels.rise)
    solution = map_ph_1(arrivals, service)
    assert not isinstance(solution, Unstable)
    assert (levels.first @ beyond @ beyond).sum() == pytest.approx(arrivals.rate_per_s * solution.mean_s, rel=1e-8)


@pytest.mark.parametrize("arrivals", ARRIVALS)
@pytest.mark.parametrize("service", SERVICES)
def test_as_many_leave_as_arrive(arrivals: MAP, service: PH) -> None:
    assert stream(arrivals, service).rate_per_s == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_behind_poisson_arrivals_the_variability_is_that_of_m_g_1(service: PH, load: float) -> None:
    """A departure leaves the server idle with probability 1 - rho: ``cd^2 = 1 - rho^2 + rho^2 cs^2``, exactly."""
    service = service.scaled(load / service.mean_s)
    assert stream(MAP.poisson(1.0), service).scv == pytest.approx(1 - load**2 + load**2 * service.scv, rel=1e-9)


def test_variability_and_dispersion_are_those_of_simulated_departures() -> None:
    rng = np.random.default_rng(7)
    arrival_s = np.cumsum(BURSTY.sample(2_000_000, rng))
    service_s = PH.erlang(2, 0.5).sample(arrival_s.size, rng)
    done = np.cumsum(service_s)
    departure_s = done + np.maximum.accumulate(arrival_s - (done - service_s))
    iats = np.diff(departure_s)
    modelled = stream(BURSTY, PH.erlang(2, 0.5))
    assert modelled.scv == pytest.approx(iats.var() / iats.mean() ** 2, rel=0.03)
    for span_s in (5.0, 20.0):
        counts = np.histogram(departure_s, np.arange(departure_s[0], departure_s[-1], span_s))[0]
        assert modelled.idc(span_s)[0] == pytest.approx(counts.var() / counts.mean(), rel=0.05)


def test_a_busy_server_paces_what_it_lets_through() -> None:
    """Four times the mean rate comes in; no more than the server's own rate goes out, from no state."""
    service = PH.exponential(0.9)
    left = departures(BURSTY, service, phase_groups(BURSTY))
    assert left.D1.sum(axis=1).max() == pytest.approx(1 / 0.9)
    assert BURSTY.D1.sum(axis=1).max() == pytest.approx(4.0)


def test_deeper_queues_are_further_from_empty() -> None:
    left = departures(BURSTY, PH.erlang(2, 0.9), phase_groups(BURSTY))
    assert sorted(set(left.depth.tolist())) == list(range(left.depth.max() + 1))
    assert left.depth.max() >= 4
    generator = left.D0 + left.D1
    for depth in range(left.depth.max() + 1):
        for further in range(depth + 2, left.depth.max() + 1):
            assert not generator[np.ix_(left.depth == depth, left.depth == further)].any()
            assert not generator[np.ix_(left.depth == further, left.depth == depth)].any()


def test_phases_are_told_apart_by_the_arrivals_ahead() -> None:
    """Two fast and two slow phases, of which the slow switch among each other at once: the split is fast or slow."""
    rates = np.array([5.0, 4.0, 0.1, 0.2])
    switch = np.array([[0, 0.5, 0.01, 0], [0.5, 0, 0, 0.01], [0.01, 0, 0, 9.0], [0, 0.01, 9.0, 0]])
    arrivals = MAP(switch - np.diag(switch.sum(axis=1) + rates), np.diag(rates))
    assert phase_groups(arrivals).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("rate_per_s", [9.0, 0.01])
def test_phases_without_mass_do_not_disturb(rate_per_s: float) -> None:
    """A phase that is entered once in the age of the world; the others are told apart whatever its rate."""
    rates = np.array([rate_per_s, 5.0, 0.1])
    switch = np.array([[0, 1e-3, 1e-3], [1e-300, 0, 0.01], [1e-300, 0.01, 0]])
    arrivals = MAP(switch - np.diag(switch.sum(axis=1) + rates), np.diag(rates))
    with np.errstate(divide="raise", invalid="raise"):
        groups = phase_groups(arrivals)
        left = departures(arrivals, PH.exponential(0.01), groups)
    assert groups[1:].tolist() == [1, 0]
    assert MAP(left.D0, left.D1).rate_per_s == pytest.approx(arrivals.rate_per_s)


def test_a_saturated_server_sends_one_service_after_the_other() -> None:
    service = PH.erlang(3, 2.0)
    left = Departures.saturated(service)
    renewal = MAP(left.D0, left.D1)
    assert renewal.rate_per_s == pytest.approx(0.5)
    assert renewal.scv == pytest.approx(1 / 3)
    assert renewal.acf([1])[0] == pytest.approx(0.0, abs=1e-12)


def test_thinning_keeps_a_fraction() -> None:
    left = departures(BURSTY, PH.erlang(2, 0.5), phase_groups(BURSTY)).thinned(0.25)
    assert MAP(left.D0, left.D1).rate_per_s == pytest.approx(0.25)
