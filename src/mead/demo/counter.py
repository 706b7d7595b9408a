"""Counter: lines per component and level since the start.

The totals are state by component and level, divided among the tasks, and survive a restart exactly. The result is a
stream of new totals, because streams between operators and Parquet files only append. Of several rows with the same
component and level, the highest count is the latest.
"""

from __future__ import annotations

from collections.abc import MutableMapping

import pyarrow as pa

OUTPUT_SCHEMA = "component string, level string, count bigint"

KEYS = ("component", "level")
STATE_SCHEMA = "count bigint"


def count(batch: pa.RecordBatch, totals: MutableMapping[tuple[str, str], int]) -> pa.RecordBatch:
    """Add the lines of a batch to the totals, and return each changed total once.

    In a pipeline file: ``function: mead.demo.counter:count`` with ``key: [component, level]``.

    >>> totals = {("auth", "INFO"): 5}
    >>> lines = pa.record_batch({"component": ["auth", "cart", "auth"], "level": ["INFO", "WARN", "INFO"]})
    >>> count(lines, totals).to_pylist()
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'component': 'auth', 'level': 'INFO', 'count': 7},
     {'component': 'cart', 'level': 'WARN', 'count': 1}]
    """
    counted = pa.Table.from_batches([batch]).group_by(list(KEYS), use_threads=False).aggregate([([], "count_all")])
    components, levels, lines = (counted[name].to_pylist() for name in (*KEYS, "count_all"))
    for key, more in zip(zip(components, levels, strict=True), lines, strict=True):
        totals[key] = totals.get(key, 0) + more
    counts = [totals[key] for key in zip(components, levels, strict=True)]
    columns = [pa.array(components, pa.string()), pa.array(levels, pa.string()), pa.array(counts, pa.int64())]
    return pa.record_batch(columns, names=[*KEYS, "count"])
