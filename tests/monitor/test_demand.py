from __future__ import annotations

import numpy as np
import pytest

from mead.monitor.demand import DemandEstimator


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


def test_it_is_the_slope_of_a_weighted_regression_that_distrusts_outliers() -> None:
    """Against least squares through the origin, written out and solved by NumPy."""
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
