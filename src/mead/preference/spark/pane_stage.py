"""The pane stage: which tuples are whose, and the task that reduces one worker's tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import thread_time

import numpy as np
import pyarrow as pa

from mead.preference.kernels.block_nested_loop import ALONE
from mead.preference.kernels.relation import relation_skyline
from mead.preference.spark.emission import Emitter, by_arrival
from mead.preference.spark.query_spec import ARRIVAL, EVENT, NUMBER, Kernel, QuerySpec
from mead.preference.spark.reduction import answer, reduce_rows
from mead.preference.windows.owner_table import NO_WORKER
from mead.preference.windows.pane_emitter import ClosedPane
from mead.spark.log.store import FileStore
from mead.spark.log.stream_log import DATA, Extent, StreamLog

NOTHING = Extent("", 0, 0)
"""No tuples, in no file."""

ROW = "row"
"""The place of a tuple in its micro-batch."""


@dataclass(frozen=True)
class Slice:
    """Rows of the log of tuples: the input of a micro-batch."""

    folder: Path
    pieces: tuple[Extent, ...]
    first: int
    """Offset of its first row."""
    ends: tuple[int, ...]
    """Ends of the input's batches, counted from its first row."""

    def read(self, *, verified: bool) -> pa.Table:
        """Read the rows by memory map. Of ``verified`` files, this reads only the parts that are used."""
        store = FileStore(self.folder / DATA, verified=verified)
        return pa.Table.from_batches(list(store.read(self.pieces)))


@dataclass(frozen=True)
class Share:
    """The tuples of one worker in a micro-batch."""

    rows: Extent
    """Their places and numbers, by pane and arrival, in a file of the partial results."""
    panes: tuple[tuple[int, int], ...]
    """Panes and their numbers of tuples, in the order of the rows."""


def assign_tuples(tuples: Slice, emitter: Emitter, partials: Path) -> tuple[dict[int, Share], tuple[ClosedPane, ...]]:
    """Run the emitter on the time stamps of a micro-batch; return the share of each worker, and complete panes.

    Shares are in a file: nothing that the driver sends to a task grows with the number of its tuples.
    """
    rows = tuples.read(verified=False)
    event_us, arrival_us = (rows.column(name).to_numpy() for name in (EVENT, ARRIVAL))
    order = by_arrival(event_us, arrival_us, tuples.ends)
    emission = emitter.offer(event_us[order], arrival_us[order], tuples.ends)
    own = np.flatnonzero(emission.workers != NO_WORKER)
    if not own.size:
        return {}, emission.closed
    own = own[np.lexsort((emission.panes[own], emission.workers[own]))]
    batch = pa.record_batch({ROW: order[own], NUMBER: tuples.first + own})
    file = StreamLog(partials).write([batch], batch.schema).file
    workers, panes = emission.workers[own], emission.panes[own]
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(workers) != 0) | (np.diff(panes) != 0))))
    parts: dict[int, list[tuple[int, int]]] = {}
    for start, count in zip(starts.tolist(), np.diff([*starts, own.size]).tolist(), strict=True):
        parts.setdefault(int(workers[start]), []).append((int(panes[start]), count))
    shares, skip = {}, 0
    for worker, counts in parts.items():
        size = sum(count for _, count in counts)
        shares[worker] = Share(Extent(file, skip, size), tuple(counts))
        skip += size
    return shares, emission.closed


@dataclass(frozen=True)
class PaneWork:
    """The work of one worker."""

    worker: int
    tuples: Slice
    share: Share
    open_results: Mapping[int, Extent]
    """Results of the worker for open panes."""
    partials: Path
    """The folder of such results."""
    spec: QuerySpec
    kernel: Kernel


@dataclass(frozen=True)
class PaneOutput:
    """Output of one worker."""

    worker: int
    received: int
    busy_s: float
    """CPU time."""
    results: Mapping[int, Extent]
    """By pane, the result that replaces the earlier one."""


@cache
def warm_up(spec: QuerySpec, kernel: Kernel) -> None:
    """Compile the kernels of the query, once per process, before time is measured."""
    names = spec.preferences.columns
    if spec.relation is not None:
        relation_skyline(np.empty((0, len(names))), spec.relation.load())  # compiles, and calls no code of the user
    else:
        few = pa.table({name: [1.0, 2.0] for name in names} | {NUMBER: [0, 1]})
        answer(reduce_rows(few, spec, kernel), spec)


def warm_worker(kernels: tuple[QuerySpec, Kernel]) -> None:
    """Warm a worker up, in a Spark task, before the stream begins."""
    warm_up(*kernels)


def work_on_panes(work: PaneWork) -> PaneOutput:
    """Do the work, in a Spark task. It depends on the worker's own tuples alone."""
    warm_up(work.spec, work.kernel)
    started_s = thread_time()
    results = _write_results(_by_pane(work), work.partials)
    return PaneOutput(work.worker, work.share.rows.count, thread_time() - started_s, results)


def _by_pane(work: PaneWork) -> Iterator[tuple[int, pa.Table]]:
    """Yield the reduced rows of each pane."""
    places = read_extents(work.partials, [work.share.rows])
    rows = work.tuples.read(verified=True).drop_columns([EVENT, ARRIVAL])  # the emitter has verified them
    mine = rows.take(places.column(ROW)).append_column(NUMBER, places.column(NUMBER))
    start = 0
    for pane, count in work.share.panes:
        some = mine.slice(start, count)
        start += count
        if (earlier := work.open_results.get(pane, NOTHING)).count:
            some = pa.concat_tables([read_extents(work.partials, [earlier]), some])
        results = np.concatenate((np.zeros(earlier.count, dtype=np.int64), np.full(count, ALONE)))
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
