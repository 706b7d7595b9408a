"""Whatever the disorder, the parallelism, the splitting and the crashes: the windows of the definition, each once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.preference.conftest import brute_factor
from tests.preference.spark import oracle
from tests.preference.spark.oracle import Tuple
from tests.preference.spark.stream_folder import engine, in_this_process, names, put, results

from mead.preference.control.degrees import Degrees
from mead.preference.control.threshold import Threshold
from mead.preference.kernels.dominance import PreferenceError, Preferences
from mead.preference.spark.engine import Engine
from mead.preference.spark.query_spec import ExecutionOptions, Kernel, QuerySpec
from mead.preference.spark.state import QueryFolder
from mead.preference.spark.window_runner import D, W
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows

EPOCH_US = 1_750_000_000_123_000
SHAPES = [Windows(300, 100), Windows(500, 200), Windows(100, 100), Windows(600, 300)]


class Killed(BaseException):
    """The process is gone: nobody catches it."""


class Fragile:
    """Runs tasks in this process, until it does not: none of them, or all and nobody hears of it."""

    def __init__(self, kills: Sequence[int]) -> None:
        self.kills, self.calls = set(kills), count(1)

    def __call__(self, function: Callable[[W], D], works: Sequence[W]) -> list[D]:
        call = next(self.calls)
        done = in_this_process(function, works)
        if call in self.kills:
            raise Killed
        return done


@st.composite
def streams(draw: st.DrawFn, width: int, most_delay_us: int = 900_000) -> list[list[Tuple]]:
    """Batches of tuples, late by anything up to a few windows, with many equal values and some gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    batches, now_us = [], EPOCH_US + int(rng.integers(0, 10**6))
    for size in draw(st.lists(st.integers(0, 25), min_size=1, max_size=7)):
        arrivals_us = now_us + np.sort(rng.integers(0, 400_000, size))
        delays_us = (rng.integers(0, most_delay_us, size) * (rng.random(size) < 0.6)).astype(np.int64)
        values = rng.integers(0, 5, (size, width)).astype(float)
        rows = zip(arrivals_us.tolist(), delays_us.tolist(), values.tolist(), strict=True)
        batches.append([Tuple(arrival - delay, arrival, tuple(row)) for arrival, delay, row in rows])
        now_us += int(rng.integers(400_000, 1_500_000))
    return batches


def expected(batches: list[list[Tuple]], spec: QuerySpec) -> list[tuple[int, list[oracle.Values]]]:
    windows = spec.windows
    slide_us = 1000 * windows.slide_ms
    origin_us, inside = oracle.admitted(batches, slide_us, spec.slack_us)
    return list(oracle.windows_of(inside, origin_us, 1000 * windows.length_ms, slide_us, windows.pane_us))


def split_hard(running: Engine) -> None:
    """As if statistics of small panes were there already, so that panes are split from the first tuple on."""
    threshold = running.state.emitter.panes.threshold
    if not threshold.warm:
        running.state.emitter.panes.threshold = replace(threshold, warm=True).after_closing([1.0])


def worked(
    folder: Path, batches: list[list[Tuple]], spec: QuerySpec, options: ExecutionOptions, seed: int, kills: list[int]
) -> None:
    """Feed batch by batch; between micro-batches the degrees jump. After a crash another process goes on."""
    rng, width, run = np.random.default_rng(seed), len(spec.preferences.columns), Fragile(kills)
    running = engine(folder, spec, options, width, run)
    for number in range(len(batches) + 1):
        if number < len(batches):
            put(folder, number, batches[number], width, rng)
            if rng.random() < 0.3:
                continue  # the next micro-batch takes several
        while True:
            split_hard(running)
            panes = int(rng.integers(1, options.most))
            running.state.degrees = Degrees(panes, int(rng.integers(1, options.most - panes + 1)))
            try:
                if running.step() is None and number < len(batches):
                    break
                if number == len(batches) and running.tuples.end == running.state.offset:
                    running.finish()
                    return
            except Killed:
                running = engine(folder, spec, options, width, run)


@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    st.sampled_from(SHAPES),
    st.sampled_from(list(Splitting)),
    st.sampled_from(list(Kernel)),
    st.sampled_from([None, 0, 250_000]),
    st.lists(st.integers(1, 25), max_size=4),
    st.integers(0, 10**6),
)
def test_every_window_is_that_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    windows: Windows,
    splitting: Splitting,
    kernel: Kernel,
    slack_us: int | None,
    kills: list[int],
    seed: int,
) -> None:
    batches = data.draw(streams(width=3))
    spec = QuerySpec(Preferences(tuple(names(3)), ("min",) * 3), windows, slack_us=slack_us)
    options = ExecutionOptions(splitting, elastic=False, most=7, kernel=kernel, most_rows=40, merging=seed % 3 > 0)
    folder = tmp_path_factory.mktemp("query")
    worked(folder, batches, spec, options, seed, kills)
    found = {window: sorted(rows) for window, rows in results(folder, 3).items()}
    assert found == {window: oracle.skyline_of(rows) for window, rows in expected(batches, spec)}


@settings(max_examples=10, deadline=None)
@given(streams(width=4), st.integers(1, 6), st.integers(0, 10**6))
def test_the_best_few_are_those_with_the_lowest_factors(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Tuple]], delta: int, seed: int
) -> None:
    spec = QuerySpec(Preferences(tuple(names(4)), ("min",) * 4), Windows(500, 200), delta=delta)
    options = ExecutionOptions(elastic=False, most=6)
    found = []
    for run in range(2):  # with other degrees and other splits
        folder = tmp_path_factory.mktemp("query")
        worked(folder, batches, spec, options, seed + run, [])
        found.append(results(folder, 4))
    assert found[0] == found[1], "the same tuples in the same order"
    windows = expected(batches, spec)
    assert list(found[0]) == [window for window, _ in windows]
    for window, rows in windows:
        factors = [brute_factor(np.array(rows), np.array(row)) for row in found[0][window]]
        assert sorted(factors) == oracle.lowest_factors(rows, delta)


@settings(max_examples=10, deadline=None)
@given(streams(width=2), st.floats(0.05, 0.5))
def test_the_adaptive_form_depends_on_the_stream_alone(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Tuple]], ratio: float
) -> None:
    spec = QuerySpec(Preferences(tuple(names(2)), ("min", "min")), Windows(300, 100), target_drop_ratio=ratio)
    found = []
    for seed in range(2):
        folder = tmp_path_factory.mktemp("query")
        worked(folder, batches, spec, ExecutionOptions(elastic=False, most=5), seed, [])
        found.append({window: sorted(rows) for window, rows in results(folder, 2).items()})
    assert found[0] == found[1]
    assert found[0] == expected_adaptively(batches, spec)[0]


def expected_adaptively(batches: list[list[Tuple]], spec: QuerySpec) -> tuple[dict[int, list[oracle.Values]], int]:
    """The windows, and how many tuples were dropped."""
    windows = spec.windows
    length_us, slide_us = 1000 * windows.length_ms, 1000 * windows.slide_ms
    origin_us, inside, dropped = oracle.admitted_adaptively(batches, slide_us, spec.target_drop_ratio)
    rows = oracle.windows_of(inside, origin_us, length_us, slide_us, windows.pane_us)
    return {window: oracle.skyline_of(values) for window, values in rows}, dropped


def test_the_adaptive_form_drops_whom_the_definition_drops(tmp_path: Path) -> None:
    """Long enough for its regulator to settle: half a second of waiting for some, of which a tenth is given up."""
    rng, target = np.random.default_rng(5), 0.1
    arrivals_us = EPOCH_US + np.arange(4_000) * 2_500
    delays_us = rng.integers(0, 500_000, 4_000) * (rng.random(4_000) < 0.5)
    values = rng.integers(0, 30, (4_000, 2)).astype(float).tolist()
    stamps = zip((arrivals_us - delays_us).tolist(), arrivals_us.tolist(), values, strict=True)
    stream = [Tuple(event_us, arrival_us, tuple(row)) for event_us, arrival_us, row in stamps]
    batches = [stream[first : first + 500] for first in range(0, 4_000, 500)]
    spec = QuerySpec(Preferences(tuple(names(2)), ("min", "min")), Windows(600, 300), target_drop_ratio=target)
    worked(tmp_path, batches, spec, ExecutionOptions(elastic=False, most=5, most_rows=700), seed=1, kills=[3, 9])
    answers, dropped = expected_adaptively(batches, spec)
    assert {window: sorted(rows) for window, rows in results(tmp_path, 2).items()} == answers
    assert engine(tmp_path, spec, ExecutionOptions(), 2).state.emitter.dropped == dropped
    assert 0.7 * target < dropped / 4_000 < 1.3 * target


@settings(max_examples=15, deadline=None)
@given(streams(width=2), st.integers(1, 30), st.integers(0, 10**6))
def test_a_batch_of_one_file_may_be_worked_on_in_pieces(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Tuple]], most_rows: int, seed: int
) -> None:
    folder, rng = tmp_path_factory.mktemp("query"), np.random.default_rng(seed)
    running = engine(folder, SPEC, ExecutionOptions(most_rows=most_rows, most=5), 2)
    for number, batch in enumerate(batches):
        put(folder, number, batch, 2, rng, tasks=1)
    while step := running.step():
        assert step.tuples <= most_rows
        if rng.random() < 0.3:
            running = engine(folder, SPEC, ExecutionOptions(most_rows=int(rng.integers(1, 30)), most=5), 2)
            most_rows = running.options.most_rows
    running.finish()
    found = {window: sorted(rows) for window, rows in results(folder, 2).items()}
    assert found == {window: oracle.skyline_of(rows) for window, rows in expected(batches, SPEC)}


def ordered_stream(rows: int, gap_us: int, width: int = 2) -> list[Tuple]:
    rng = np.random.default_rng(3)
    values = rng.random((rows, width)).tolist()
    stamps = [EPOCH_US + n * gap_us for n in range(rows)]
    return [Tuple(stamp, stamp, tuple(row)) for stamp, row in zip(stamps, values, strict=True)]


SPEC = QuerySpec(Preferences(tuple(names(2)), ("min", "min")), Windows(300, 100))


def test_a_crash_between_state_and_index_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mead.spark.log.stream_log import StreamLog

    batches = [ordered_stream(400, 5_000)[first : first + 100] for first in range(0, 400, 100)]
    rng, committed = np.random.default_rng(1), StreamLog.commit
    for number, batch in enumerate(batches):
        put(tmp_path, number, batch, 2, rng)
    running = engine(tmp_path, SPEC, ExecutionOptions(most_rows=100), 2)
    running.step()

    def lost(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(StreamLog, "commit", lost)
    with pytest.raises(Killed):
        running.step()
    assert len(list((tmp_path / "state").glob("*.json"))) >= 1
    monkeypatch.setattr(StreamLog, "commit", committed)
    running = engine(tmp_path, SPEC, ExecutionOptions(most_rows=100), 2)
    assert running.state.step == 0
    while running.step():
        pass
    running.finish()
    found = {window: sorted(rows) for window, rows in results(tmp_path, 2).items()}
    assert found == {window: oracle.skyline_of(rows) for window, rows in expected(batches, SPEC)}


def test_a_long_silence_is_many_windows_without_tuples(tmp_path: Path) -> None:
    day_us = 3_600_000_000
    late = [
        replace(one, event_us=one.event_us + day_us, arrival_us=one.arrival_us + day_us)
        for one in ordered_stream(50, 20_000)
    ]
    batches = [ordered_stream(50, 20_000), late]
    for number, batch in enumerate(batches):
        put(tmp_path, number, batch, 2, np.random.default_rng(1))
    running = engine(tmp_path, SPEC, ExecutionOptions(), 2)
    steps = [running.step(), running.finish()]
    assert all(step is not None and step.rounds < 5 for step in steps), "nothing is done for nothing"
    found = results(tmp_path, 2)
    assert len(found) > 36_000
    filled = {window: sorted(rows) for window, rows in found.items() if rows}
    assert filled == {w: oracle.skyline_of(rows) for w, rows in expected(batches, SPEC) if rows}


def test_only_what_is_needed_stays_on_disk(tmp_path: Path) -> None:
    running = engine(tmp_path, SPEC, ExecutionOptions(elastic=False, start=Degrees(3, 2)), 2)
    stream = ordered_stream(2_000, 2_000)
    for number in range(20):
        put(tmp_path, number, stream[100 * number : 100 * (number + 1)], 2, np.random.default_rng(number))
        running.step()
        needed = {extent.file for extent in running.state.extents if extent.count}
        assert {file.name for file in (tmp_path / "partials/data").glob("*")} == needed
        assert [file.name for file in (tmp_path / "state").glob("*.json")] == [f"{number}.json"]
        assert not list((tmp_path / "tuples/data").glob("*"))


def test_what_tasks_get_and_hand_back_does_not_grow_with_the_tuples(tmp_path: Path) -> None:
    """Tuples stay in files: the driver sends and is told counts and names."""

    def told(folder: Path, rows: int) -> int:
        sizes: list[int] = []

        def weighed(function: Callable[[W], D], works: Sequence[W]) -> list[D]:
            done = in_this_process(function, works)
            sizes.extend(len(pickle.dumps(one)) for one in (*works, *done))
            return done

        running = engine(folder, SPEC, ExecutionOptions(elastic=False, start=Degrees(2, 2)), 2, weighed)
        put(folder, 0, ordered_stream(rows, 2_000_000 // rows), 2, np.random.default_rng(1))
        running.step()
        running.finish()
        return sum(sizes)

    assert told(tmp_path / "many", 20_000) < 1.2 * told(tmp_path / "few", 200)


def test_state_is_the_same_after_a_restart(tmp_path: Path) -> None:
    running = engine(tmp_path, SPEC, ExecutionOptions(elastic=False, start=Degrees(3, 2)), 2)
    put(tmp_path, 0, ordered_stream(300, 3_000), 2, np.random.default_rng(1))
    running.step()
    again = engine(tmp_path, SPEC, ExecutionOptions(elastic=False, start=Degrees(3, 2)), 2)
    assert json.loads(json.dumps(again.state.as_json())) == json.loads(json.dumps(running.state.as_json()))


def test_another_set_point_and_no_merging_count_after_a_restart(tmp_path: Path) -> None:
    options = ExecutionOptions(set_point=0.9, most=6)
    running = engine(tmp_path, SPEC, options, 2)
    stream = ordered_stream(300, 3_000)
    for number in range(3):
        put(tmp_path, number, stream[100 * number : 100 * (number + 1)], 2, np.random.default_rng(number))
        running.step()
    before = running.state.emitter.panes.threshold
    again = engine(tmp_path, SPEC, replace(options, set_point=0.7, merging=False), 2).state
    threshold = again.emitter.panes.threshold
    assert threshold.pid is not None
    assert threshold.pid.set_point == 0.7
    assert replace(threshold, pid=before.pid) == before, "what was learned is kept"
    assert before.sizes.count > 0
    assert not again.directory.merging
    never = engine(tmp_path, SPEC, replace(options, splitting=Splitting.NEVER), 2).state
    assert never.emitter.panes.threshold == Threshold(None)


def test_another_query_may_not_use_the_folder(tmp_path: Path) -> None:
    QueryFolder(tmp_path).open(SPEC, names(2))
    with pytest.raises(PreferenceError, match="slide_ms is 100, not 50; choose another folder"):
        QueryFolder(tmp_path).open(replace(SPEC, windows=Windows(300, 50)), names(2))


def test_more_tasks_may_be_used_after_a_restart(tmp_path: Path) -> None:
    stream = ordered_stream(600, 2_000)
    put(tmp_path, 0, stream[:300], 2, np.random.default_rng(1))
    engine(tmp_path, SPEC, ExecutionOptions(elastic=False, start=Degrees(1, 1), most=2), 2).step()
    put(tmp_path, 1, stream[300:], 2, np.random.default_rng(2))
    wide = engine(tmp_path, SPEC, ExecutionOptions(Splitting.EVEN, elastic=False, start=Degrees(5, 2), most=9), 2)
    step = wide.step()
    wide.finish()
    assert step is not None
    assert len(step.closed[-1].partitions) == 5
    found = {window: sorted(rows) for window, rows in results(tmp_path, 2).items()}
    assert found == {w: oracle.skyline_of(rows) for w, rows in expected([stream[:300], stream[300:]], SPEC)}


def test_windows_take_as_many_tasks_as_their_panes_have_partitions(tmp_path: Path) -> None:
    running = engine(tmp_path, SPEC, ExecutionOptions(Splitting.EVEN, elastic=False, start=Degrees(4, 9), most=13), 2)
    stream, steps = ordered_stream(1_000, 2_000), []
    for number in range(5):
        put(tmp_path, number, stream[200 * number : 200 * (number + 1)], 2, np.random.default_rng(number))
        steps.append(running.step())
    done = [step for step in (*steps, running.finish()) if step is not None]
    counts = {pane.pane: pane.count for step in done for pane in step.closed}
    windows = [SPEC.windows.of_pane(pane) for pane in counts]
    assert sum(step.merges for step in done) > 0
    tasks = sum(step.updates + step.merges for step in done)
    assert tasks == sum(count * len(inside) for count, inside in zip(counts.values(), windows, strict=True))
