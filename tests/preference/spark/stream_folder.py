"""A query without Spark: tuples put into its log, micro-batches in this process, results read back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.preference.spark.oracle import Tuple, Values

from mead.preference.spark.engine import Engine
from mead.preference.spark.ingest import WRITTEN_S
from mead.preference.spark.query_spec import ARRIVAL, END, EVENT, START, WINDOW, ExecutionOptions, QuerySpec
from mead.preference.spark.state import QueryFolder
from mead.preference.spark.window_runner import D, RunTasks, W
from mead.spark.log.stream_log import StreamLog

BATCH_S = 0.3
"""From one micro-batch of the input to the next."""

STAMP = pa.timestamp("us", tz="UTC")


def in_this_process(function: Callable[[W], D], works: Sequence[W]) -> list[D]:
    """Run tasks without Spark, one after the other."""
    return [function(work) for work in works]


def tuple_columns(width: int) -> pa.Schema:
    return pa.schema([(name, pa.float64()) for name in names(width)])


def names(width: int) -> list[str]:
    return [f"a{n}" for n in range(width)]


def put(
    folder: Path, number: int, batch: Sequence[Tuple], width: int, rng: np.random.Generator, tasks: int = 3
) -> None:
    """One micro-batch of the input, written by up to so many tasks that have got its tuples in any order."""
    log, files = StreamLog(QueryFolder(folder).tuples), []
    schema = pa.schema([(EVENT, pa.int64()), (ARRIVAL, pa.int64()), *tuple_columns(width)])
    shuffled = [batch[i] for i in rng.permutation(len(batch))]
    for part in range(tasks):
        some = sorted(shuffled[part::tasks], key=lambda one: (one.arrival_us, one.event_us))
        rows = {EVENT: [one.event_us for one in some], ARRIVAL: [one.arrival_us for one in some]}
        rows |= {name: [one.values[n] for one in some] for n, name in enumerate(names(width))}
        files.append(
            (
                log.write(pa.table(rows, schema=schema).to_batches(), schema),
                {"rejected": 0, WRITTEN_S: BATCH_S * number},
            )
        )
    log.commit(number, files)


def engine(
    folder: Path,
    spec: QuerySpec,
    options: ExecutionOptions,
    width: int,
    run: RunTasks = in_this_process,
    now_s: Callable[[], float] | None = None,
) -> Engine:
    """Without a clock, every look at one is a tenth of a second after the look before."""
    place = QueryFolder(folder).open(spec, names(width))
    schema = pa.schema([(WINDOW, pa.int64()), (START, STAMP), (END, STAMP), *tuple_columns(width)])
    ticks = count()
    return Engine(spec, options, place, schema, run, now_s or (lambda: next(ticks) / 10))


def results(folder: Path, width: int) -> dict[int, list[Values]]:
    """In the order in which they left; windows without tuples are known by their notes."""
    log = StreamLog(QueryFolder(folder).results, keep_notes=True)
    found: dict[int, list[Values]] = defaultdict(list)
    for step in range(log.last + 1):
        for note in list(log.take_batch_notes(step).notes):
            assert note["window"] not in found, "a window leaves once"
            found[note["window"]] = []
    (pieces,) = log.divide(0, log.end, 1) if log.end else ([],)
    before = -1
    for batch in log.read(pieces):
        for row in batch.to_pylist():
            assert row[WINDOW] >= before, "windows are in order"
            before = row[WINDOW]
            found[before].append(tuple(row[name] for name in names(width)))
    assert list(found) == sorted(found), "windows leave in order"
    return dict(found)
