"""Optional column that names the readers of a row.

A fork sends every row to every successor. A filter on one of its branches, and a loop, send only some rows that way. So
a row may name its readers in a column `TO`: operators, or `results` for rows that leave the pipeline. Rows without
names go to all readers. A reader gets its own rows, without the column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

TO = "to"
TO_TYPE = "array<string>"
"""The type of column `TO` in Spark."""

ALL_READERS = ""
"""The name under which rows without names are counted."""

Counts = Mapping[str, int]
"""Number of rows by reader."""


def select_rows(batch: pa.RecordBatch, reader: str) -> pa.RecordBatch:
    """Return the rows for one reader, without column `TO`.

    >>> to = pa.array([["count"], None, ["match", "count"], []], pa.list_(pa.string()))
    >>> select_rows(pa.record_batch({"id": [1, 2, 3, 4], "to": to}), "match").to_pylist()
    [{'id': 2}, {'id': 3}]
    """
    if TO not in batch.schema.names:
        return batch
    to = batch.column(TO)
    mine = pc.is_null(to).to_numpy(zero_copy_only=False) | _naming(to, reader)
    return batch.filter(pa.array(mine)).drop_columns([TO])


def count_readers(batch: pa.RecordBatch) -> Counter[str]:
    """Count the rows for each reader.

    >>> to = pa.array([["count"], None, ["match", "count"], []], pa.list_(pa.string()))
    >>> dict(count_readers(pa.record_batch({"to": to})))
    {'': 1, 'count': 2, 'match': 1}
    """
    return Counter({name: int(rows.sum()) for name, rows in rows_by_reader(batch).items()})


def count_values(column: pa.Array) -> dict[str, int]:
    """Count how often each value occurs; nulls do not count.

    >>> count_values(pa.array(["slow", None, "slow", "refused"]))
    {'slow': 2, 'refused': 1}
    """
    counts = pc.value_counts(column.drop_null())
    return {str(value): number for value, number in zip(*(part.to_pylist() for part in counts.flatten()), strict=True)}


def rows_by_reader(batch: pa.RecordBatch) -> dict[str, npt.NDArray[np.bool_]]:
    """Return which rows are for each reader that is named, and which are for all."""
    if TO not in batch.schema.names:
        return {ALL_READERS: np.ones(batch.num_rows, dtype=bool)}
    to = batch.column(TO)
    names = [name for name in pc.unique(pc.list_flatten(to)).to_pylist() if name]
    for_all = {ALL_READERS: pc.is_null(to).to_numpy(zero_copy_only=False)}
    return for_all | {name: _naming(to, name) for name in names}


def count_for(counts: Counts, reader: str) -> int:
    """Return how many of the counted rows are for one reader."""
    return counts.get(ALL_READERS, 0) + counts.get(reader, 0)


def _naming(to: pa.Array, reader: str) -> npt.NDArray[np.bool_]:
    """Return which of the lists contain a name."""
    named = pc.fill_null(pc.equal(pc.list_flatten(to), reader), fill_value=False)
    found = np.zeros(len(to), dtype=bool)
    found[pc.list_parent_indices(to).filter(named).to_numpy()] = True
    return found
