"""A task of the window stage: one worker's chains of a round."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import thread_time

import numpy as np
import pyarrow as pa

from mead.preference.spark.pane_stage import NOTHING, read_extents, warm_up
from mead.preference.spark.query_spec import END, NUMBER, START, WINDOW, Kernel, QuerySpec
from mead.preference.spark.reduction import answer, reduce_rows
from mead.preference.spark.window_rounds import Chain
from mead.spark.log.stream_log import Extent, StreamLog, WrittenFile

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class WindowWork:
    """The work of one worker in one round."""

    worker: int
    chains: tuple[Chain, ...]
    partials: Path
    results: Path
    """The log of complete windows."""
    schema: pa.Schema
    """Schema of that log."""
    origin_us: int
    spec: QuerySpec
    kernel: Kernel


@dataclass(frozen=True)
class ChainOutput:
    """Result of a chain for later rounds, or a complete window."""

    chain: Chain
    result: Extent
    written: WrittenFile | None


@dataclass(frozen=True)
class WindowOutput:
    """Output of a worker's chains."""

    worker: int
    busy_s: float
    chains: tuple[ChainOutput, ...]


def work_on_windows(work: WindowWork) -> WindowOutput:
    """Do the work, in a Spark task."""
    warm_up(work.spec, work.kernel)
    started_s = thread_time()
    done = tuple(_run_chain(chain, work) for chain in work.chains)
    return WindowOutput(work.worker, thread_time() - started_s, done)


def _run_chain(chain: Chain, work: WindowWork) -> ChainOutput:
    rows = read_extents(work.partials, list(chain.results))
    results = np.repeat(np.arange(len(chain.results)), [result.count for result in chain.results])
    if chain.last:
        if work.kernel is Kernel.NESTED_LOOP:
            rows = reduce_rows(rows, work.spec, work.kernel, results)
        best = answer(rows, work.spec)
        return ChainOutput(
            chain, NOTHING, StreamLog(work.results).write(_window(chain.window, best, work), work.schema)
        )
    left = reduce_rows(rows, work.spec, work.kernel, results).combine_chunks()
    written = StreamLog(work.partials).write(left.to_batches(), left.schema)
    return ChainOutput(chain, Extent(written.file, 0, written.rows), None)


def _window(window: int, best: pa.Table, work: WindowWork) -> list[pa.RecordBatch]:
    """Return rows with the columns that users see."""
    start, end = window_bounds(window, work.origin_us, work.spec)
    shown = best.drop_columns([NUMBER])
    bounds = {WINDOW: window, START: start, END: end}
    types = {name: work.schema.field(name).type for name in bounds}
    columns = [pa.repeat(pa.scalar(value, types[name]), best.num_rows) for name, value in bounds.items()]
    table = pa.Table.from_arrays([*columns, *shown.columns], names=work.schema.names).cast(work.schema)
    return list(table.combine_chunks().to_batches())


def window_bounds(window: int, origin_us: int, spec: QuerySpec) -> tuple[datetime, datetime]:
    """Return the start and the end of a window."""
    start = EPOCH + timedelta(microseconds=origin_us + 1000 * window * spec.windows.slide_ms)
    return start, start + timedelta(milliseconds=spec.windows.length_ms)
