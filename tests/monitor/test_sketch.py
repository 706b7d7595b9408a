from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.monitor import LEAST_S, ResponseSketch
from mead.monitor.sketch import ERROR, MOST_S

TIMES_S = st.lists(st.floats(LEAST_S, 1e4), min_size=1, max_size=200)


def sketched(*parts: list[float]) -> ResponseSketch:
    sketch = ResponseSketch()
    for part in parts:
        sketch.add(np.array(part, dtype=float))
    return sketch


@given(TIMES_S, st.floats(0.1, 100.0))
def test_every_percentile_is_within_one_percent_of_the_exact_one(times_s: list[float], percent: float) -> None:
    exact_s = np.percentile(times_s, percent, method="inverted_cdf")
    found_s = sketched(times_s).percentile_s(percent)
    # By rounding, a rank that falls between two values may be taken for that of either.
    neighbours = np.percentile(times_s, np.clip([percent - 1e-6, percent + 1e-6], 0, 100), method="inverted_cdf")
    assert found_s is not None
    assert any(abs(found_s - near_s) <= (ERROR + 1e-9) * near_s for near_s in (exact_s, *neighbours))


@given(TIMES_S)
def test_the_mean_is_exact(times_s: list[float]) -> None:
    assert sketched(times_s).mean_s == pytest.approx(np.mean(times_s), rel=1e-12)


@given(TIMES_S, TIMES_S)
def test_merged_sketches_are_that_of_everything(some_s: list[float], others_s: list[float]) -> None:
    merged = ResponseSketch.merged([sketched(some_s), sketched(others_s)])
    whole = sketched(some_s + others_s)
    assert np.array_equal(merged.counts, whole.counts)
    assert merged.total == whole.total == len(some_s) + len(others_s)
    assert merged.sum_s == pytest.approx(whole.sum_s, rel=1e-12)


@given(st.lists(st.tuples(st.floats(LEAST_S, 1e4), st.integers(1, 20)), min_size=1, max_size=50))
def test_a_weight_stands_for_as_many_values(weighted: list[tuple[float, int]]) -> None:
    sketch = ResponseSketch()
    sketch.add(np.array([t for t, _ in weighted]), np.array([n for _, n in weighted], dtype=float))
    repeated = sketched([t for t, n in weighted for _ in range(n)])
    assert np.array_equal(sketch.counts, repeated.counts)
    assert sketch.mean_s == pytest.approx(repeated.mean_s, rel=1e-12)


def test_a_sketch_of_nothing_knows_nothing() -> None:
    assert ResponseSketch().mean_s is None
    assert ResponseSketch().percentile_s(95) is None


def test_times_out_of_range_count_as_the_nearest_within() -> None:
    sketch = sketched([0.0, MOST_S * 100])
    assert sketch.percentile_s(50) == pytest.approx(LEAST_S, rel=0.02)
    assert sketch.percentile_s(100) == pytest.approx(MOST_S, rel=0.02)
