from __future__ import annotations

import numpy as np
import pytest

from mead.arrays import IntArray
from mead.workload import Trace, TraceError


def arrivals(count: int) -> Trace:
    return Trace.from_iats_s(np.random.default_rng(1).standard_exponential(count - 1) / 1000)


def events_of(trace: Trace) -> IntArray:
    assert trace.event_timestamps_us is not None
    return trace.event_timestamps_us


def test_delays_are_uniform_between_zero_and_twice_the_mean() -> None:
    late = arrivals(20_000).with_random_delays(0.2, np.random.default_rng(2))
    delays_s = (late.timestamps_us - events_of(late)) / 1e6
    assert delays_s.min() >= 0
    assert delays_s.max() <= 0.4
    # Uniform on (0, 0.4): mean 0.2, variance 0.16 / 12; five standard errors of each.
    assert delays_s.mean() == pytest.approx(0.2, abs=5 * 0.1155 / np.sqrt(20_000))
    assert delays_s.var() == pytest.approx(0.16 / 12, rel=5 * np.sqrt(0.8 / 20_000))


def test_arrivals_are_sorted_and_no_tuple_is_lost() -> None:
    trace = arrivals(5_000)
    late = trace.with_random_delays(0.2, np.random.default_rng(2))
    assert (np.diff(late.timestamps_us) >= 0).all()
    assert (np.diff(events_of(late)) < 0).any()
    assert np.sort(events_of(late)).tolist() == trace.timestamps_us.tolist()


def test_no_delay_leaves_the_arrivals_as_they_are() -> None:
    trace = arrivals(100)
    late = trace.with_random_delays(0.0, np.random.default_rng(2))
    assert late.timestamps_us.tolist() == events_of(late).tolist() == trace.timestamps_us.tolist()


@pytest.mark.parametrize("mean_delay_s", [-0.1, np.nan, np.inf, 1e300])
def test_an_invalid_delay_is_refused(mean_delay_s: float) -> None:
    with pytest.raises(TraceError, match="mean delay"):
        arrivals(10).with_random_delays(mean_delay_s, np.random.default_rng(2))
