"""The simulator against queues whose answer is known: exact formulas, replay, and Ciw."""

from __future__ import annotations

import numpy as np
import pytest
from tests.paths import DATA

from mead.arrays import FloatArray
from mead.queueing import (
    MAP,
    PH,
    BatchServer,
    Edge,
    QueueSolution,
    ReplayResponse,
    ResponseTime,
    ServiceTimes,
    Unstable,
    map_ph_1,
    replay,
    replay_batches,
)
from mead.queueing.queues.mmk import mmk
from mead.simulator import Simulation, demands_s
from mead.values import Allocation, Batches, Operator, Pipeline, Resources
from mead.workload import Trace, read_trace

BELLCORE = DATA / "bc-paug89.parquet"


def single(demand_s: float, scv: float, batches: Batches | None = None) -> Pipeline:
    return Pipeline("single", [Operator("a", demand_s, scv, batches=batches)])


def simulated_s(pipeline: Pipeline, trace: Trace, seed: int = 1, **resources: Resources) -> FloatArray:
    """Response times in the order of arrivals."""
    simulation = Simulation(pipeline, trace, seed, allocation=Allocation.of(resources) if resources else None)
    simulation.drain()
    responses = simulation.responses(pipeline.paths[0])
    return responses.response_s[np.argsort(responses.arrival_s, kind="stable")]


def poisson(rate_per_s: float, count: int, seed: int = 1) -> Trace:
    return Trace.from_iats_s(np.random.default_rng(seed).exponential(1 / rate_per_s, count))


def gaps_s(trace: Trace) -> FloatArray:
    """IATs as a window for replay, with the first arrival at 0."""
    return np.diff(trace.times_s, prepend=0.0)


def stable(solution: QueueSolution) -> ResponseTime:
    assert not isinstance(solution, Unstable)
    return solution


def replayed_s(solution: QueueSolution) -> FloatArray:
    assert isinstance(solution, ReplayResponse)
    return np.asarray(solution.response_s[0])


@pytest.mark.parametrize("servers", [1, 2, 5])
def test_the_same_demands_give_the_responses_of_replay(servers: int) -> None:
    trace = Trace.from_iats_s(MAP.two_state(10.0, 30.0).sample(50_000, np.random.default_rng(2)))
    pipeline = single(0.06 * servers, 0.5)
    services = ServiceTimes.observed(demands_s(pipeline, "a", len(trace), seed=7) / 0.8)
    found = simulated_s(pipeline, trace, seed=7, a=Resources(0.8, servers))
    np.testing.assert_allclose(found, replayed_s(replay(gaps_s(trace), services, servers=servers)), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("trigger_s", "max_tuples"), [(None, None), (0.1, None), (0.3, None), (2.0, None), (None, 20), (0.1, 20), (0.3, 50)]
)
def test_micro_batches_of_equal_demands_are_those_of_replay(trigger_s: float | None, max_tuples: int | None) -> None:
    trace = Trace.from_iats_s(MAP.two_state(100.0, 50.0).sample(50_000, np.random.default_rng(2)))
    pipeline = single(0.002, 0.0, Batches(0.05, trigger_s, max_tuples))
    server = BatchServer(0.05, 0.002, 0.7, trigger_s, max_tuples)
    found = simulated_s(pipeline, trace, a=Resources(0.7))
    np.testing.assert_allclose(found, replayed_s(replay_batches(gaps_s(trace), server)), rtol=0, atol=1e-8)


@pytest.mark.parametrize("scv", [0.25, 0.5, 1.0, 3.0])
def test_bursty_arrivals_meet_exact_map_ph_1(scv: float) -> None:
    arrivals = MAP.two_state(10.0, 8.0, ratio=2.0)
    solution = stable(map_ph_1(arrivals, PH.with_moments(0.07, scv)))
    trace = Trace.from_iats_s(arrivals.sample(1_000_000, np.random.default_rng(1)))
    found = simulated_s(single(0.07, scv), trace)
    assert found.mean() == pytest.approx(solution.mean_s, rel=0.04)
    assert np.percentile(found, 95) == pytest.approx(solution.percentile_s(95), rel=0.05)


@pytest.mark.parametrize("servers", [1, 3, 10])
def test_poisson_arrivals_meet_exact_mmk(servers: int) -> None:
    solution = stable(mmk(10.0, 0.08 * servers, servers))
    found = simulated_s(single(0.04 * servers, 1.0), poisson(10.0, 600_000), a=Resources(0.5, servers))
    assert found.mean() == pytest.approx(solution.mean_s, rel=0.03)
    assert np.percentile(found, 95) == pytest.approx(solution.percentile_s(95), rel=0.03)


def test_a_tandem_of_exponential_servers_meets_jackson() -> None:
    pipeline = Pipeline("tandem", [Operator("a", 0.05, 1.0), Operator("b", 0.07, 1.0)], [Edge("a", "b")])
    found = simulated_s(pipeline, poisson(10.0, 600_000))
    assert found.mean() == pytest.approx(1 / (20 - 10) + 1 / (1 / 0.07 - 10), rel=0.02)


def test_a_loop_of_exponential_servers_meets_jackson() -> None:
    operators = [Operator("a", 0.05, 1.0), Operator("b", 0.03, 1.0)]
    pipeline = Pipeline("loop", operators, [Edge("a", "b"), Edge("b", "a", 0.25)])
    found = simulated_s(pipeline, poisson(10.0, 600_000))
    visits = 1 / (1 - 0.25)
    expected = visits * (1 / (20 - 10 * visits) + 1 / (1 / 0.03 - 10 * visits))
    assert found.mean() == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("servers", [(1, 1), (2, 3)])
def test_ciw_finds_the_same_response_of_every_tuple(servers: tuple[int, int]) -> None:
    ciw = pytest.importorskip("ciw")
    trace = poisson(10.0, 1_500)
    demands = [0.08 * servers[0], 0.07 * servers[1]]
    pipeline = Pipeline("tandem", [Operator("a", demands[0]), Operator("b", demands[1])], [Edge("a", "b")])
    drawn = [demands_s(pipeline, name, len(trace), seed=9).tolist() for name in ("a", "b")]
    lead_s = 1.0  # Ciw's first arrival is one IAT after the start
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Sequential([lead_s, *np.diff(trace.times_s).tolist()]), None],
        service_distributions=[ciw.dists.Sequential(one) for one in drawn],
        number_of_servers=list(servers),
        routing=[[0.0, 1.0], [0.0, 0.0]],
    )
    oracle = ciw.Simulation(network)
    oracle.simulate_until_max_customers(len(trace), method="Finish")
    records = {(record.id_number, record.node): record for record in oracle.get_all_records()}
    whole = [n for n in range(1, len(trace) + 1) if (n, 2) in records]
    expected = [records[n, 2].exit_date - records[n, 1].arrival_date for n in whole]
    found = simulated_s(pipeline, trace, 9, a=Resources(1.0, servers[0]), b=Resources(1.0, servers[1]))
    assert len(whole) > 1_400
    np.testing.assert_allclose(found[np.array(whole) - 1], expected, rtol=0, atol=1e-8)


@pytest.mark.skipif(not BELLCORE.exists(), reason="the Bellcore trace is not in ../shared/data")
def test_static_shares_on_the_bellcore_trace_give_the_calibrated_responses() -> None:
    trace = read_trace(BELLCORE)
    half_hour = Trace.from_timestamps_us(trace.timestamps_us[trace.times_s < 1800.0])
    pipeline = single(0.0015, 0.5)
    # The calibration was one sequence of service times, which is noise of some per cent in the mean response.
    for share, expected_s in ((0.55, 9.4), (0.70, 0.280), (0.85, 0.052), (1.0, 0.012)):
        found = [simulated_s(pipeline, half_hour, seed, a=Resources(share)).mean() for seed in (1, 2, 3, 4)]
        assert np.mean(found) == pytest.approx(expected_s, rel=0.08)
