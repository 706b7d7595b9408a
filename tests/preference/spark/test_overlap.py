"""Both stages at once: the windows of the definition, each once, whoever is killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.preference.spark import oracle
from tests.preference.spark.oracle import Tuple
from tests.preference.spark.stream_folder import engine, in_this_process, names, put, results
from tests.preference.spark.test_engine import SHAPES, SPEC, Fragile, Killed, expected, ordered_stream, streams
from tests.waiting import PATIENCE_S

from mead.preference.control.degrees import Degrees
from mead.preference.kernels.dominance import Preferences
from mead.preference.spark.emission import Emitter
from mead.preference.spark.engine import Step
from mead.preference.spark.overlap import OverlappedStages
from mead.preference.spark.pane_stage import work_on_panes
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.spark.window_runner import D, RunTasks, W
from mead.preference.spark.window_stage import work_on_windows
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows


def overlap(
    folder: Path, batches: list[list[Tuple]], spec: QuerySpec, options: ExecutionOptions, run: RunTasks
) -> list[Step]:
    """Process all batches; after a crash another process continues."""
    width, rng, steps = len(spec.preferences.columns), np.random.default_rng(1), list[Step]()
    for number, batch in enumerate(batches):
        put(folder, number, batch, width, rng)
    while True:
        try:
            with OverlappedStages(engine(folder, spec, options, width, run), steps.append) as stages:
                while stages.advance():
                    pass
                stages.finish()
        except Killed:
            continue
        return steps


@settings(max_examples=25, deadline=None)
@given(
    streams(width=3),
    st.sampled_from(SHAPES),
    st.sampled_from(list(Splitting)),
    st.lists(st.integers(1, 25), max_size=4),
    st.integers(1, 5),
)
def test_every_window_is_that_of_the_definition(
    tmp_path_factory: pytest.TempPathFactory,
    batches: list[list[Tuple]],
    windows: Windows,
    splitting: Splitting,
    kills: list[int],
    panes: int,
) -> None:
    """The controller decides after every micro-batch, so that degrees change."""
    spec = QuerySpec(Preferences(tuple(names(3)), ("min",) * 3), windows)
    options = ExecutionOptions(splitting, start=Degrees(panes, 2), most=7, most_rows=30, control_s=0.01)
    folder = tmp_path_factory.mktemp("query")
    overlap(folder, batches, spec, options, Fragile(kills))
    found = {window: sorted(rows) for window, rows in results(folder, 3).items()}
    assert found == {window: oracle.skyline_of(rows) for window, rows in expected(batches, spec)}


def test_windows_are_merged_while_the_next_panes_are_computed(tmp_path: Path) -> None:
    """The first windows wait for the start of panes that the input brought later; in turn, they would wait for ever."""
    stream = ordered_stream(1_200, 1_000)
    batches = [stream[first : first + 400] for first in range(0, 1_200, 400)]
    begun, second, met = list[int](), Event(), list[bool]()

    def meet(function: Callable[[W], D], works: Sequence[W]) -> list[D]:
        if function is work_on_panes:
            begun.append(len(works))
            if len(begun) == 2:
                second.set()
        if function is work_on_windows:
            met.append(second.wait(PATIENCE_S))
        return in_this_process(function, works)

    steps = overlap(tmp_path, batches, SPEC, ExecutionOptions(elastic=False, most_rows=400), meet)
    assert met[0], "the panes of the second micro-batch have begun"
    assert [step.tuples for step in steps] == [400, 400, 400, 0]
    assert [step.number for step in steps] == [0, 1, 2, 3]
    found = {window: sorted(rows) for window, rows in results(tmp_path, 2).items()}
    assert found == {window: oracle.skyline_of(rows) for window, rows in expected(batches, SPEC)}


def test_an_error_of_the_windows_ends_the_panes(tmp_path: Path) -> None:
    def fail(function: Callable[[W], D], works: Sequence[W]) -> list[D]:
        if function is work_on_windows:
            raise ValueError("no windows today")
        return in_this_process(function, works)

    stream = ordered_stream(1_200, 1_000)
    batches = [stream[first : first + 400] for first in range(0, 1_200, 400)]
    with pytest.raises(ValueError, match="no windows today"):
        overlap(tmp_path, batches, SPEC, ExecutionOptions(most_rows=400), fail)
    assert not results(tmp_path, 2)


def test_only_what_is_needed_stays_on_disk(tmp_path: Path) -> None:
    stream = ordered_stream(2_000, 2_000)
    batches = [stream[first : first + 200] for first in range(0, 2_000, 200)]
    options = ExecutionOptions(Splitting.EVEN, elastic=False, start=Degrees(3, 2), most_rows=200)
    overlap(tmp_path, batches, SPEC, options, in_this_process)
    there = {file.name for file in (tmp_path / "partials/data").glob("*")}
    after = engine(tmp_path, SPEC, options, 2).state
    assert there == {extent.file for extent in after.extents if extent.count}
    assert [file.name for file in (tmp_path / "state").glob("*.json")] == [f"{after.step}.json"]


def test_the_emitter_runs_once_per_micro_batch_however_many_tasks_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: list[int] = []
    offer = Emitter.offer

    def counting(self: Emitter, event_us: np.ndarray, arrival_us: np.ndarray, ends: Sequence[int]) -> object:
        offered.append(event_us.size)
        return offer(self, event_us, arrival_us, ends)

    monkeypatch.setattr(Emitter, "offer", counting)
    stream = ordered_stream(900, 1_000)
    batches = [stream[first : first + 300] for first in range(0, 900, 300)]
    options = ExecutionOptions(Splitting.EVEN, elastic=False, start=Degrees(5, 2), most_rows=300)
    overlap(tmp_path, batches, SPEC, options, in_this_process)
    assert offered == [300, 300, 300]
