"""One wrong time stamp neither ends nor blinds a query: in its engine, and in virtual time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.preference.spark import oracle
from tests.preference.spark.oracle import Tuple
from tests.preference.spark.stream_folder import engine, names, put, results

from mead.preference.control.far_stamps import AHEAD_US, find_far_stamps
from mead.preference.kernels.dominance import Preferences
from mead.preference.simulator.system import Setting, simulate
from mead.preference.spark.engine import Engine
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.windows.panes import Windows
from mead.workload import Trace

START_US = 1_750_000_000_000_000
HOUR_US = 3_600_000_000
SPEC = QuerySpec(Preferences(tuple(names(2)), ("min", "min")), Windows(1000, 500))
BATCHES, ROWS, AT = 6, 60, 3


def stream(seed: int = 3, delay_us: int = 200_000) -> list[list[Tuple]]:
    """Some seconds of right tuples, some of them late."""
    rng = np.random.default_rng(seed)
    batches = []
    for number in range(BATCHES):
        arrivals_us = START_US + 3_000_000 * number + np.sort(rng.integers(0, 3_000_000, ROWS))
        events_us = arrivals_us - rng.integers(0, delay_us, ROWS)
        values = rng.integers(0, 9, (ROWS, 2)).astype(float).tolist()
        rows = zip(events_us.tolist(), arrivals_us.tolist(), values, strict=True)
        batches.append([Tuple(event, arrival, tuple(row)) for event, arrival, row in rows])
    return batches


def without_arrivals(batches: list[list[Tuple]]) -> list[list[Tuple]]:
    return [[replace(one, arrival_us=one.event_us) for one in batch] for batch in batches]


def run(folder: Path, batches: list[list[Tuple]], spec: QuerySpec = SPEC) -> Engine:
    running = engine(folder, spec, ExecutionOptions(most=4), 2)
    for number, batch in enumerate(batches):
        put(folder, number, batch, 2, np.random.default_rng(number))
        if number == AT:
            running = engine(folder, spec, ExecutionOptions(most=4), 2)  # resumes
        running.step()
    running.finish()
    return running


def expected(batches: list[list[Tuple]]) -> dict[int, list[oracle.Values]]:
    origin_us, inside = oracle.admitted(batches, 500_000)
    windows = oracle.windows_of(inside, origin_us, 1_000_000, 500_000, 500_000)
    return {window: oracle.skyline_of(rows) for window, rows in windows}


def found(folder: Path) -> dict[int, list[oracle.Values]]:
    return {window: sorted(rows) for window, rows in results(folder, 2).items()}


@pytest.mark.parametrize("has_arrivals", [True, False])
@pytest.mark.parametrize("wrong_us", [1000 * START_US, START_US + HOUR_US, (1 << 63) - 1])
@pytest.mark.parametrize("at", [0, AT])
def test_a_wrong_stamp_changes_no_window(tmp_path: Path, at: int, wrong_us: int, *, has_arrivals: bool) -> None:
    right = stream() if has_arrivals else without_arrivals(stream())
    first = right[at][0]
    wrong = Tuple(wrong_us, first.arrival_us if has_arrivals else wrong_us, (0.0, 0.0))
    running = run(tmp_path, [[wrong, *batch] if number == at else batch for number, batch in enumerate(right)])
    assert running.state.emitter.far == 1
    assert found(tmp_path) == expected(right)


@pytest.mark.parametrize("wrong_us", [0, -(1 << 63), START_US // 10**6])
@pytest.mark.parametrize("at", [0, AT])
def test_a_stamp_of_zero_makes_no_pane_wait(tmp_path: Path, at: int, wrong_us: int) -> None:
    right = stream()
    wrong = Tuple(wrong_us, right[at][0].arrival_us, (0.0, 0.0))
    running = run(tmp_path, [[wrong, *batch] if number == at else batch for number, batch in enumerate(right)])
    assert found(tmp_path) == expected(right)
    assert running.state.emitter.slack.slack_us <= 3_000_000


@pytest.mark.parametrize("has_arrivals", [True, False])
@pytest.mark.parametrize("target", [0.0, 0.05])
def test_a_clock_that_is_an_hour_ahead_is_set_aside(tmp_path: Path, target: float, *, has_arrivals: bool) -> None:
    """One of sixty clocks is wrong, and all the time."""
    batches = stream()
    mixed = [[replace(b[0], event_us=b[0].event_us + HOUR_US), *b[1:]] for b in batches]
    right = [batch[1:] for batch in batches]
    if not has_arrivals:
        mixed, right = without_arrivals(mixed), without_arrivals(right)
    running = run(tmp_path, mixed, replace(SPEC, target_drop_ratio=target))
    emitter = running.state.emitter
    assert emitter.far == BATCHES
    assert emitter.dropped <= (target + 0.03) * BATCHES * ROWS
    if not target:
        assert found(tmp_path) == expected(right)


def test_a_stream_may_pause(tmp_path: Path) -> None:
    """Nothing is set aside, with arrival times or without: all tuples are ahead, not a few."""
    before, pause_us = stream()[:2], HOUR_US // 5
    after = [[Tuple(t.event_us + pause_us, t.arrival_us + pause_us, t.values) for t in b] for b in before]
    for name, batches in (("with", before + after), ("without", without_arrivals(before + after))):
        running = run(tmp_path / name, batches)
        assert running.state.emitter.far == 0
        assert found(tmp_path / name) == expected(batches)


def test_a_sparse_stream_is_not_a_wrong_one() -> None:
    """A tuple every hour, without arrival times: every gap is long, and none is longer than the others."""
    hourly_us = START_US + HOUR_US * np.arange(100)
    assert not find_far_stamps(hourly_us, hourly_us, AHEAD_US, AHEAD_US).any()


@pytest.mark.parametrize(("wrong_us", "far"), [(1000 * START_US, 1000), (HOUR_US, 1000), (-START_US, 0)])
@pytest.mark.parametrize("target", [0.0, 0.05])
def test_virtual_time_sets_the_same_tuples_aside(wrong_us: int, far: int, target: float) -> None:
    """Of 60,000 tuples in a minute, every sixtieth is wrong."""
    rng = np.random.default_rng(1)
    arrivals_us = START_US + np.sort(rng.integers(0, 60_000_000, 60_000))
    delays_us = rng.integers(0, 200_000, 60_000)
    events_us = arrivals_us - delays_us
    wrong = np.arange(60_000) % 60 == 1
    trace = Trace.from_timestamps_us(arrivals_us).with_event_timestamps_us(events_us + np.where(wrong, wrong_us, 0))
    outcome = simulate(trace, Setting(target_drop_ratio=target))
    assert outcome.far == far
    right = Trace.from_timestamps_us(arrivals_us[~wrong]).with_event_timestamps_us(events_us[~wrong])
    if far:
        alone = simulate(right, Setting(target_drop_ratio=target))
        assert (outcome.dropped, outcome.windows_s.size) == (alone.dropped, alone.windows_s.size)
        assert outcome.dropped <= (target + 0.03) * 60_000
    if wrong_us == -START_US:  # dropped, and not waited for
        assert outcome.windows_s.size >= 290
