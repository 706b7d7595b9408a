"""A task of the pane stage: one worker's tuples of a micro-batch, reduced with what it held of their panes before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa

from mead.arrays import IntArray
from mead.preference.kernels.block_nested_loop import ALONE
from mead.preference.spark.emission import Emission, Emitter, by_arrival
from mead.preference.spark.query_spec import ARRIVAL, EVENT, NUMBER, Asked, Kernel
from mead.preference.spark.reduction import reduced
from mead.preference.spark.warm_up import warm_up
from mead.preference.windows.pane_emitter import Closed
from mead.spark.log.stream_log import Extent, StreamLog

NOTHING = Extent("", 0, 0)
"""No tuples, in no file."""


@dataclass(frozen=True)
class Slice:
    """Rows of the log of tuples: what a micro-batch is about."""

    folder: Path
    pieces: tuple[Extent, ...]
    first: int
    """Offset of its first row."""
    ends: tuple[int, ...]
    """Where the batches of the input end, counted from its first row."""

    def read(self) -> pa.Table:
        """From where they are; columns that nobody asks for are not touched."""
        return pa.Table.from_batches(list(StreamLog(self.folder).read(self.pieces)))


@dataclass(frozen=True)
class PaneWork:
    """The work of one worker."""

    worker: int
    tuples: Slice
    emitter: Mapping[str, Any]
    """The state of the emitter before this micro-batch."""
    held: Mapping[int, Extent]
    """What the worker has of open panes."""
    partials: Path
    """The folder of such results."""
    asked: Asked
    kernel: Kernel
    reports: bool
    """Whether it tells what became of the emitter: one of all workers does."""


@dataclass(frozen=True)
class Emitted:
    """What the driver is told of the emitter: counts, and no tuple."""

    emitter: Mapping[str, Any]
    closed: tuple[Closed, ...]


@dataclass(frozen=True)
class PaneDone:
    """What came of it."""

    worker: int
    received: int
    """Tuples."""
    busy_s: float
    """CPU time from the first own tuple on; what everybody does is left out."""
    results: Mapping[int, Extent]
    """By pane, the result that replaces the one that was held."""
    emitted: Emitted | None


def work_on_panes(work: PaneWork) -> PaneDone:
    """Do the work, in a Spark task."""
    warm_up(work.asked, work.kernel)
    rows = work.tuples.read()
    event_us, arrival_us = (rows.column(name).to_numpy() for name in (EVENT, ARRIVAL))
    order = by_arrival(event_us, arrival_us, work.tuples.ends)
    emitter = Emitter.from_json(dict(work.emitter))
    emission = emitter.offer(event_us[order], arrival_us[order])
    started_s = thread_time()
    own = np.flatnonzero(emission.workers == work.worker)
    results = _written(_by_pane(rows, order, own, emission, work), work.partials) if own.size else {}
    busy_s = thread_time() - started_s
    emitted = Emitted(emitter.as_json(), emission.closed) if work.reports else None
    return PaneDone(work.worker, own.size, busy_s, results, emitted)


def _by_pane(
    rows: pa.Table, order: IntArray, own: IntArray, emission: Emission, work: PaneWork
) -> Iterator[tuple[int, pa.Table]]:
    """Pane by pane, what is left of it."""
    own = own[np.argsort(emission.panes[own], kind="stable")]
    mine = rows.drop_columns([EVENT, ARRIVAL]).take(order[own])
    mine = mine.append_column(NUMBER, pa.array(work.tuples.first + own))
    panes = emission.panes[own]
    starts = np.flatnonzero(np.concatenate(([True], np.diff(panes) > 0)))
    for start, end in zip(starts, [*starts[1:], own.size], strict=True):
        pane, some = int(panes[start]), mine.slice(start, end - start)
        if (held := work.held.get(pane, NOTHING)).count:
            some = pa.concat_tables([read_extents(work.partials, [held]), some])
        results = np.concatenate((np.zeros(held.count, dtype=np.int64), np.full(end - start, ALONE)))
        yield pane, reduced(some, work.asked, work.kernel, results)


def _written(results: Iterator[tuple[int, pa.Table]], folder: Path) -> dict[int, Extent]:
    """Write all results into one file."""
    tables = dict(results)
    batches = [batch for table in tables.values() for batch in table.combine_chunks().to_batches()]
    file, skip, extents = StreamLog(folder).write(batches, batches[0].schema).file, 0, {}
    for pane, table in tables.items():
        extents[pane] = Extent(file, skip, table.num_rows)
        skip += table.num_rows
    return extents


def read_extents(folder: Path, extents: list[Extent]) -> pa.Table:
    """Tuples of results, one after the other; not all of them are empty."""
    return pa.Table.from_batches(list(StreamLog(folder).read(one for one in extents if one.count)))
