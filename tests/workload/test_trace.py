from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.workload import TICKS_PER_S, Trace, TraceError, Unit

whole_gaps_us = st.lists(st.integers(0, 10**10), min_size=1, max_size=50)


def test_time_stamps_and_iats_describe_the_same_arrivals() -> None:
    trace = Trace.from_timestamps_us([1_000_000, 1_250_000, 3_250_000])
    assert trace.iats_s.tolist() == [0.25, 2.0]
    assert trace.times_s.tolist() == [0.0, 0.25, 2.25]
    assert trace.duration_s == 2.25
    assert trace.rate_per_s == 2 / 2.25
    assert len(trace) == 3


@given(whole_gaps_us, st.integers(0, 2 * 10**15))
def test_whole_microseconds_survive_seconds_and_back(gaps_us: list[int], start_us: int) -> None:
    timestamps_us = start_us + np.cumsum([0, *gaps_us])
    trace = Trace.from_timestamps_s(timestamps_us / 1e6)
    assert trace.timestamps_us.tolist() == timestamps_us.tolist()
    assert trace.iats_s.tolist() == (np.array(gaps_us) / 1e6).tolist()


@given(whole_gaps_us)
def test_iats_of_whole_microseconds_add_up_exactly(gaps_us: list[int]) -> None:
    trace = Trace.from_iats_s(np.array(gaps_us) / 1e6)
    assert trace.timestamps_us.tolist() == np.cumsum([0, *gaps_us]).tolist()


def test_a_long_trace_of_iats_does_not_drift_by_a_microsecond() -> None:
    # 0.1 s is not a float; a plain running sum of two million of them is off by far more than the last place.
    trace = Trace.from_iats_s(np.full(2_000_000, 0.1))
    assert trace.timestamps_us[-1] == 200_000_000_000


def test_fractions_of_microseconds_add_up_too() -> None:
    assert Trace.from_iats_s([4e-7] * 10).timestamps_us.tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 4]


def test_iats_below_a_microsecond_are_not_rounded() -> None:
    iats = np.array([3e-9, 7e-9, 2e-7])
    assert Trace.from_iats_s(iats).iats_s.tolist() == iats.tolist()
    assert Trace.from_timestamps_s([0.0, 3e-9, 1e-8]).iats_s == pytest.approx([3e-9, 7e-9], rel=1e-6)


@pytest.mark.parametrize(("unit", "ticks_per_s"), TICKS_PER_S.items())
def test_ticks_of_every_unit_are_exact(unit: Unit, ticks_per_s: int) -> None:
    trace = Trace.from_ticks([0, 5 * ticks_per_s, 7 * ticks_per_s], unit)
    assert trace.timestamps_us.tolist() == [0, 5_000_000, 7_000_000]
    assert trace.iats_s.tolist() == [5.0, 2.0]


def test_nanoseconds_since_1970_keep_their_differences() -> None:
    start = 1_700_000_000_000_000_000
    trace = Trace.from_ticks([start, start + 1, start + 1_501], "ns")
    assert trace.iats_s.tolist() == [1e-9, 1.5e-6]
    assert trace.timestamps_us.tolist() == [start // 1000, start // 1000, start // 1000 + 2]


def test_arrivals_at_the_same_time_are_arrivals_but_have_no_rate() -> None:
    trace = Trace.from_timestamps_us([5, 5, 5])
    assert trace.iats_s.tolist() == [0.0, 0.0]
    with pytest.raises(TraceError, match="all 3 arrivals have the same time stamp"):
        _ = trace.rate_per_s


def test_sorting_puts_arrivals_in_order() -> None:
    assert Trace.from_timestamps_s([2.0, 0.5, 1.0], sort=True).times_s.tolist() == [0.0, 0.5, 1.5]


@pytest.mark.parametrize(
    ("timestamps_s", "complaint"),
    [
        ([], "no arrivals"),
        ([1.0], "only one arrival"),
        ([1.0, 3.0, 2.0, 0.0], "row 3: time stamp 2.0 s is before the one above it .3.0 s.; use --sort"),
        ([0.0, np.nan, 2.0], "row 2: time stamp is nan"),
        ([0.0, 1.0, np.inf], "row 3: time stamp is inf"),
        ([-np.inf, 1.0], "row 1: time stamp is -inf"),
        ([0.0, 1.0, -2.0], "row 3: time stamp -2.0 s is negative"),
        ([0.0, 1e15], "too far away; check the unit"),
        ([[0.0, 1.0], [2.0, 3.0]], r"shape \(2, 2\)"),
    ],
)
def test_invalid_time_stamps_are_refused_with_row_and_remedy(timestamps_s: list[float], complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint) as caught:
        Trace.from_timestamps_s(timestamps_s)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("iats_s", "complaint"),
    [
        ([], "no inter-arrival times"),
        ([1.0, -0.5], "row 2: inter-arrival time -0.5 s is negative; if these are time stamps, leave out --iat"),
        ([1.0, np.nan], "row 2: inter-arrival time is nan"),
        ([1e13, 1.0], "too far away"),
        ([[1.0]], r"shape \(1, 1\)"),
    ],
)
def test_invalid_iats_are_refused(iats_s: list[float], complaint: str) -> None:
    with pytest.raises(TraceError, match=complaint):
        Trace.from_iats_s(iats_s)


def test_sorting_does_not_repair_a_nan() -> None:
    with pytest.raises(TraceError, match="row 2"):
        Trace.from_timestamps_s([2.0, np.nan, 1.0], sort=True)


def test_a_trace_cannot_be_changed_from_outside() -> None:
    stamps, iats = np.array([1, 2, 3]), np.array([1.0, 2.0])
    by_stamps, by_iats = Trace.from_timestamps_us(stamps), Trace.from_iats_s(iats)
    stamps[0], iats[0] = 99, 99.0
    assert by_stamps.timestamps_us[0] == 1
    assert by_iats.iats_s[0] == 1.0
    for values in (by_stamps.timestamps_us, by_stamps.iats_s, by_iats.timestamps_us, by_iats.iats_s):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 7


def test_event_times_must_be_as_many_as_arrivals() -> None:
    trace = Trace.from_timestamps_us([10, 20])
    assert trace.with_event_timestamps_us([9, 5]).event_timestamps_us is not None
    with pytest.raises(TraceError, match="2 arrivals need as many event time stamps; got 3"):
        trace.with_event_timestamps_us([1, 2, 3])


def test_a_part_of_a_trace_has_the_arrivals_iats_and_event_times_of_that_part() -> None:
    trace = Trace.from_timestamps_us([5, 10, 10, 30, 60]).with_event_timestamps_us([1, 2, 3, 4, 5])
    part = trace.between(5e-6, 25e-6)
    assert part.timestamps_us.tolist() == [10, 10, 30]
    assert part.iats_s.tolist() == [0.0, 20e-6]
    assert part.event_timestamps_us is not None
    assert part.event_timestamps_us.tolist() == [2, 3, 4]
    assert trace.between(0.0, 1.0).timestamps_us.tolist() == trace.timestamps_us.tolist()
    with pytest.raises(TraceError, match=r"fewer than two arrivals lie between 0 s and 2e-06 s"):
        trace.between(0.0, 2e-6)
    for end_s in (-1.0, float("nan")):
        with pytest.raises(TraceError, match=r"the end of a part, .* s, must not be before its start, 0 s"):
            trace.between(0.0, end_s)
