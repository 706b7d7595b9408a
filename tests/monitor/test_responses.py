from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.monitor import BatchResponses, PathMonitor, monitors
from mead.monitor.responses import KEPT_PARTS
from mead.values import STEP_S, Requirement

STEPS = 16
TIMES_S = st.lists(st.floats(0.0, 10.0), min_size=1, max_size=300)


def batch_of(times_s: list[float], done_s: float = 60.0) -> BatchResponses:
    """As a micro-batch tells: the mean, and times at evenly spaced ranks."""
    longest_first = np.sort(np.array(times_s))[::-1]
    ranks = np.round(np.linspace(0, 1, STEPS + 1) * (longest_first.size - 1)).astype(int)
    return BatchResponses(done_s, longest_first.size, float(longest_first.mean()), longest_first[ranks])


@given(TIMES_S, st.floats(-1.0, 11.0))
def test_what_took_longer_is_known_to_one_step_of_the_ranks(times_s: list[float], bound_s: float) -> None:
    exact = sum(time_s > bound_s for time_s in times_s)
    assert abs(batch_of(times_s).beyond(bound_s) - exact) <= len(times_s) / STEPS + 1


@given(TIMES_S)
def test_nothing_is_beyond_the_longest_and_everything_beyond_less_than_the_shortest(times_s: list[float]) -> None:
    batch = batch_of(times_s)
    assert batch.beyond(max(times_s)) <= len(times_s) / STEPS
    assert batch.beyond(max(times_s) + 1e-6) == 0
    assert batch.beyond(min(times_s) - 1e-6) == len(times_s)


@given(st.lists(TIMES_S, min_size=1, max_size=6))
def test_a_reading_adds_up_what_came_since_the_last(batches: list[list[float]]) -> None:
    monitor = PathMonitor((Requirement("a>b", 0.5), Requirement("a>b", 2.0, percent=95.0)))
    monitor.add(batch_of([100.0]))
    monitor.reading()
    for times_s in batches:
        monitor.add(batch_of(times_s))
    reading, every = monitor.reading(), np.concatenate(batches)
    assert reading.completed == every.size
    assert reading.response_sum_s == pytest.approx(every.sum())
    error = every.size / STEPS + len(batches)
    assert set(reading.beyond) == {2.0}
    assert reading.late == reading.beyond[2.0] == pytest.approx((every > 2.0).sum(), abs=error)
    assert monitor.reading().completed == 0


def test_without_a_percentile_the_bound_on_the_mean_tells_what_is_late() -> None:
    monitor = PathMonitor((Requirement("a>b", 0.5),))
    monitor.add(batch_of(np.linspace(0.0, 1.0, 1001).tolist()))
    reading = monitor.reading()
    assert reading.late == pytest.approx(500, abs=1)
    assert reading.beyond == {}


def test_without_a_requirement_nothing_is_late() -> None:
    monitor = PathMonitor(())
    monitor.add(batch_of([1000.0]))
    assert monitor.reading().late == 0


@given(st.lists(TIMES_S, min_size=1, max_size=6))
def test_the_whole_run_keeps_its_exact_mean_and_number(batches: list[list[float]]) -> None:
    monitor = PathMonitor(())
    for times_s in batches:
        monitor.add(batch_of(times_s))
        monitor.reading()
    every = np.concatenate(batches)
    assert monitor.whole.total == pytest.approx(every.size)
    assert monitor.whole.mean_s == pytest.approx(every.mean(), abs=1e-9)


def test_percentiles_of_the_whole_run_are_near_the_exact_ones() -> None:
    """All tuples of a micro-batch are done at once, so that one that took long has long and short response times."""
    rng = np.random.default_rng(1)
    monitor, every = PathMonitor(()), []
    for took_s in rng.gamma(2.0, 0.1, 400):
        times_s = took_s * (1 + rng.random(1 + int(300 * took_s)))
        every.extend(times_s.tolist())
        monitor.add(batch_of(times_s.tolist()))
    for percent in (50, 90, 95, 99):
        assert monitor.whole.percentile_s(percent) == pytest.approx(np.percentile(every, percent), rel=0.02)


def test_percentiles_are_found_within_a_single_micro_batch_too() -> None:
    monitor, times_s = PathMonitor(()), np.linspace(1.0, 2.0, 3001)
    monitor.add(batch_of(times_s.tolist()))
    for percent in (5, 50, 95, 99):
        assert monitor.whole.percentile_s(percent) == pytest.approx(np.percentile(times_s, percent), rel=0.02)


def test_every_path_has_the_requirements_on_it() -> None:
    mean, tail = Requirement("a>b", 0.5), Requirement("a>c", 2.0, percent=95.0)
    by_path = monitors(("a>b", "a>c", "a>d"), [mean, tail])
    assert {path: one.requirements for path, one in by_path.items()} == {"a>b": (mean,), "a>c": (tail,), "a>d": ()}


@given(st.lists(st.tuples(st.floats(0.0, 200.0), st.floats(0.0, 100.0)), min_size=1, max_size=30))
def test_a_tuple_is_in_the_part_of_the_run_in_which_it_arrived(tuples: list[tuple[float, float]]) -> None:
    monitor, expected = PathMonitor(()), Counter[int]()
    for done_s, took_s in tuples:
        monitor.add(BatchResponses(done_s, 1, took_s, np.full(STEPS + 1, took_s)))
        expected[max(int((done_s - took_s) // STEP_S), 0)] += 1
    assert {part: round(sketch.total) for part, sketch in monitor.parts.items()} == expected


def test_an_endless_run_remembers_a_day_part_by_part_and_the_rest_in_sum() -> None:
    monitor = PathMonitor(())
    for part in range(KEPT_PARTS + 50):
        monitor.add(batch_of([0.5] * 3, done_s=part * STEP_S + 1.0))
    assert sorted(monitor.parts) == list(range(50, KEPT_PARTS + 50))
    assert monitor.whole.total == pytest.approx(3 * (KEPT_PARTS + 50))
