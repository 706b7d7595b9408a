from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from experiments.pasps.metrics import Intervals, Metrics
from tests.paths import vectors

VECTORS = vectors("pasps.json")["metrics"]


def intervals(case: dict[str, Any]) -> Intervals:
    columns = {key: np.array(value, dtype=float) for key, value in case.items() if isinstance(value, list)}
    return Intervals(
        columns["input"],
        columns["output"],
        columns["latency_ms"] / 1000,
        columns["replicas_total"],
        columns["predicted_input"],
        columns["needed_replicas"],
        columns["predicted_replicas"],
    )


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["id"])
def test_metrics_of_the_vectors(case: dict[str, Any]) -> None:
    found, expected = Metrics.of(intervals(case), case["r_over"]), case["expected"]
    assert found.saved == pytest.approx(expected["saved_resources"], abs=1e-6)
    assert found.degradation == pytest.approx(expected["throughput_degradation"], abs=1e-6)
    assert found.processed == pytest.approx(expected["processed_ratio"], abs=1e-6)
    assert found.latency_ms == pytest.approx(expected["latency_ms"], abs=1e-6)
    assert found.input_error == pytest.approx(expected["error_input"], abs=1e-6)
    assert found.replica_error == pytest.approx(expected["error_replica"], abs=1e-6)


def test_intervals_without_arrivals_or_forecasts_are_left_out_of_the_errors() -> None:
    nothing, one = np.array([0.0, 100.0, 100.0]), np.array([10.0, np.nan, 90.0])
    run = Intervals(nothing, np.array([0.0, 90.0, 110.0]), np.array([np.nan, 1.0, 2.0]), np.full(3, 4.0), one)
    found = Metrics.of(run, 8)
    assert (found.degradation, found.input_error, found.replica_error) == pytest.approx((0.1, 0.1, None))
    assert found.latency_ms == pytest.approx(1000 * (90 + 220) / 200)


def test_tables_of_the_paper_count_saved_replicas_so() -> None:
    run = Intervals(np.ones(2), np.ones(2), np.ones(2), np.array([4.0, 4.0]))
    assert Metrics.of(run, 32).saved == 0.875  # Table 3, r = 1
