from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.monitor.overhead import KEPT, LEAST, OverheadEstimator


def fed(overheads_s: list[float], demand_s: float = 0.002) -> OverheadEstimator:
    estimator = OverheadEstimator(declared_s=0.1)
    for turn, overhead_s in enumerate(overheads_s):
        batches, work_s = 1 + turn % 4, demand_s * (100 + 37 * (turn % 11))
        estimator.add(batches, batches * overhead_s + work_s, work_s)
    return estimator


def test_the_declared_overhead_holds_until_enough_was_measured() -> None:
    assert fed([0.04] * (LEAST - 1)).overhead_s == 0.1
    assert fed([0.04] * LEAST).overhead_s == pytest.approx(0.04)


def test_micro_batches_that_take_longer_count_as_they_are() -> None:
    rng = np.random.default_rng(1)
    overheads_s = rng.uniform(0.02, 0.06, KEPT)
    batches = 1 + np.arange(KEPT) % 4
    expected_s = float(batches @ overheads_s / batches.sum())
    assert fed(overheads_s.tolist()).overhead_s == pytest.approx(expected_s)


def test_a_long_pause_counts_as_three_usual_micro_batches() -> None:
    assert fed([0.04] * (KEPT - 1) + [30.0]).overhead_s == pytest.approx(0.04, rel=0.1)


def test_a_machine_that_has_become_busy_is_followed() -> None:
    assert fed([0.04] * 200 + [0.09] * KEPT).overhead_s == pytest.approx(0.09)


def test_intervals_without_a_micro_batch_say_nothing() -> None:
    estimator = fed([0.04] * LEAST)
    for _ in range(KEPT):
        estimator.add(0, 0.0, 0.0)
    assert estimator.overhead_s == pytest.approx(0.04)


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 100), st.floats(0, 100)), max_size=100))
def test_an_overhead_is_never_negative(
    intervals: list[tuple[int, float, float]],
) -> None:
    estimator = OverheadEstimator(declared_s=0.1)
    for batches, serving_s, work_s in intervals:
        estimator.add(batches, serving_s, work_s)
    assert 0.0 <= estimator.overhead_s <= max(100.0, estimator.declared_s)
