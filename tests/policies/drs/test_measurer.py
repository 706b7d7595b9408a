from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.policies.drs.measurer import Measurer, recorded
from mead.policies.drs.smoothing import AlphaWeighted, MovingAverage
from mead.queueing import Edge, scv
from mead.simulator import Simulation
from mead.values import Allocation, Batches, Operator, Pipeline, Resources, SampledTimes
from mead.workload import Poisson, Trace

CHAIN = Pipeline(
    "chain",
    [
        Operator("first", 0.01, scv=0.25, shares=(0.5, 1.0), max_replicas=4),
        Operator("second", 0.004, scv=4.0, shares=(1.0,), max_replicas=4),
    ],
    [Edge("first", "second", 2.0)],
)
TWO = Allocation.of(first=Resources(1.0, 2), second=Resources(1.0, 2))


def poisson(seed: int = 1) -> Trace:
    return Poisson(rate_per_s=100.0, count=100_000).generate(np.random.default_rng(seed))


@given(st.lists(st.floats(0.001, 100.0), min_size=2, max_size=50))
def test_sums_are_enough_for_mean_and_scv(times_s: list[float]) -> None:
    found = recorded(np.array(times_s), every=1)
    assert found.mean_s == pytest.approx(np.mean(times_s))
    assert found.scv == pytest.approx(np.var(times_s) / np.mean(times_s) ** 2, abs=1e-9)


@given(st.lists(st.floats(0.001, 100.0), min_size=1, max_size=50), st.integers(1, 7))
def test_instances_add_up_to_an_operator(times_s: list[float], every: int) -> None:
    one, other = recorded(np.array(times_s), every), recorded(np.array(times_s[::-1]), every)
    both = one + other
    assert both.count == 2 * (len(times_s) // every)
    assert both.since(one).count == other.count
    assert both.since(one).sum_s == pytest.approx(other.sum_s, abs=1e-9)


def test_few_times_say_nothing() -> None:
    assert SampledTimes().mean_s is None
    assert SampledTimes(1, 2.0, 4.0).scv is None
    assert SampledTimes(5, 0.0, 0.0).scv is None


@pytest.mark.parametrize("every", [1, 20])
def test_a_simulation_records_one_in_every_so_many_tuples(every: int) -> None:
    trace = poisson()
    simulation = Simulation(CHAIN, trace, 1, allocation=TWO, recorded_every=every)
    simulation.drain()
    readings = simulation.observe().operators
    first, second = readings["first"], readings["second"]
    assert first.services.count == 100_000 // every
    assert abs(first.iats.count - 100_000 // every) <= 1
    assert first.iats.scv == pytest.approx(1.0, rel=0.05)  # Poisson
    assert first.services.mean_s == pytest.approx(0.01, rel=0.02)
    assert first.services.scv == pytest.approx(0.25, rel=0.05)
    assert second.services.scv == pytest.approx(4.0, rel=0.1)
    if every == 1:
        assert first.iats.scv == pytest.approx(scv(trace.iats_s), rel=1e-6)
        assert second.iats.scv is not None
        assert second.iats.scv > 2.5  # they come in pairs: every other gap is nothing


def test_what_a_lower_share_slows_is_measured_at_full_share() -> None:
    slow = Allocation.of(first=Resources(0.5, 4), second=Resources(1.0, 2))
    simulation = Simulation(CHAIN, poisson(), 1, allocation=slow)
    measured = Measurer(lambda: MovingAverage(1)).pull(simulation.observe(300.0), CHAIN)
    assert measured is not None
    assert measured.operators["first"].service_s == pytest.approx(0.01, rel=0.02)
    assert measured.external_per_s == pytest.approx(100.0, rel=0.02)
    assert measured.operators["second"].rate_per_s == pytest.approx(200.0, rel=0.02)


def test_without_single_tuples_demands_and_stamps_stand_in() -> None:
    batched = Simulation(CHAIN, poisson(), 1, allocation=TWO, recorded_every=10**9)
    observation = batched.observe(60.0)
    measured = Measurer(lambda: MovingAverage(1)).pull(observation, CHAIN)
    assert measured is not None
    first, second = measured.operators["first"], measured.operators["second"]
    assert (second.service_s, second.service_scv, second.arrival_scv) == (0.004, 4.0, 1.0)
    assert first.arrival_scv == pytest.approx(scv(observation.iats_s), rel=0.01)


def test_lumps_of_micro_batches_are_no_burstiness() -> None:
    """Poisson arrivals, which the first operator sends on in lumps of about fifty."""
    operators = [replace(operator, batches=Batches(0.2)) for operator in CHAIN.operators]
    batched = Pipeline("chain", operators, CHAIN.edges)
    observation = Simulation(batched, poisson(), 1, allocation=TWO).observe(60.0)
    lumps = observation.operators["second"].iats.scv
    assert lumps is not None
    assert lumps > 20
    measured = Measurer(lambda: MovingAverage(1)).pull(observation, batched)
    assert measured is not None
    assert measured.operators["second"].arrival_scv == 1.0
    assert measured.operators["first"].arrival_scv == pytest.approx(1.0, rel=0.1), "measured at the source"
    alone = Measurer(lambda: MovingAverage(1)).pull(
        Simulation(CHAIN, poisson(), 1, allocation=TWO).observe(60.0), CHAIN
    )
    assert alone is not None
    assert alone.operators["second"].arrival_scv > 2.0, "measured behind one that serves tuple by tuple"


def test_each_inter_arrival_time_at_the_source_counts_once() -> None:
    """A minute of even arrivals, a minute of bursts, a minute of silence. All of them are kept, as on Spark."""
    even_s, bursts_s = np.full(6000, 0.01), np.tile([0.001] * 9 + [0.091], 600)
    trace = Trace.from_iats_s(np.concatenate([even_s, bursts_s, [60.0], even_s]))
    simulation = Simulation(CHAIN, trace, 1, allocation=TWO, recorded_every=10**9)
    measurer = Measurer(lambda: MovingAverage(1))
    found = []
    for minute in (1, 2, 3):
        measured = measurer.pull(simulation.observe(60.0 * minute + 1e-3), CHAIN)
        assert measured is not None or minute == 3
        found.append(measurer._smoothed["first", "arrival_scv"].value)
    assert found[0] == pytest.approx(0.0, abs=0.01)
    assert found[1] == pytest.approx(scv(bursts_s), rel=0.05), "the even ones of before would make it a third of that"
    assert found[2] == found[1], "of a silence nothing is measured"


def test_measurements_are_means_over_the_window() -> None:
    simulation = Simulation(CHAIN, poisson(), 1, allocation=TWO)
    measurer, alone = Measurer(lambda: MovingAverage(3)), Measurer(lambda: MovingAverage(1))
    rates: list[float] = []
    smoothed: list[float] = []
    for minute in range(1, 6):
        observation = simulation.observe(60.0 * minute)
        for found, kept in ((measurer.pull(observation, CHAIN), smoothed), (alone.pull(observation, CHAIN), rates)):
            assert found is not None
            kept.append(found.external_per_s)
    assert smoothed == pytest.approx([np.mean(rates[max(0, n - 2) : n + 1]) for n in range(5)])


def test_responses_of_another_allocation_are_forgotten() -> None:
    simulation = Simulation(CHAIN, poisson(), 1, allocation=TWO)
    measurer, fresh = Measurer(lambda: MovingAverage(5)), Measurer(lambda: MovingAverage(5))
    measurer.pull(simulation.observe(60.0), CHAIN)
    measurer.forget_responses()
    observation = simulation.observe(120.0)
    found, alone = measurer.pull(observation, CHAIN), fresh.pull(observation, CHAIN)
    assert found is not None
    assert alone is not None
    assert found.response_s == alone.response_s
    assert found.external_per_s != alone.external_per_s


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), st.floats(0.0, 0.99), st.integers(1, 10))
def test_smoothing_stays_within_what_was_measured(values: list[float], alpha: float, size: int) -> None:
    for smoothing in (AlphaWeighted(alpha), MovingAverage(size)):
        for value in values:
            smoothing.add(value)
        assert smoothing.value is not None
        assert min(values) - 1e-6 <= smoothing.value <= max(values) + 1e-6


def test_nothing_measured_is_no_value() -> None:
    assert AlphaWeighted(0.5).value is None
    assert MovingAverage(3).value is None


def test_alpha_of_zero_and_a_window_of_one_smooth_nothing() -> None:
    for smoothing in (AlphaWeighted(0.0), MovingAverage(1)):
        smoothing.add(3.0)
        smoothing.add(7.0)
        assert smoothing.value == 7.0


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="alpha lies between"):
        AlphaWeighted(1.0)
    with pytest.raises(ValueError, match="at least one"):
        MovingAverage(0)


def test_the_response_time_is_that_of_everything_that_came_of_an_input() -> None:
    """Nine of ten inputs have no match and are done at once; the mean of the others would be that of all."""
    graph = Pipeline(
        "filter",
        [Operator(name, 0.01, scv=0.0, shares=(1.0,)) for name in ("first", "second")],
        [Edge("first", "second", 0.1)],
    )
    simulation = Simulation(graph, Trace.from_timestamps_s(np.arange(1000) * 1.0), 1)
    observation = simulation.observe(999.5)
    found = Measurer(lambda: MovingAverage(1)).pull(observation, graph)
    assert found is not None
    matched = observation.paths["first>second"].completed
    assert 50 < matched < 150
    assert found.response_s == pytest.approx(0.01 + 0.01 * matched / 1000)
    unknown = Measurer(lambda: MovingAverage(1)).pull(replace(observation, inputs=None), graph)
    assert unknown is not None
    assert unknown.response_s == pytest.approx(0.02), "without that, the mean of the tuples that left the path"
