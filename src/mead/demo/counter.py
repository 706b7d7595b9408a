"""Counter: lines per component and level since the start.

Python workers count each batch and send only its counts to the totals, which are Spark state and survive a restart from
the checkpoint exactly. The result is a stream of new totals, because streams between operators and Parquet files only
append. Of several rows with the same component and level, the highest count is the latest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd  # type: ignore[import-untyped]  # its stubs are no part of the checks
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

COUNTS = "component string, level string, count bigint"
PARTIAL_COUNTS = f"part int, {COUNTS}"

PART = 0
"""All totals form one group of the state, because each group costs milliseconds per micro-batch."""


def count(stream: DataFrame) -> DataFrame:
    """Turn rows with ``component`` and ``level`` into the changed totals: ``component, level, count``."""
    partial = stream.select("component", "level").mapInArrow(_count_batches, PARTIAL_COUNTS)
    return partial.groupBy("part").applyInPandasWithState(
        _update_totals, COUNTS, "totals string", "append", "NoTimeout"
    )


def count_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Count the lines of each component and level in one batch.

    >>> count_batch(pa.record_batch({"component": ["auth", "auth"], "level": ["INFO", "INFO"]})).to_pylist()
    [{'part': 0, 'component': 'auth', 'level': 'INFO', 'count': 2}]
    """
    keys = ["component", "level"]
    counts = pa.Table.from_batches([batch]).group_by(keys).aggregate([([], "count_all")]).combine_chunks()
    columns = [counts[name].combine_chunks() for name in (*keys, "count_all")]
    return pa.record_batch([pa.array([PART] * len(counts), pa.int32()), *columns], names=["part", *keys, "count"])


def add_counts(totals: dict[str, dict[str, int]], counts: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Add counts to the totals, and return each changed total once.

    >>> totals = {"auth": {"INFO": 5}}
    >>> add_counts(totals, [("auth", "INFO", 2), ("cart", "WARN", 1), ("auth", "INFO", 1)])
    [('auth', 'INFO', 8), ('cart', 'WARN', 1)]
    """
    changed = {}
    for component, level, more in counts:
        levels = totals.setdefault(component, {})
        levels[level] = changed[component, level] = levels.get(level, 0) + more
    return [(component, level, total) for (component, level), total in changed.items()]


def _count_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(count_batch, batches)


def _update_totals(key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Update the state with the counts of a micro-batch. It is JSON, because state holds neither maps nor arrays."""
    del key
    totals = json.loads(state.get[0]) if state.exists else {}
    rows = (
        row
        for part in parts
        for row in zip(part["component"].tolist(), part["level"].tolist(), part["count"].tolist(), strict=True)
    )
    changed = add_counts(totals, rows)
    state.update((json.dumps(totals),))
    yield pd.DataFrame(changed, columns=["component", "level", "count"])
