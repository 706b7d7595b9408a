"""What a micro-batch tells of its rows; no Spark needed."""

from __future__ import annotations

import numpy as np
import pytest

from mead.monitor import STAMP_ERROR_US, Arrivals
from mead.spark.telemetry.batch_times import add_stamps, batch_responses, find_stamp_fault
from mead.spark.telemetry.probe import MOST_STAMPS, Stamps
from mead.spark.telemetry.reports import BatchReport
from mead.values import Requirement

BEGAN_US = 1_700_000_000_000_000
DONE_US = BEGAN_US + 5_000_000


def micro_batch(name: str = "matcher") -> BatchReport:
    return BatchReport(name, "run", 1, 3, DONE_US - 400_000, DONE_US, 0.4, {}, None, {})


def stamps(*before_done_s: float) -> Stamps:
    return Stamps.of(DONE_US - np.round(1e6 * np.array(before_done_s)).astype(np.int64))


def test_rows_took_from_their_stamp_to_the_end_of_the_micro_batch() -> None:
    done = batch_responses(micro_batch(), stamps(1.5, 1.0, 0.5), BEGAN_US)
    assert (done.done_s, done.tuples) == (5.0, 3)
    assert done.mean_s == pytest.approx(1.0)
    assert done.at_ranks_s[[0, -1]] == pytest.approx([1.5, 0.5])


def test_clocks_that_disagree_a_little_make_no_time_below_zero() -> None:
    done = batch_responses(micro_batch(), stamps(-0.001), BEGAN_US)
    assert done.mean_s == 0.0
    assert done.at_ranks_s.min() == 0.0
    assert find_stamp_fault(micro_batch(), stamps(-0.001)) == ""


def test_stamps_from_the_future_are_a_fault_beyond_a_second() -> None:
    error_s = STAMP_ERROR_US / 1e6
    assert find_stamp_fault(micro_batch(), stamps(0.5, -error_s)) == ""
    future = "tuples of matcher are said to have arrived in the future"
    assert find_stamp_fault(micro_batch(), stamps(0.5, -error_s - 1e-3)) == future
    assert "of the query are" in find_stamp_fault(micro_batch(""), stamps(-3600.0))
    assert find_stamp_fault(micro_batch(), Stamps.of(np.empty(0, dtype=np.int64))) == ""


def test_whole_seconds_are_a_fault_if_a_bound_is_tighter() -> None:
    tight, loose = Requirement("matcher", bound_s=0.21), Requirement("matcher", bound_s=30.0)
    whole, finer = stamps(*[3.0, 2.0] * 10), stamps(*[3.0, 2.0] * 10, 2.5)
    said = "tuples of matcher have arrival times in whole seconds, too coarse for a bound of 0.21 s"
    assert find_stamp_fault(micro_batch(), whole, [loose, tight]) == said
    assert find_stamp_fault(micro_batch(), whole, [loose]) == ""
    assert find_stamp_fault(micro_batch(), finer, [tight]) == ""
    assert find_stamp_fault(micro_batch(), stamps(3.0, 2.0), [tight]) == ""  # may be chance


def test_rows_without_a_stamp_are_a_fault_if_there_are_no_others() -> None:
    none, some = np.empty(0, dtype=np.int64), stamps(0.5, 1.5)
    assert find_stamp_fault(micro_batch(), Stamps.of(none, unstamped=3)) == "tuples of matcher have no time of arrival"
    mixed = Stamps.merge([some, Stamps.of(none, unstamped=3)])
    assert find_stamp_fault(micro_batch(), mixed) == ""
    done = batch_responses(micro_batch(), mixed, BEGAN_US)
    assert (mixed.rows, done.tuples) == (5, 2)
    assert done.mean_s == pytest.approx(1.0)


@pytest.mark.parametrize("rows", [MOST_STAMPS, MOST_STAMPS + 1])
def test_as_many_arrivals_are_added_whether_all_stamps_are_known_or_not(rows: int) -> None:
    arrivals = Arrivals(3 * MOST_STAMPS)
    some = Stamps.of(BEGAN_US + 100 * np.arange(rows))
    assert (some.all_us is None) == (rows > MOST_STAMPS)
    add_stamps(arrivals, some)
    arrivals.known_until(BEGAN_US + 10_000_000)
    assert arrivals.counts.sum() == pytest.approx(rows)
    assert arrivals.counts[:20] == pytest.approx(np.full(20, 1_000), abs=1)
    assert arrivals.iats_s == pytest.approx(np.full(rows - 1, 1e-4), abs=2e-6)
