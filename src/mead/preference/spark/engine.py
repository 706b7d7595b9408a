"""Runs the micro-batches of a query: stages, commit, control.

The caller passes in the runner of tasks: Spark jobs, or a loop in this process. Only counts, sizes and file names
return from tasks; tuples stay in files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from mead.preference.control.degrees import Degrees
from mead.preference.spark.control import Measurement, StageWork, Timing, TwoLevelControl
from mead.preference.spark.emission import Emitter
from mead.preference.spark.ingest import ArrivalTimes
from mead.preference.spark.pane_stage import NOTHING, PaneOutput, PaneWork, Slice, work_on_panes
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.spark.state import READER, QueryFolder
from mead.preference.spark.window_rounds import Chain, spread
from mead.preference.spark.window_stage import WindowWork, work_on_windows
from mead.preference.windows.messages import UNKNOWN_COUNT, PaneResult
from mead.preference.windows.pane_emitter import ClosedPane
from mead.spark.log.stream_log import StreamLog, WrittenFile

W = TypeVar("W")
D = TypeVar("D")

PID_PERIOD_S = 0.25
"""The sampling period of the released code."""

EMPTY_WINDOW = WrittenFile("", 0)
"""A window without tuples has a place in the index and no file."""


class RunTasks(Protocol):
    """Runs a function on every piece of work, each in its own task, and returns the results."""

    def __call__(self, function: Callable[[W], D], works: Sequence[W], /) -> list[D]:
        """Run the tasks; results are in the order of the work."""


@dataclass(frozen=True)
class Step:
    """A committed micro-batch."""

    number: int
    tuples: int
    degrees: Degrees
    """Degrees in force."""
    alpha: float
    """Alpha of the threshold in force."""
    closed: tuple[ClosedPane, ...]
    windows: tuple[tuple[int, int], ...]
    """Complete windows and the sizes of their results."""
    updates: int
    """WIN_UPDATE tasks."""
    merges: int
    """MERGE tasks."""
    rounds: int
    started_s: float
    took_s: float
    pane_utilization: float | None
    """None for the first micro-batch, whose time of arrival is unknown."""


class Engine:
    """The stages of one query in its folder. Only one process at a time may run it."""

    def __init__(
        self,
        spec: QuerySpec,
        options: ExecutionOptions,
        folder: QueryFolder,
        schema: pa.Schema,
        run: RunTasks,
        now_s: Callable[[], float],
    ) -> None:
        self.spec, self.options, self.folder = spec, options, folder
        self.levels = TwoLevelControl(options, max(PID_PERIOD_S, spec.windows.pane_us / 1e6))
        self.tuples = StreamLog(folder.tuples)
        self.tuples.register(READER)
        self.state = folder.load(spec, options)
        self._schema, self._run, self._now_s = schema, run, now_s
        self._arrivals = ArrivalTimes(folder.tuples)
        self._came_s: float | None = None
        """When the last processed tuples arrived."""

    def step(self) -> Step | None:
        """Process a micro-batch of the new tuples; return None if there are none."""
        ends = self._ends()
        return self._step(ends) if ends else None

    def _ends(self) -> list[int]:
        """Return the ends of the input's micro-batches to process; inside of one that has too many rows.

        Files are in order of arrival, so one that a single task wrote can be cut anywhere without changing the order of
        the stream. Rows of several files have to be sorted together.
        """
        first, most = self.state.offset, self.options.most_rows
        ends = self.tuples.batch_ends(first, most)
        if ends and ends[0] - first > most and len(self.tuples.divide(first, ends[0], 1)[0]) == 1:
            return [first + most]
        return ends

    def finish(self) -> Step:
        """Complete the open panes, after the stream has ended and been processed."""
        return self._step([])

    def _step(self, ends: list[int]) -> Step:
        try:
            return self._process(ends)
        except BaseException:
            self.state = self.folder.load(self.spec, self.options)  # undo the micro-batch
            raise

    def _process(self, ends: list[int]) -> Step:
        state, began_s = self.state, self._now_s()
        self._resize()
        degrees, alpha = state.degrees, state.emitter.panes.threshold.alpha
        if ends:
            pane_work, closed = self._pane_stage(ends)
        else:
            pane_work, closed = StageWork.none(degrees.panes), state.emitter.finish()
            self._hand_on(closed)
        window_work, chains, windows, rounds = self._window_stage()
        ended_s, measured = self._now_s(), None
        if ends and (arrived_s := self._arrived_s(ends[-1])):
            timing = Timing(ended_s, arrived_s, ended_s - began_s)
            measured = Measurement(timing, pane_work, window_work, tuple(pane.count for pane in closed))
            panes = state.emitter.panes
            panes.threshold, state.degrees = self.levels.after(measured, panes.threshold, degrees)
        state.step += 1
        tuples = ends[-1] - state.offset if ends else 0
        state.offset += tuples
        self.folder.commit(state, windows)
        self.tuples.release(READER, state.offset)
        return Step(
            state.step,
            tuples,
            degrees,
            alpha,
            closed,
            tuple((window, written.rows) for window, written in windows),
            sum(chain.tasks for chain in chains if chain.update),
            sum(chain.tasks for chain in chains if not chain.update),
            rounds,
            began_s,
            self._now_s() - began_s,
            measured.pane_utilization(self.options.slots) if measured else None,
        )

    def _arrived_s(self, end: int) -> float | None:
        """Return the time in which a micro-batch's tuples arrived; None for the first, or if a clock was set back."""
        before_s, came_s = self._came_s, self._arrivals.until(end)
        self._came_s = before_s if came_s is None else came_s
        if before_s is None or came_s is None or came_s <= before_s:
            return None
        return came_s - before_s

    def _resize(self) -> None:
        """Set the number of pane workers. A removed worker sends on its results, with unknown counts."""
        panes, state = self.state.emitter.panes, self.state
        active = panes.active
        if len(active) < state.degrees.panes:
            free = [worker for worker in range(panes.table.workers) if worker not in active]
            panes.add(free[: state.degrees.panes - len(active)])
        elif len(active) > state.degrees.panes:
            queues = np.zeros(panes.table.workers, dtype=np.int64)  # empty between micro-batches
            removal = panes.remove(active[state.degrees.panes :], queues)
            for part in removal.flushed:
                result = state.open_results.get(part.worker, {}).pop(part.pane, NOTHING)
                state.directory.add(PaneResult(part.pane, UNKNOWN_COUNT, result))

    def _pane_stage(self, ends: list[int]) -> tuple[StageWork, tuple[ClosedPane, ...]]:
        state = self.state
        (pieces,) = self.tuples.divide(state.offset, ends[-1], 1)
        relative = tuple(end - state.offset for end in ends)
        tuples = Slice(self.folder.tuples, tuple(pieces), state.offset, relative)
        before, active = state.emitter.as_json(), state.emitter.panes.active
        works = [
            PaneWork(
                worker,
                tuples,
                before,
                state.open_results.get(worker, {}),
                self.folder.partials,
                self.spec,
                self.options.kernel,
                reports=worker == active[0],
            )
            for worker in active
        ]
        done: list[PaneOutput] = self._run(work_on_panes, works)
        report = next(one.report for one in done if one.report is not None)
        state.emitter = Emitter.from_json(dict(report.emitter))
        for one in done:
            state.open_results.setdefault(one.worker, {}).update(one.results)
        self._hand_on(report.closed)
        received = np.array([one.received for one in done], dtype=np.float64)
        return StageWork(received, np.array([one.busy_s for one in done])), report.closed

    def _hand_on(self, closed: Sequence[ClosedPane]) -> None:
        """Send results of complete panes to their windows."""
        state = self.state
        for pane in closed:
            for part in pane.partitions:
                result = state.open_results.get(part.worker, {}).pop(pane.pane, NOTHING)
                state.directory.add(PaneResult(pane.pane, pane.count, result))
            if not pane.partitions:
                state.directory.add(PaneResult(pane.pane, pane.count, NOTHING))

    def _window_stage(self) -> tuple[StageWork, list[Chain], list[tuple[int, WrittenFile]], int]:
        """Run rounds until nothing is pending, so that windows are complete in the order of their numbers."""
        directory, workers = self.state.directory, self.state.degrees.windows
        total, all_chains, windows, rounds = StageWork.none(workers), [], {}, 0
        while chains := directory.find_chains(workers):
            all_chains += chains
            to_do = []
            for chain in chains:
                if (result := chain.trivial) is None:
                    to_do.append(chain)
                    continue
                directory.complete_chain(chain, result)
                if chain.last:
                    windows[chain.window] = EMPTY_WINDOW
            if to_do:
                rounds += 1
                work = self._round(to_do, workers, windows)
                total = total.plus(work)
        return total, all_chains, sorted(windows.items()), rounds

    def _round(self, chains: list[Chain], workers: int, windows: dict[int, WrittenFile]) -> StageWork:
        origin_us = self.state.emitter.origin_us
        if origin_us is None:
            raise RuntimeError("results before the first tuple")
        loads = spread(chains, workers)
        works = [
            WindowWork(
                worker,
                tuple(load),
                self.folder.partials,
                self.folder.results,
                self._schema,
                origin_us,
                self.spec,
                self.options.kernel,
            )
            for worker, load in enumerate(loads)
        ]
        received, busy_s = np.zeros(workers), np.zeros(workers)
        for done in self._run(work_on_windows, works):
            received[done.worker] = sum(one.chain.tasks for one in done.chains)
            busy_s[done.worker] = done.busy_s
            for one in done.chains:
                self.state.directory.complete_chain(one.chain, one.result)
                if one.written is not None:
                    windows[one.chain.window] = one.written
        return StageWork(received, busy_s)
