"""Rejects: return the malformed lines that the parser drops. Runs as an operator beside the parser."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa

from mead.demo.parser import LINE_COLUMN, parse_line

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, line string"


def make_reject(column: str = LINE_COLUMN) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Make a `reject` for lines in another column."""
    return partial(reject, column=column)


def reject(batch: pa.RecordBatch, column: str = LINE_COLUMN) -> pa.RecordBatch:
    """The rows of ``id, arrival_us, line`` whose lines are malformed.

    >>> reject(pa.record_batch({"id": [1], "arrival_us": [5], "line": ["    at search.Handler.run:7"]})).num_rows
    1
    """
    malformed = [parse_line(line) is None for line in batch.column(column).to_pylist()]
    rows = batch.select(["id", "arrival_us", column]).filter(pa.array(malformed, pa.bool_()))
    return rows.rename_columns(["id", "arrival_us", "line"])
