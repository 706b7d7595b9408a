"""Rejects: the lines that the parser drops, for those who want to see them. An operator beside the parser."""

from __future__ import annotations

import pyarrow as pa

from mead.applications.log_analysis.parser import parsed

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, line string"


def reject(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of ``id, arrival_us, line`` whose lines are malformed.

    >>> reject(pa.record_batch({"id": [1], "arrival_us": [5], "line": ["    at search.Handler.run:7"]})).num_rows
    1
    """
    malformed = [parsed(line) is None for line in batch.column("line").to_pylist()]
    return batch.select(["id", "arrival_us", "line"]).filter(pa.array(malformed, pa.bool_()))
