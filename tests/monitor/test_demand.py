from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.arrays import FloatArray
from mead.monitor.demand import DemandEstimator
from mead.queueing import MAP
from mead.simulator import Simulation
from mead.values import Batches, Operator, Pipeline
from mead.workload import Trace


def fed(demands_s: list[float], *, spoil: float = 0.0, seed: int = 1) -> DemandEstimator:
    """An estimator after ten-second intervals of 1,000 to 5,000 tuples, a share of them with wild readings."""
    rng = np.random.default_rng(seed)
    estimator = DemandEstimator(declared_s=0.01)
    for turn, demand_s in enumerate(demands_s):
        tuples = int(rng.integers(1000, 5000))
        busy_s = demand_s * rng.gamma(2.0 * tuples, 0.5)
        estimator.add(10.0 * turn, tuples, busy_s * (20.0 if rng.random() < spoil else 1.0))
    return estimator


def test_the_declared_demand_holds_until_something_was_measured() -> None:
    assert DemandEstimator(0.01).demand_s == 0.01


def test_the_demand_is_found() -> None:
    assert fed([0.0015] * 30).demand_s == pytest.approx(0.0015, rel=0.01)


def test_wild_readings_hardly_matter() -> None:
    assert fed([0.0015] * 60, spoil=0.1).demand_s == pytest.approx(0.0015, rel=0.05)


def test_a_drift_is_followed() -> None:
    assert fed([0.001] * 60 + [0.002] * 60).demand_s == pytest.approx(0.002, rel=0.05)


@pytest.mark.parametrize(("completed", "busy_s"), [(0, 1.0), (1000, 0.0), (1000, -1.0), (1000, float("nan")), (5, 1.0)])
def test_readings_that_cannot_be_used_change_nothing(completed: int, busy_s: float) -> None:
    estimator = fed([0.0015] * 10)
    before = estimator.demand_s
    estimator.add(1000.0, completed, busy_s)
    assert estimator.demand_s == before


def test_without_a_line_it_is_a_regression_through_the_origin_that_distrusts_outliers() -> None:
    """Busy times that have nothing to do with tuples; against least squares written out and solved by NumPy."""
    rng = np.random.default_rng(9)
    estimator = DemandEstimator(declared_s=0.01)
    readings = [(10.0 * turn, int(rng.integers(30, 5000)), float(rng.gamma(2.0))) for turn in range(300)]
    for reading in readings:
        estimator.add(*reading)
    time_s, tuples, busy_s = np.array(readings[-240:]).T
    demand_s = np.median(busy_s / tuples)
    for _ in range(3):
        residual = np.abs(busy_s - demand_s * tuples) / np.sqrt(tuples)
        trust = np.minimum(1.0, 2.0 * 1.4826 * np.median(residual) / residual)
        weight = np.sqrt(0.5 ** ((time_s[-1] - time_s) / 120.0) / tuples * trust)
        demand_s = np.linalg.lstsq((weight * tuples)[:, None], weight * busy_s, rcond=None)[0][0]
    assert estimator.demand_s == pytest.approx(demand_s, rel=1e-9)


# -- what an interval costs without tuples ----------------------------------------------------------------------------


def after(readings: Iterable[tuple[int, float]]) -> float:
    """The demand that is learned from a reading per second."""
    estimator = DemandEstimator(declared_s=0.01)
    for second, (tuples, busy_s) in enumerate(readings):
        estimator.add(float(second), tuples, busy_s)
    return estimator.demand_s


def served(counts: Iterable[float], demand_s: float = 0.0015, *, idle_s: float = 0.0) -> list[tuple[int, float]]:
    """As many tuples as arrive, of Erlang-2 demand, and what the operator burns besides."""
    rng = np.random.default_rng(2)
    return [(int(n), idle_s + demand_s * rng.gamma(2.0 * int(n), 0.5)) for n in counts]


def changing_rates(seconds: int = 300) -> FloatArray:
    """Four rates, each for ten seconds on end."""
    rng = np.random.default_rng(3)
    return rng.poisson(np.repeat(rng.choice([80, 200, 330, 600], seconds // 10), 10)).astype(float)


def test_what_an_interval_costs_without_tuples_is_not_their_demand() -> None:
    assert after((n, 0.05 + 0.001 * n) for n in range(100, 400, 10)) == pytest.approx(0.001, rel=1e-6)


def test_an_intercept_is_found_in_noise() -> None:
    readings = served(changing_rates(), idle_s=0.05)
    quotient_s = sum(busy_s for _, busy_s in readings) / sum(n for n, _ in readings)
    assert quotient_s > 1.1 * 0.0015
    assert 0.0015 * 0.99 < after(readings) < 0.0015 * 1.05


def test_an_intercept_is_found_among_wild_readings() -> None:
    readings = [
        (n, b * (20.0 if i % 10 == 5 else 1.0)) for i, (n, b) in enumerate(served(changing_rates(), idle_s=0.05))
    ]
    assert 0.0015 * 0.98 < after(readings) < 0.0015 * 1.07


def test_the_same_count_every_time_falls_back_to_the_quotient() -> None:
    readings = served([330] * 100, idle_s=0.05)
    assert after(readings) == pytest.approx(0.0015 + 0.05 / 330, rel=0.02)
    assert after([(330, 0.5)] * 100) == pytest.approx(0.5 / 330, rel=1e-12)


def test_no_intercept_is_seen_where_there_is_none() -> None:
    assert after(served(changing_rates())) == pytest.approx(0.0015, rel=0.02)


@pytest.mark.parametrize("levels", [[0.55], [0.55, 0.7], [0.4, 0.55, 0.7, 0.85, 1.0]])
def test_an_operator_that_is_always_busy_is_no_idle_one(levels: list[float]) -> None:
    """Busy for all of its share, whatever the number of tuples: busy time on tuples would be too flat a line."""
    rng = np.random.default_rng(4)
    shares = np.repeat(rng.choice(levels, 60), 5)
    readings = [(int(rng.normal(share / 0.0015, np.sqrt(0.5 * share / 0.0015))), float(share)) for share in shares]
    assert after(readings) == pytest.approx(0.0015, rel=0.02)


def test_what_was_seen_before_a_silence_of_days_is_forgotten() -> None:
    estimator = DemandEstimator(declared_s=0.01)
    for second, (tuples, busy_s) in enumerate(served(changing_rates(), 0.001) + served(changing_rates(40), 0.002)):
        estimator.add(second + (0.0 if second < 300 else 1e6), tuples, busy_s)
    assert estimator.demand_s == pytest.approx(0.002, rel=0.05)


def test_a_drift_is_followed_beside_an_intercept() -> None:
    rates = changing_rates(1200)
    readings = served(rates[:600], 0.001, idle_s=0.05) + served(rates[600:], 0.002, idle_s=0.05)
    assert after(readings) == pytest.approx(0.002, rel=0.05)


def test_a_demand_that_rises_while_the_rate_falls_is_never_taken_for_half_of_what_is_burnt() -> None:
    """No line can tell that from an intercept; for a while the answer is too low, but by so much at most."""
    learned_s = after(served([500] * 200, 0.001) + served([300] * 60, 0.0015))
    assert 0.5 * 0.001 < learned_s < 0.0015
    assert after(served([500] * 200, 0.001) + served([300] * 240, 0.0015)) == pytest.approx(0.0015, rel=0.02)


@given(
    idle_s=st.floats(0.0, 1.0),
    demand_s=st.floats(1e-5, 1e-2),
    counts=st.lists(st.integers(30, 100_000), min_size=3, max_size=40),
)
def test_it_lies_between_half_of_the_quotient_and_all_of_it(idle_s: float, demand_s: float, counts: list[int]) -> None:
    quotients_s = [idle_s / n + demand_s for n in counts]
    learned_s = after((n, idle_s + demand_s * n) for n in counts)
    assert 0.5 * min(quotients_s) * (1 - 1e-9) <= learned_s <= max(quotients_s) * (1 + 1e-9)


# -- intervals with few tuples ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("trigger_s", [None, 0.7, 3.0])
def test_micro_batches_may_be_longer_than_intervals(trigger_s: float | None) -> None:
    """A batch burns CPU in intervals in which nothing is completed."""
    operator = Operator("matcher", demand_s=0.0015, batches=Batches(overhead_s=0.3, trigger_s=trigger_s))
    arrivals = MAP.two_state(330.0, idc=100.0).sample(330 * 200, np.random.default_rng(1))
    simulation = Simulation(Pipeline("one", [operator]), Trace.from_iats_s(arrivals), seed=1)
    readings = [simulation.observe(float(second)).operators["matcher"] for second in range(1, 190)]
    assert after((reading.completed, reading.busy_s) for reading in readings) == pytest.approx(0.0015, rel=0.04)


def test_rare_tuples_are_added_up() -> None:
    assert after(served(np.random.default_rng(5).poisson(np.full(300, 8.0)))) == pytest.approx(0.0015, rel=0.05)


def test_what_is_burnt_in_a_long_silence_is_not_the_demand_of_the_next_tuples() -> None:
    busy, silent = served([330] * 20), [(0, 0.01)] * 600
    assert after(busy + silent + busy[:1]) == pytest.approx(after(busy), rel=0.05)
