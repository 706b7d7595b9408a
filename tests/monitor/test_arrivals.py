from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.arrays import FloatArray, IntArray
from mead.monitor import Arrivals
from mead.monitor.arrivals import COUNTED_BINS
from mead.values import COUNT_BIN_S

START_US = 1_700_000_000_000_000
BIN_US = 100_000


@st.composite
def bunches(draw: st.DrawFn) -> list[IntArray]:
    """Arrivals as tasks report them: each bunch in order, bunches in any order, with ties and overlaps."""
    stamps = draw(st.lists(st.integers(0, 3_000_000), max_size=60))
    tasks = draw(st.lists(st.integers(0, 6), min_size=len(stamps), max_size=len(stamps)))
    parts = [[s for s, task in zip(stamps, tasks, strict=True) if task == n] for n in range(7)]
    order = draw(st.permutations(parts))
    return [START_US + np.array(sorted(part), dtype=np.int64) for part in order]


def fed(parts: Sequence[IntArray], kept_iats: int = 1000) -> Arrivals:
    arrivals = Arrivals(kept_iats)
    for part in parts:
        arrivals.add(part)
    return arrivals


def exact_counts(stamps_us: IntArray, first_us: int, until_us: int) -> FloatArray:
    """By one histogram; what came before the first that was reported counts as come with it."""
    bins = max(0, (until_us - first_us) // BIN_US)
    edges = first_us + BIN_US * np.arange(bins + 1)
    counted: FloatArray = np.histogram(np.maximum(stamps_us, first_us), edges)[0].astype(float)
    if bins:  # the last bin of numpy has both its edges
        counted[-1] -= np.sum(stamps_us == edges[-1])
    return counted


@given(bunches(), st.integers(1, 80))
def test_iats_are_those_of_all_arrivals_in_order_however_they_were_reported(
    parts: list[IntArray], kept_iats: int
) -> None:
    whole = np.sort(np.concatenate(parts))
    exact_s = np.diff(whole)[-kept_iats:] / 1e6
    assert np.array_equal(fed(parts, kept_iats).iats_s, exact_s)


@given(bunches(), st.integers(0, 4_000_000))
def test_counts_are_those_of_all_arrivals_however_they_were_reported(parts: list[IntArray], until_us: int) -> None:
    arrivals, first = fed(parts), next((part for part in parts if part.size), None)
    arrivals.known_until(START_US + until_us)
    if first is None:
        assert arrivals.counts.size == 0
    else:
        exact = exact_counts(np.concatenate(parts), int(first[0]), START_US + until_us)
        assert np.array_equal(arrivals.counts, exact)


def test_a_long_stream_keeps_the_last_iats_and_ten_minutes_of_counts() -> None:
    rng = np.random.default_rng(1)
    stamps_us = START_US + np.cumsum(rng.exponential(1e6 / 40, 60_000)).astype(np.int64)  # 25 minutes
    arrivals = Arrivals(kept_iats=500)
    for bunch in np.split(stamps_us, np.sort(rng.integers(0, stamps_us.size, 3000))):
        arrivals.add(bunch)
        if bunch.size:
            arrivals.known_until(int(bunch[-1]))
    assert np.array_equal(arrivals.iats_s, np.diff(stamps_us)[-500:] / 1e6)
    exact = exact_counts(stamps_us, int(stamps_us[0]), int(stamps_us[-1]))[-COUNTED_BINS:]
    assert arrivals.counts.size == 600 / COUNT_BIN_S
    assert np.array_equal(arrivals.counts, exact)


def test_a_source_that_is_silent_for_hours_has_counts_of_zero() -> None:
    arrivals = fed([START_US + np.arange(10) * BIN_US])
    arrivals.known_until(START_US + 5 * 3_600_000_000)
    assert arrivals.counts.size == COUNTED_BINS
    assert not arrivals.counts.any()
    arrivals.add(np.array([START_US + 5 * 3_600_000_000 + 1]))
    arrivals.known_until(START_US + 5 * 3_600_000_000 + BIN_US)
    assert arrivals.counts[-1] == 1.0
    assert arrivals.counts.sum() == 1.0


def test_arrivals_older_than_anybody_asks_for_do_no_harm() -> None:
    late_us = START_US + 2 * 3_600_000_000
    arrivals = fed([np.array([START_US, late_us]), np.array([START_US + 5])], kept_iats=1)
    arrivals.known_until(late_us + BIN_US)
    assert arrivals.iats_s[-1] == (late_us - START_US - 5) / 1e6
    assert arrivals.counts[-1] == 1.0


@given(st.lists(st.integers(0, 2_000_000), min_size=50, max_size=400))
def test_arrivals_known_at_some_ranks_only_are_all_counted_about_where_they_were(values: list[int]) -> None:
    stamps_us = START_US + np.sort(np.array(values, dtype=np.int64))
    ranks = np.round(np.linspace(0, 1, 17) * (stamps_us.size - 1)).astype(int)
    arrivals = Arrivals(100)
    arrivals.add_spread(stamps_us[ranks].astype(float), stamps_us.size)
    arrivals.known_until(int(stamps_us[-1]) + 2 * BIN_US)
    assert np.isclose(arrivals.counts.sum(), stamps_us.size)
    exact = np.cumsum(exact_counts(stamps_us, int(stamps_us[0]), int(stamps_us[-1]) + 2 * BIN_US))
    assert np.abs(np.cumsum(arrivals.counts) - exact).max() <= stamps_us.size / 16 + 2
    assert arrivals.iats_s.size == min(100, stamps_us.size - 1)


@pytest.mark.parametrize("kept_iats", [30_000, 200_000])
def test_a_large_micro_batch_is_no_silence(kept_iats: int) -> None:
    """Ten thousand a second all the time, of which five seconds come as one bunch known at some ranks only."""
    stamps_us = START_US + 100 * np.arange(100_000)
    arrivals = Arrivals(kept_iats)
    arrivals.add(stamps_us[:20_000])
    large = stamps_us[20_000:70_000]
    ranks = np.round(np.linspace(0, 1, 17) * (large.size - 1)).astype(int)
    arrivals.add_spread(large[ranks].astype(float), large.size)
    arrivals.add(stamps_us[70_000:85_000])
    assert arrivals.iats_s.size == min(kept_iats, 84_999)
    assert arrivals.iats_s.max() == pytest.approx(1e-4, abs=2e-6)
    assert arrivals.iats_s.mean() == pytest.approx(1e-4, rel=1e-4)


@given(bunches(), bunches(), st.integers(1, 80))
def test_stamps_at_all_ranks_are_as_good_as_the_stamps(
    parts: list[IntArray], others: list[IntArray], kept_iats: int
) -> None:
    known, spread = Arrivals(kept_iats), Arrivals(kept_iats)
    for part, other in zip(parts, others, strict=True):
        known.add(part)
        known.add(other)
        spread.add(part)
        if other.size:
            spread.add_spread(other.astype(float), other.size)
    assert np.array_equal(known.iats_s, spread.iats_s)


@pytest.mark.parametrize("first_us", [-1000, START_US - 30 * 86_400_000_000])
@pytest.mark.parametrize("before", [[], [np.array([START_US - BIN_US])]], ids=["first", "later"])
def test_a_stamp_long_past_among_stamps_at_some_ranks_takes_no_memory(first_us: int, before: list[IntArray]) -> None:
    arrivals = fed(before)
    last_us = START_US + 160 * BIN_US - 1
    at_ranks_us = np.concatenate([[first_us], np.linspace(START_US, last_us, 16)])
    tracemalloc.start()
    try:
        arrivals.add_spread(at_ranks_us, 16_000)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 5_000_000
    arrivals.known_until(last_us + BIN_US)
    assert arrivals.counts[-150:].sum() == pytest.approx(15_000 * 150 / 160, rel=0.01)


@pytest.mark.parametrize("ahead_s", [5, 300, 7200])
def test_a_clock_that_was_ahead_for_a_moment_leaves_nothing_behind(ahead_s: int) -> None:
    """A steady stream of 20/s, of which a second was stamped by that clock."""
    stamps_us = START_US + 50_000 * np.arange(1_000)
    ahead_us = stamps_us[200:220] + 1_000_000 * ahead_s
    arrivals = fed([stamps_us[:200], ahead_us], kept_iats=800)
    arrivals.known_until(int(ahead_us[-1]))
    arrivals.at(int(stamps_us[200]))
    for first in range(200, 1_000, 20):
        arrivals.add(stamps_us[first : first + 20])
        now_us = int(stamps_us[first + 19]) + 50_000
        arrivals.known_until(now_us)
        arrivals.at(now_us)
    assert np.array_equal(arrivals.iats_s, np.full(800, 0.05))
    assert np.array_equal(arrivals.counts[-400:], np.full(400, 2.0)), "forty seconds of two in every tenth"


@given(bunches(), st.integers(0, 4_000_000))
def test_a_clock_that_only_goes_on_takes_nothing_away(parts: list[IntArray], until_us: int) -> None:
    arrivals, asked = fed(parts), fed(parts)
    now_us = START_US + 3_000_000 + until_us
    for one in (arrivals, asked):
        one.known_until(now_us)
    asked.at(now_us)
    assert np.array_equal(asked.iats_s, arrivals.iats_s)
    assert np.array_equal(asked.counts, arrivals.counts)
