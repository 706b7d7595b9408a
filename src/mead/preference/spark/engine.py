"""Runs the micro-batches of a query: stages, commit, control.

A micro-batch has two halves. `Engine.compute_panes` runs the emitter and the pane stage; `Engine.merge_windows` runs
the window stage and commits. Panes may be computed ahead of the commit: a micro-batch starts from the pane results of
the one before, whether its windows are merged or not. Commits are in order, each of a whole micro-batch. So a crash
loses at most the work on two micro-batches, and no result.

The caller passes in the runner of tasks: Spark jobs, or a loop in this process. Only counts, sizes and file names
return from tasks; tuples stay in files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue

import numpy as np
import pyarrow as pa

from mead.preference.control.degrees import Degrees
from mead.preference.spark.control import Measurement, StageWork, Timing, TwoLevelControl
from mead.preference.spark.ingest import ArrivalTimes
from mead.preference.spark.pane_stage import PaneWork, Slice, assign_tuples, work_on_panes
from mead.preference.spark.query_spec import ExecutionOptions, QuerySpec
from mead.preference.spark.state import READER, QueryFolder, QueryState
from mead.preference.spark.window_runner import RunTasks, WindowRunner
from mead.preference.windows.messages import UNKNOWN_COUNT, PaneResult
from mead.preference.windows.pane_emitter import ClosedPane
from mead.spark.log.stream_log import Extent, StreamLog

PID_PERIOD_S = 0.25
"""The sampling period of the released code."""


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


@dataclass(frozen=True, eq=False)
class ComputedPanes:
    """A micro-batch whose panes are computed, and whose windows are not merged yet."""

    state: QueryState
    """The state after it; step and windows are those of the last commit."""
    tuples: int
    degrees: Degrees
    alpha: float
    closed: tuple[ClosedPane, ...]
    results: tuple[PaneResult[Extent], ...]
    """Results for the window stage."""
    written: frozenset[str]
    """Files of partial results."""
    started_s: float
    utilization: float | None


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
        """The state after the last commit."""
        self._run, self._now_s = run, now_s
        self._windows = WindowRunner(spec, options.kernel, folder, schema, run)
        self._committed = StreamLog(folder.tuples)  # of the other thread
        self._arrivals = ArrivalTimes(folder.tuples)
        self._came_s: float | None = None
        """When the last processed tuples arrived."""
        self._window_work: SimpleQueue[StageWork] = SimpleQueue()
        """Work of the window stage since the last measurement."""

    def step(self) -> Step | None:
        """Process a micro-batch of the new tuples, one stage after the other; return None if there are none."""
        with self._undoing():
            computed = self.compute_panes()
            return None if computed is None else self.merge_windows(computed)

    def finish(self) -> Step:
        """Complete the open panes, after the stream has ended and been processed."""
        with self._undoing():
            return self.merge_windows(self.close_panes())

    @contextmanager
    def _undoing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.state = self.folder.load(self.spec, self.options)  # undo the micro-batch
            raise

    def compute_panes(self, before: ComputedPanes | None = None) -> ComputedPanes | None:
        """Compute the panes of the next micro-batch; return None if there are no new tuples.

        It follows the micro-batch ``before``, which need not be committed; by default the last one that is.
        """
        state = before.state if before else self.state
        ends = self._ends(state.offset)
        return self._compute(state, ends) if ends else None

    def close_panes(self, before: ComputedPanes | None = None) -> ComputedPanes:
        """Complete the open panes: the last micro-batch of the stream."""
        return self._compute(before.state if before else self.state, [])

    def _ends(self, first: int) -> list[int]:
        """Return the ends of the input's micro-batches to process; inside of one that has too many rows.

        Files are in order of arrival, so one that a single task wrote can be cut anywhere without changing the order of
        the stream. Rows of several files have to be sorted together.
        """
        most = self.options.most_rows
        ends = self.tuples.batch_ends(first, most)
        if ends and ends[0] - first > most and len(self.tuples.divide(first, ends[0], 1)[0]) == 1:
            return [first + most]
        return ends

    def _compute(self, before: QueryState, ends: list[int]) -> ComputedPanes:
        state, started_s = before.copy_panes(), self._now_s()
        degrees, alpha = state.degrees, state.emitter.panes.threshold.alpha
        results, written = self._resize(state), set[str]()
        work, utilization = StageWork.none(degrees.panes), None
        if ends:
            work, closed, written = self._pane_stage(state, ends)
        else:
            closed = state.emitter.finish()
        results += state.take_results(closed)
        window_work = self._take_window_work()
        if ends and (arrived_s := self._arrived_s(ends[-1])):
            ended_s = self._now_s()
            timing = Timing(ended_s, arrived_s, ended_s - started_s)
            measured = Measurement(timing, work, window_work, tuple(pane.count for pane in closed))
            utilization = measured.pane_utilization(self.options.slots)
            panes = state.emitter.panes
            panes.threshold, state.degrees = self.levels.after(measured, panes.threshold, degrees)
        return ComputedPanes(
            state,
            state.offset - before.offset,
            degrees,
            alpha,
            closed,
            tuple(results),
            frozenset(written),
            started_s,
            utilization,
        )

    def merge_windows(self, computed: ComputedPanes) -> Step:
        """Merge the results of a micro-batch into their windows, and commit it. In the order of the micro-batches."""
        directory, used = self.state.directory, self.state.files | computed.written
        for result in computed.results:
            directory.add(result)
        state = replace(computed.state, directory=directory, step=self.state.step + 1)
        merged = self._windows.merge(directory, computed.degrees.windows, state.emitter.origin_us)
        self._window_work.put(merged.work)
        self.folder.commit(state, merged.windows, used | merged.written)
        self.state = state
        self._committed.release(READER, state.offset)
        return Step(
            state.step,
            computed.tuples,
            computed.degrees,
            computed.alpha,
            computed.closed,
            tuple((window, written.rows) for window, written in merged.windows),
            merged.updates,
            merged.merges,
            merged.rounds,
            computed.started_s,
            self._now_s() - computed.started_s,
            computed.utilization,
        )

    def _take_window_work(self) -> StageWork:
        """Return the work of window stages that have ended since the last call."""
        total = StageWork.none(1)
        while not self._window_work.empty():
            total = total.plus(self._window_work.get())
        return total

    def _arrived_s(self, end: int) -> float | None:
        """Return the time in which a micro-batch's tuples arrived; None for the first, or if a clock was set back."""
        before_s, came_s = self._came_s, self._arrivals.until(end)
        self._came_s = before_s if came_s is None else came_s
        if before_s is None or came_s is None or came_s <= before_s:
            return None
        return came_s - before_s

    def _resize(self, state: QueryState) -> list[PaneResult[Extent]]:
        """Set the number of pane workers. A removed worker sends on its results, with unknown counts."""
        panes = state.emitter.panes
        active = panes.active
        if len(active) < state.degrees.panes:
            free = [worker for worker in range(panes.table.workers) if worker not in active]
            panes.add(free[: state.degrees.panes - len(active)])
        elif len(active) > state.degrees.panes:
            queues = np.zeros(panes.table.workers, dtype=np.int64)  # empty between micro-batches
            flushed = panes.remove(active[state.degrees.panes :], queues).flushed
            return [PaneResult(part.pane, UNKNOWN_COUNT, state.take_result(part)) for part in flushed]
        return []

    def _pane_stage(self, state: QueryState, ends: list[int]) -> tuple[StageWork, tuple[ClosedPane, ...], set[str]]:
        """Assign and reduce the tuples; return the work of each worker, complete panes and written files."""
        (pieces,) = self.tuples.divide(state.offset, ends[-1], 1)
        relative = tuple(end - state.offset for end in ends)
        tuples = Slice(self.folder.tuples, tuple(pieces), state.offset, relative)
        active = state.emitter.panes.active
        shares, closed = assign_tuples(tuples, state.emitter, self.folder.partials)
        partials, spec, kernel = self.folder.partials, self.spec, self.options.kernel
        works = [
            PaneWork(worker, tuples, share, state.open_results.get(worker, {}), partials, spec, kernel)
            for worker, share in shares.items()
        ]
        written = {share.rows.file for share in shares.values()}
        received, busy_s = np.zeros(len(active)), np.zeros(len(active))
        for one in self._run(work_on_panes, works) if works else []:
            state.open_results.setdefault(one.worker, {}).update(one.results)
            written |= {extent.file for extent in one.results.values()}
            received[active.index(one.worker)], busy_s[active.index(one.worker)] = one.received, one.busy_s
        state.offset = ends[-1]
        return StageWork(received, busy_s), closed, written
