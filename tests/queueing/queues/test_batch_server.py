from __future__ import annotations

import pytest

from mead.queueing import BatchServer


def test_a_smaller_share_stretches_the_tuples_but_not_the_overhead() -> None:
    full = BatchServer(overhead_s=0.1, demand_s=0.002)
    half = BatchServer(overhead_s=0.1, demand_s=0.002, share=0.5)
    assert full.duration_s(50) == pytest.approx(0.2)
    assert half.duration_s(50) == pytest.approx(0.3)


def test_overhead_does_not_limit_the_throughput_of_unlimited_batches() -> None:
    assert BatchServer(overhead_s=100.0, demand_s=0.002).utilization(400.0) == pytest.approx(0.8)


def test_limited_batches_pay_the_overhead_or_wait_for_the_trigger() -> None:
    assert BatchServer(0.1, 0.001, max_batch=50).utilization(250.0) == pytest.approx(250.0 * 0.15 / 50)
    assert BatchServer(0.1, 0.001, max_batch=50, trigger_s=0.18).utilization(250.0) == pytest.approx(250.0 * 0.18 / 50)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"overhead_s": -1.0, "demand_s": 1.0}, "overhead_s >= 0"),
        ({"overhead_s": 0.0, "demand_s": 0.0}, "demand_s > 0"),
        ({"overhead_s": 0.0, "demand_s": 1.0, "share": 0.0}, "share > 0"),
        ({"overhead_s": float("nan"), "demand_s": 1.0}, "overhead_s >= 0"),
        ({"overhead_s": 0.0, "demand_s": 1.0, "trigger_s": 0.0}, "trigger interval"),
        ({"overhead_s": 0.0, "demand_s": 1.0, "max_batch": 0}, "at least one tuple"),
    ],
)
def test_an_impossible_server_is_refused(options: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        BatchServer(**options)  # type: ignore[arg-type]
