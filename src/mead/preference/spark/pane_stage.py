"""A task of the pane stage: reduces one worker's tuples with its earlier results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa

from mead.arrays import IntArray
from mead.preference.control.threshold import Threshold
from mead.preference.kernels.block_nested_loop import ALONE
from mead.preference.kernels.relation import relation_skyline
from mead.preference.spark.emission import Emission, Emitter, by_arrival
from mead.preference.spark.query_spec import ARRIVAL, EVENT, NUMBER, Kernel, QuerySpec
from mead.preference.spark.reduction import answer, reduce_rows
from mead.preference.windows.owner_table import OwnerTable, Splitting
from mead.preference.windows.pane_emitter import ClosedPane, PaneEmitter
from mead.spark.log.stream_log import Extent, StreamLog

NOTHING = Extent("", 0, 0)
"""No tuples, in no file."""


@dataclass(frozen=True)
class Slice:
    """Rows of the log of tuples: the input of a micro-batch."""

    folder: Path
    pieces: tuple[Extent, ...]
    first: int
    """Offset of its first row."""
    ends: tuple[int, ...]
    """Ends of the input's batches, counted from its first row."""

    def read(self) -> pa.Table:
        """Read the rows by memory map; unused columns are not touched."""
        return pa.Table.from_batches(list(StreamLog(self.folder).read(self.pieces)))


@dataclass(frozen=True)
class PaneWork:
    """The work of one worker."""

    worker: int
    tuples: Slice
    emitter: Mapping[str, Any]
    """State of the emitter before this micro-batch."""
    open_results: Mapping[int, Extent]
    """Results of the worker for open panes."""
    partials: Path
    """The folder of such results."""
    spec: QuerySpec
    kernel: Kernel
    reports: bool
    """Whether to report the emitter's new state: one of all workers does."""


@dataclass(frozen=True)
class EmitterReport:
    """The emitter's new state for the driver: counts, and no tuple."""

    emitter: Mapping[str, Any]
    closed: tuple[ClosedPane, ...]


@dataclass(frozen=True)
class PaneOutput:
    """Output of one worker."""

    worker: int
    received: int
    busy_s: float
    """CPU time from the first own tuple on, without the work that every task does."""
    results: Mapping[int, Extent]
    """By pane, the result that replaces the earlier one."""
    report: EmitterReport | None


@cache
def warm_up(spec: QuerySpec, kernel: Kernel) -> None:
    """Compile the kernels of the query, once per process, before time is measured."""
    names = spec.preferences.columns
    if spec.relation is not None:
        relation_skyline(np.empty((0, len(names))), spec.relation.load())  # compiles, and calls no code of the user
    else:
        few = pa.table({name: [1.0, 2.0] for name in names} | {NUMBER: [0, 1]})
        answer(reduce_rows(few, spec, kernel), spec)
    panes = PaneEmitter(OwnerTable(2, Splitting.ADAPTIVE), Threshold())
    panes.add([0, 1])
    stamps_us = np.array([0, 3 * spec.windows.pane_us])
    Emitter(spec.windows, spec.k_slack(), panes).offer(stamps_us[by_arrival(stamps_us, stamps_us, [2])], stamps_us, [2])


def warm_worker(kernels: tuple[QuerySpec, Kernel]) -> None:
    """Warm a worker up, in a Spark task, before the stream begins."""
    warm_up(*kernels)


def work_on_panes(work: PaneWork) -> PaneOutput:
    """Do the work, in a Spark task."""
    warm_up(work.spec, work.kernel)
    rows = work.tuples.read()
    event_us, arrival_us = (rows.column(name).to_numpy() for name in (EVENT, ARRIVAL))
    order = by_arrival(event_us, arrival_us, work.tuples.ends)
    emitter = Emitter.from_json(dict(work.emitter))
    emission = emitter.offer(event_us[order], arrival_us[order], work.tuples.ends)
    started_s = thread_time()
    assigned = np.flatnonzero(emission.workers == work.worker)
    results = _write_results(_by_pane(rows, order, assigned, emission, work), work.partials) if assigned.size else {}
    busy_s = thread_time() - started_s
    report = EmitterReport(emitter.as_json(), emission.closed) if work.reports else None
    return PaneOutput(work.worker, assigned.size, busy_s, results, report)


def _by_pane(
    rows: pa.Table, order: IntArray, own: IntArray, emission: Emission, work: PaneWork
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the reduced rows of each pane."""
    own = own[np.argsort(emission.panes[own], kind="stable")]
    mine = rows.drop_columns([EVENT, ARRIVAL]).take(order[own])
    mine = mine.append_column(NUMBER, pa.array(work.tuples.first + own))
    panes = emission.panes[own]
    starts = np.flatnonzero(np.concatenate(([True], np.diff(panes) > 0)))
    for start, end in zip(starts, [*starts[1:], own.size], strict=True):
        pane, some = int(panes[start]), mine.slice(start, end - start)
        if (earlier := work.open_results.get(pane, NOTHING)).count:
            some = pa.concat_tables([read_extents(work.partials, [earlier]), some])
        results = np.concatenate((np.zeros(earlier.count, dtype=np.int64), np.full(end - start, ALONE)))
        yield pane, reduce_rows(some, work.spec, work.kernel, results)


def _write_results(results: Iterator[tuple[int, pa.Table]], folder: Path) -> dict[int, Extent]:
    """Write all results into one file."""
    tables = dict(results)
    batches = [batch for table in tables.values() for batch in table.combine_chunks().to_batches()]
    file, skip, extents = StreamLog(folder).write(batches, batches[0].schema).file, 0, {}
    for pane, table in tables.items():
        extents[pane] = Extent(file, skip, table.num_rows)
        skip += table.num_rows
    return extents


def read_extents(folder: Path, extents: list[Extent]) -> pa.Table:
    """Read the tuples of results, one after the other; at least one must not be empty."""
    return pa.Table.from_batches(list(StreamLog(folder).read(one for one in extents if one.count)))
