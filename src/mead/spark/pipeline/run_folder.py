"""Check the files of an earlier run before it continues, or set them aside.

A checkpoint says how far a query has come, and the index of its log which batches it has written. If one of them is
deleted, damaged or replaced, Spark would begin again or leave batches out, and the log would drop rows. So a run whose
files do not fit together is refused before anything is changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mead.spark.log.results import ResultFiles
from mead.spark.log.store import START_OVER, WAY_OUT, LogError
from mead.spark.log.stream_log import INDEX, StreamLog
from mead.spark.pipeline.build import ARRIVALS
from mead.spark.pipeline.operators import OperatorError
from mead.spark.pipeline.query import COMMITS, METADATA, OFFSETS, last_begun, last_committed
from mead.spark.pipeline.query_builder import CHECKPOINTS, STREAMS
from mead.spark.pipeline.wiring import RESULTS, Wiring

EARLIER = "earlier"
"""The folder of files that were set aside."""

SPARK_METADATA = "_spark_metadata"
"""The folder by which Spark's own file sink can be told."""


def check_folder(folder: Path, wiring: Wiring) -> None:
    """Raise OperatorError if logs, checkpoints and results of a pipeline do not fit together."""
    order = wiring.pipeline.order
    logs = {operator: StreamLog(folder / STREAMS / operator, store=wiring.store(operator)) for operator in order}
    landings = {name: [operator] for name, operator in wiring.landings.items()}
    inputs = {operator: wiring.predecessors(operator) for operator in order} | landings
    for operator, log in logs.items():
        check_writer(log, folder / CHECKPOINTS / operator)
    landed = {
        query: _check_results(folder / RESULTS / operator, logs[operator])
        for query, operator in wiring.landings.items()
    }
    for query, sources in inputs.items():
        checkpoint = folder / CHECKPOINTS / query
        _check_checkpoint(checkpoint)
        for source in sources:
            _check_offsets(checkpoint, source, logs[source], landed.get(query, 0), joined=len(sources) > 1)


def check_writer(log: StreamLog, checkpoint: Path) -> None:
    """Raise OperatorError if a log and the checkpoint of the query that writes it do not fit together."""
    try:
        log.check()
    except LogError as error:
        raise OperatorError(str(error)) from None
    _check_checkpoint(checkpoint)
    _compare(log, checkpoint)


def set_aside(folder: Path) -> Path | None:
    """Move all that a run would continue from into a new folder; return it, or None if there is nothing."""
    there = [folder / kind for kind in (ARRIVALS, STREAMS, CHECKPOINTS, RESULTS) if (folder / kind).exists()]
    if not there:
        return None
    place = folder / EARLIER / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
    place.mkdir(parents=True)
    for kind in there:
        kind.rename(place / kind.name)
    return place


def _check_results(results: Path, log: StreamLog) -> int:
    """Return the row up to which results are in files. Raises OperatorError if they do not come from the log."""
    if (results / SPARK_METADATA).exists():
        raise OperatorError(
            f"{results}: an earlier version of MEAD has written these results; continue with that version, or "
            f"{START_OVER}"
        )
    try:
        end = ResultFiles(results).end
    except LogError as error:
        raise OperatorError(str(error)) from None
    if end > log.end:
        raise OperatorError(
            f"{log.folder / INDEX}: it ends at row {log.end}, but {results} has rows up to {end}; {WAY_OUT}"
        )
    return end


def _check_checkpoint(checkpoint: Path) -> None:
    """Check the files that Spark reads when a query continues."""
    begun, done = last_begun(checkpoint), last_committed(checkpoint)
    if begun < 0 and done < 0:
        return
    _check_json(checkpoint / METADATA, [0])
    for batch in {begun, done} - {-1}:
        _check_json(checkpoint / OFFSETS / str(batch), [1, 2])
    if done >= 0:
        _check_json(checkpoint / COMMITS / str(done), [1])
    if done < begun - 1:
        raise OperatorError(
            f"{checkpoint / COMMITS}: it ends with batch {done}, but {OFFSETS} with batch {begun}; {WAY_OUT}"
        )


def _check_json(path: Path, lines: Sequence[int]) -> None:
    """Check that these lines of a file are JSON, as Spark writes them."""
    try:
        found = path.read_text().splitlines()
        for line in lines:
            json.loads(found[line])
    except FileNotFoundError:
        raise OperatorError(f"{path}: missing; {WAY_OUT}") from None
    except (ValueError, IndexError):
        raise OperatorError(f"{path}: empty or damaged; {WAY_OUT}") from None


def _compare(log: StreamLog, checkpoint: Path) -> None:
    """Check that a query's log and checkpoint end with the same batch.

    A crash may have interrupted the last one.
    """
    begun, done = last_begun(checkpoint), last_committed(checkpoint)
    if log.last > begun:
        has = f"ends with batch {begun}" if begun >= 0 else "has none"
        raise OperatorError(
            f"{checkpoint}: deleted or replaced: {log.folder} ends with batch {log.last}, but the checkpoint {has}, so "
            f"that rows would be lost; {WAY_OUT}"
        )
    if log.last < done:
        raise OperatorError(
            f"{log.folder / INDEX}: it ends with batch {log.last}, but {checkpoint} counts batch {done} as done; "
            f"{WAY_OUT}"
        )


def _check_offsets(checkpoint: Path, source: str, log: StreamLog, landed: int, *, joined: bool) -> None:
    """Check that the log has the rows up to which a query has read, and those that it reads next.

    Results need no rows before ``landed``: they are in files already.
    """

    def rows(batch: int) -> int | None:
        """Return the end of a batch in this log; None if another source was read at that time."""
        with suppress(KeyError, TypeError, IndexError):
            offset: Any = json.loads((checkpoint / OFFSETS / str(batch)).read_text().splitlines()[2])
            return int((offset[source] if joined else offset)["rows"])
        return None

    begun, done = last_begun(checkpoint), last_committed(checkpoint)
    if begun < 0 and landed < log.start:
        raise OperatorError(
            f"{checkpoint}: deleted or new: it has read nothing, but {log.folder} begins at row {log.start}, so that "
            f"the rows before it would be lost; {WAY_OUT}"
        )
    end, start = (rows(begun) if begun >= 0 else None), (rows(done) if done >= 0 else None)
    if end is not None and end > log.end:
        raise OperatorError(
            f"{log.folder / INDEX}: it ends at row {log.end}, but {checkpoint} has read up to row {end}; {WAY_OUT}"
        )
    if start is not None and start < log.start:
        raise OperatorError(
            f"{log.folder}: it begins at row {log.start}, but {checkpoint} has read only up to row {start}; {WAY_OUT}"
        )
