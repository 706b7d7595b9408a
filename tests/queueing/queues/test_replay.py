from __future__ import annotations

from math import ceil, floor, inf, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.queueing import (
    PH,
    BatchServer,
    QueueSolution,
    ReplayResponse,
    ServiceTimes,
    Unstable,
    replay,
    replay_at_utilizations,
    replay_batches,
)

# Quarters of a second, so that the naive servers below and the compiled ones agree to the last bit.
quarters = st.integers(0, 12).map(lambda n: n / 4)


def replayed(solution: QueueSolution) -> ReplayResponse:
    assert isinstance(solution, ReplayResponse)
    return solution


def naive_servers(iats: list[float], services: list[float], servers: int) -> list[float]:
    """First come first served by looking through all servers for each tuple."""
    free = [0.0] * servers
    now, responses = 0.0, []
    for iat, service in zip(iats, services, strict=True):
        now += iat
        chosen = min(range(servers), key=free.__getitem__)
        free[chosen] = max(now, free[chosen]) + service
        responses.append(free[chosen] - now)
    return responses


def naive_batches(iats: list[float], server: BatchServer) -> tuple[list[float], int]:
    """The micro-batch server as a walk from one possible start of a batch to the next."""
    waiting = list(np.cumsum(iats))
    responses, batches, now = [], 0, 0.0
    while waiting:
        ready = [t for t in waiting if t <= now][: server.max_batch]
        if ready:
            end = now + server.duration_s(len(ready))
            responses += [end - t for t in ready]
            waiting = waiting[len(ready) :]
            batches += 1
            now = max(end, (floor(now / server.trigger_s) + 1) * server.trigger_s) if server.trigger_s else end
        elif server.trigger_s:
            now = max(now, ceil(waiting[0] / server.trigger_s) * server.trigger_s)
        else:
            now = waiting[0]
    return responses, batches


@settings(deadline=None)
@given(st.lists(st.tuples(quarters, quarters), min_size=1, max_size=40), st.integers(1, 5))
def test_replay_equals_a_naive_server(tuples: list[tuple[float, float]], servers: int) -> None:
    iats, services = (list(column) for column in zip(*tuples, strict=True))
    if sum(iats) == 0 or sum(services) == 0:
        return
    solution = replay(np.array(iats), ServiceTimes(np.array([services]), 1.0), servers=servers)
    if len(iats) / sum(iats) >= servers:
        assert isinstance(solution, Unstable)
    else:
        assert replayed(solution).response_s[0].tolist() == naive_servers(iats, services, servers)


def test_replay_equals_the_running_minimum_form_of_lindley() -> None:
    rng = np.random.default_rng(5)
    iats = rng.gamma(0.3, 1 / 0.3, 20_000)
    services = ServiceTimes.drawn(PH.erlang(2, 0.8), iats.size, rng, sequences=3)
    solution = replayed(replay(iats, services))
    s = services.unit * 0.8
    backlog = np.concatenate([np.zeros((3, 1)), np.cumsum(s[:, :-1] - iats[1:], axis=1)], axis=1)
    expected = s + backlog - np.minimum.accumulate(backlog, axis=1)
    np.testing.assert_allclose(solution.response_s, expected, rtol=1e-9, atol=1e-9)
    assert solution.mean_s == pytest.approx(expected.mean())
    by_row = np.percentile(expected, [50, 95], axis=1, method="inverted_cdf").mean(axis=1)
    assert solution.percentiles_s([50, 95]) == pytest.approx(by_row.tolist())


def test_a_long_poisson_window_meets_the_mm1_formulas() -> None:
    rng = np.random.default_rng(11)
    iats = rng.exponential(1.0, 400_000)
    services = ServiceTimes.drawn(PH.exponential(1.0), iats.size, rng)
    half, more = replay_at_utilizations(iats, services, [0.5, 0.7])
    assert replayed(half).mean_s == pytest.approx(1.0, rel=0.01)
    assert replayed(half).percentile_s(95) == pytest.approx(log(20), rel=0.02)
    assert replayed(more).mean_s == pytest.approx(0.7 / 0.3, rel=0.02)


def test_utilization_is_what_was_asked_for_and_too_much_is_unstable() -> None:
    iats = np.array([1.0, 3.0, 2.0, 2.0])
    services = ServiceTimes.observed(np.array([4.0, 1.0, 1.0, 2.0]))
    solutions = replay_at_utilizations(iats, services, [0.25, 1.0, 1.5])
    assert [solution.utilization for solution in solutions] == pytest.approx([0.25, 1.0, 1.5])
    assert [isinstance(solution, Unstable) for solution in solutions] == [False, True, True]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(0.05, 0.9))
def test_more_servers_or_faster_ones_never_slow_a_window_down(seed: int, servers: int, speed: float) -> None:
    rng = np.random.default_rng(seed)
    iats = rng.exponential(1.0, 300) * rng.choice([0.1, 3.0], 300)
    services = ServiceTimes.drawn(PH.erlang(2, 0.9 / (iats.size / iats.sum())), 300, rng, sequences=2)
    base = replayed(replay(iats, services, servers=servers))
    wider = replayed(replay(iats, services, servers=servers + 1))
    faster = replayed(replay(iats, services.with_mean(services.mean_s * speed), servers=servers))
    assert (wider.response_s <= base.response_s + 1e-9).all()
    assert (faster.response_s <= base.response_s + 1e-9).all()


@settings(deadline=None)
@given(
    st.lists(quarters, min_size=1, max_size=40),
    st.sampled_from([0.0, 0.25, 1.5]),
    st.sampled_from([None, 0.5, 2.0]),
    st.sampled_from([None, 1, 3]),
)
def test_batches_equal_a_naive_batch_server(
    iats: list[float], overhead_s: float, trigger_s: float | None, max_batch: int | None
) -> None:
    if sum(iats) == 0:
        return
    server = BatchServer(overhead_s, demand_s=0.125, trigger_s=trigger_s, max_batch=max_batch)
    solution = replay_batches(np.array(iats), server)
    if server.utilization(len(iats) / sum(iats)) >= 1:
        assert isinstance(solution, Unstable)
    else:
        responses, batches = naive_batches(iats, server)
        assert replayed(solution).response_s[0].tolist() == responses
        assert replayed(solution).mean_batch == len(iats) / batches


def test_a_tick_in_time_holds_tuples_back_and_an_overrun_starts_the_next_batch_at_once() -> None:
    # Arrivals at 0.5, 1.5, 2.0; ticks at every second; batches of 1.25 s overrun them.
    server = BatchServer(overhead_s=1.0, demand_s=0.25, trigger_s=1.0)
    solution = replayed(replay_batches(np.array([0.5, 1.0, 0.5]), server))
    assert solution.response_s[0].tolist() == [2.25 - 0.5, 3.75 - 1.5, 3.75 - 2.0]


@pytest.mark.parametrize("trigger_s", [0.1, 0.3, 1 / 3, 0.7])
def test_rounding_never_moves_a_batch_to_the_tick_before(trigger_s: float) -> None:
    # One arrival in the middle of every interval, served at the tick that ends it.
    iats = np.full(5_000, trigger_s)
    iats[0] /= 2
    solution = replayed(replay_batches(iats, BatchServer(trigger_s / 8, trigger_s / 8, trigger_s=trigger_s)))
    np.testing.assert_allclose(solution.response_s, 0.75 * trigger_s, rtol=1e-6)


def test_steady_arrivals_settle_at_the_fixed_point_of_the_batch_length() -> None:
    # L = a + rate L d: with rate 100/s, d = 5 ms and a = 0.1 s the batch length tends to 0.2 s, 20 tuples each.
    solution = replayed(replay_batches(np.full(20_000, 0.01), BatchServer(overhead_s=0.1, demand_s=0.005)))
    assert solution.mean_batch == pytest.approx(20.0, rel=1e-2)
    # Half a batch on average until the next one starts, and then that one.
    assert solution.mean_s == pytest.approx(0.3, rel=3e-2)


@pytest.mark.parametrize("iats", [[], [0.0, 0.0], [1.0, -1.0, 2.0], [1.0, nan], [1.0, inf]])
def test_a_window_without_a_rate_is_refused(iats: list[float]) -> None:
    window: FloatArray = np.array(iats)
    with pytest.raises(ValueError, match="IATs"):
        replay(window, ServiceTimes.observed(np.ones(3)))
    with pytest.raises(ValueError, match="IATs"):
        replay_batches(window, BatchServer(0.1, 0.1))


def test_too_few_service_times_are_an_error_that_says_how_many() -> None:
    with pytest.raises(ValueError, match="3 arrivals but there are service times for 2"):
        replay(np.ones(3), ServiceTimes.observed(np.array([0.1, 0.2])))


@pytest.mark.parametrize("services", [[-1.0, 2.0], [0.0, 0.0], [nan, 1.0], [inf, 1.0]])
def test_impossible_service_times_are_refused(services: list[float]) -> None:
    with pytest.raises(ValueError, match="service times"):
        ServiceTimes.observed(np.array(services))


def test_no_server_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one server"):
        replay(np.ones(3), ServiceTimes.observed(np.ones(3)), servers=0)
