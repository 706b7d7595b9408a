from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.paths import vectors

from mead.queueing import (
    MAP,
    PH,
    BatchServer,
    ReplayResponse,
    Unstable,
    map_ph_1,
    micro_batch,
    micro_batch_many,
    replay_batches,
)
from mead.queueing.queues.microbatch import MicroBatchResponse

CASES = {case["id"]: case for case in vectors("mapph1.json")["cases"]}
BELLCORE_8 = MAP(CASES[36]["D0"], CASES[36]["D1"]).with_rate(300.0)
CORRELATED_16 = MAP(CASES[28]["D0"], CASES[28]["D1"]).with_rate(300.0)


def solved(arrivals: MAP, server: BatchServer) -> MicroBatchResponse:
    solution = micro_batch(arrivals, server)
    assert isinstance(solution, MicroBatchResponse)
    return solution


def simulated(arrivals: MAP, server: BatchServer, *, count: int = 2_000_000, seed: int = 3) -> ReplayResponse:
    """A long stretch of arrivals through the replayed server, brought to the exact mean rate to save on length."""
    iats = arrivals.sample(count, np.random.default_rng(seed))
    solution = replay_batches(iats * (arrivals.mean_iat_s / iats.mean()), server)
    assert isinstance(solution, ReplayResponse)
    return solution


# -- exact results ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("utilization", [0.1, 0.6, 0.9, 0.97])
@pytest.mark.parametrize("overhead_s", [0.2, 5.0])
def test_poisson_arrivals_have_the_mean_of_the_branching_process(utilization: float, overhead_s: float) -> None:
    # A batch of length L brings Poisson(rate L) tuples; the moments of L follow, as long as no batch stays empty.
    rate, per_tuple = 300.0, utilization / 300.0
    mean = overhead_s / (1 - utilization)
    square = mean**2 + per_tuple**2 * rate * mean / (1 - utilization**2)
    response = square / mean * (0.5 + utilization) + overhead_s + per_tuple
    solution = solved(MAP.poisson(rate), BatchServer(overhead_s, per_tuple))
    assert solution.mean_s == pytest.approx(response, rel=1e-5)
    assert solution.mean_batch == pytest.approx(rate * mean, rel=1e-5)
    assert solution.busy_fraction == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("rate", [0.1, 2.0, 300.0])
def test_a_long_trigger_makes_every_cycle_the_same(rate: float) -> None:
    # Half an interval on average, then the own batch, in which 1 + rate * interval tuples are expected.
    solution = solved(MAP.poisson(rate), BatchServer(overhead_s=0.05, demand_s=0.0016, trigger_s=1.0, share=0.8))
    assert solution.mean_s == pytest.approx(0.5 + 0.05 + 0.002 * (1 + rate), rel=1e-6)


def test_a_lone_tuple_is_served_at_once() -> None:
    solution = solved(MAP.poisson(1e-6), BatchServer(overhead_s=0.5, demand_s=0.25))
    assert solution.mean_s == pytest.approx(0.75, rel=1e-5)
    assert solution.percentiles_s([1, 50, 99]) == pytest.approx([0.75] * 3, rel=1e-5)
    assert solution.mean_batch == pytest.approx(1.0)


@pytest.mark.parametrize("arrivals", [MAP.poisson(300.0), MAP.two_state(300.0, 50.0), BELLCORE_8])
def test_batches_of_one_are_a_queue_with_constant_service(arrivals: MAP) -> None:
    # Matrix-analytic truth: Erlang service of k phases, extrapolated to k = infinity (the error falls as 1/k).
    service_s = 0.7 / 300.0
    rough, fine = (map_ph_1(arrivals, PH.erlang(k, service_s)) for k in (12, 24))
    assert not isinstance(rough, Unstable)
    assert not isinstance(fine, Unstable)
    solution = solved(arrivals, BatchServer(0.0, service_s, max_batch=1))
    assert solution.mean_s == pytest.approx(2 * fine.mean_s - rough.mean_s, rel=0.005)
    assert solution.percentile_s(95) == pytest.approx(2 * fine.percentile_s(95) - rough.percentile_s(95), rel=0.06)


# -- against simulation -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arrivals", "server"),
    [
        (MAP.poisson(300.0), BatchServer(0.1, 0.9 / 300)),
        (MAP.poisson(300.0), BatchServer(0.0, 0.8 / 300)),
        (MAP.two_state(300.0, 10.0), BatchServer(0.05, 0.7 / 300)),
        (MAP.two_state(300.0, 100.0), BatchServer(0.1, 0.3 / 300)),
        (MAP.two_state(300.0, 100.0), BatchServer(0.01, 0.5 / 300)),
        (BELLCORE_8, BatchServer(0.1, 0.35 / 300, share=0.5)),
        (BELLCORE_8, BatchServer(0.0, 0.3 / 300)),
        (CORRELATED_16, BatchServer(0.1, 0.3 / 300)),
        (MAP.two_state(3.0, 20.0), BatchServer(0.1, 0.05)),
    ],
)
def test_bursty_arrivals_agree_with_simulation(arrivals: MAP, server: BatchServer) -> None:
    model, truth = solved(arrivals, server), simulated(arrivals, server)
    assert model.mean_s == pytest.approx(truth.mean_s, rel=0.02)
    assert model.mean_batch == pytest.approx(truth.mean_batch, rel=0.02)
    assert model.percentiles_s([50, 95]) == pytest.approx(truth.percentiles_s([50, 95]), rel=0.04)


@pytest.mark.parametrize("arrivals", [MAP.poisson(300.0), MAP.two_state(300.0, 20.0), BELLCORE_8])
@pytest.mark.parametrize(
    "server",
    [
        BatchServer(0.1, 0.5 / 300, trigger_s=0.2),
        BatchServer(0.1, 0.5 / 300, trigger_s=1.0),
        BatchServer(0.1, 0.5 / 300, max_batch=100),
        BatchServer(0.1, 0.5 / 300, max_batch=200, trigger_s=0.3),
        BatchServer(0.1, 0.4 / 300, max_batch=200, trigger_s=0.5),
    ],
)
def test_triggers_and_limits_agree_with_simulation(arrivals: MAP, server: BatchServer) -> None:
    model, truth = solved(arrivals, server), simulated(arrivals, server, count=1_000_000)
    # A trigger's ticks are simplified after a batch that ran over: up to 4 % in the mean.
    assert model.mean_s == pytest.approx(truth.mean_s, rel=0.05)
    assert model.percentiles_s([50, 95]) == pytest.approx(truth.percentiles_s([50, 95]), rel=0.06)


@pytest.mark.parametrize("max_batch", [None, 120])
def test_rare_clumps_far_larger_than_a_batch_agree_with_simulation(max_batch: int | None) -> None:
    # Two tuples per second; every 80 s on average 60 more at once, which is half a batch, and sometimes five batches.
    clumps = MAP([[-2.0125, 0.0125], [10.0, -610.0]], [[2.0, 0.0], [0.0, 600.0]])
    server = BatchServer(overhead_s=8.0, demand_s=0.09, max_batch=max_batch)
    model, truth = solved(clumps, server), simulated(clumps, server)
    assert model.mean_s == pytest.approx(truth.mean_s, rel=0.02)
    assert model.percentiles_s([25, 50]) == pytest.approx(truth.percentiles_s([25, 50]), rel=0.03)
    # Tuples of one clump arrive together, the model of a limited batch spreads them.
    assert model.percentile_s(95) == pytest.approx(truth.percentile_s(95), rel=0.05 if max_batch is None else 0.12)


# -- invariants -------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(st.floats(1.5, 300.0), st.floats(0.05, 0.9), st.sampled_from([0.0, 0.01, 0.3]), st.floats(0.3, 0.95))
def test_more_share_never_slows_down(idc: float, utilization: float, overhead_s: float, share: float) -> None:
    arrivals = MAP.two_state(100.0, idc, ratio=1.2)
    less, more = micro_batch_many(
        arrivals, [BatchServer(overhead_s, utilization * share / 100, share=s) for s in (share, 1.0)]
    )
    assert isinstance(less, MicroBatchResponse)
    assert isinstance(more, MicroBatchResponse)
    assert more.mean_s <= less.mean_s * (1 + 1e-4)
    assert more.percentile_s(95) <= less.percentile_s(95) * 1.05


@pytest.mark.parametrize("unit", [1e-6, 1e3])
@pytest.mark.parametrize("server", [BatchServer(0.1, 0.002), BatchServer(0.1, 0.001, trigger_s=0.3, max_batch=300)])
def test_the_unit_of_time_does_not_matter(server: BatchServer, unit: float) -> None:
    arrivals = MAP.two_state(300.0, 20.0)
    scaled = BatchServer(
        server.overhead_s * unit,
        server.demand_s * unit,
        trigger_s=server.trigger_s and server.trigger_s * unit,
        max_batch=server.max_batch,
    )
    base, other = solved(arrivals, server), solved(arrivals.scaled(1 / unit), scaled)
    assert other.mean_s == pytest.approx(base.mean_s * unit, rel=1e-6)
    assert other.percentile_s(95) == pytest.approx(base.percentile_s(95) * unit, rel=1e-4)


@pytest.mark.parametrize("server", [BatchServer(0.05, 0.002), BatchServer(0.05, 0.0015, max_batch=100)])
def test_the_distribution_has_the_mean_and_the_percentiles_it_claims(server: BatchServer) -> None:
    solution = solved(MAP.two_state(300.0, 30.0), server)
    for percent in (5.0, 50.0, 99.0):
        assert solution.late_fraction(solution.percentile_s(percent)) == pytest.approx(1 - percent / 100, abs=1e-3)
    times = np.concatenate([[0.0], np.geomspace(1e-4, 400.0, 4_000)])
    late = [solution.late_fraction(float(t)) for t in times]
    assert np.trapezoid(late, times) == pytest.approx(solution.mean_s, rel=0.02)


def test_percentiles_rise() -> None:
    solution = solved(BELLCORE_8, BatchServer(0.05, 0.7 / 300))
    percents = [1, 5, 25, 50, 75, 90, 95, 99, 99.9]
    assert sorted(times := solution.percentiles_s(percents)) == times


def test_a_limit_that_is_never_met_changes_nothing() -> None:
    unlimited = solved(BELLCORE_8, BatchServer(0.1, 0.5 / 300))
    for limit in (5_000, 10**9):
        limited = solved(BELLCORE_8, BatchServer(0.1, 0.5 / 300, max_batch=limit))
        assert limited.mean_s == pytest.approx(unlimited.mean_s, rel=1e-3)
        assert limited.percentile_s(95) == pytest.approx(unlimited.percentile_s(95), rel=0.02)


def test_many_servers_in_one_call_are_the_same_servers() -> None:
    servers = [BatchServer(0.1, 0.0015, share=share) for share in (0.4, 0.55, 0.7, 1.0)]
    together = micro_batch_many(BELLCORE_8, servers)
    assert isinstance(together[0], Unstable)
    for server, solution in zip(servers[1:], together[1:], strict=True):
        assert isinstance(solution, MicroBatchResponse)
        assert solution.mean_s == solved(BELLCORE_8, server).mean_s


def test_overload_is_a_value() -> None:
    assert micro_batch(MAP.poisson(256.0), BatchServer(0.1, 0.0078125)) == Unstable(2.0)
    # The overhead makes small batches too slow even though the tuples alone would fit.
    assert micro_batch(MAP.poisson(256.0), BatchServer(0.25, 0.0009765625, max_batch=64)) == Unstable(1.25)


@pytest.mark.parametrize("percent", [0.0, 100.0, -5.0])
def test_percentiles_outside_the_range_are_refused(percent: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        solved(MAP.poisson(1.0), BatchServer(0.1, 0.1)).percentile_s(percent)
