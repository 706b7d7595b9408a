"""Counter: how many lines of each level every component has written so far.

Every batch is counted where it is, in the operator's Python workers, so that only its counts are sent to where the
totals are kept. Those are Spark's state: they survive a restart from the checkpoint exactly.

The result is a stream of new totals to append, because the log between operators, and Parquet files, take nothing else:
of several rows with the same component and level the one with the highest count is the last.
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
"""All totals are one group of the state. A group costs a micro-batch milliseconds, a few hundred totals nothing."""


def count(stream: DataFrame) -> DataFrame:
    """From ``component, level`` and other columns to ``component, level, count``: the totals that have changed."""
    partial = stream.select("component", "level").mapInArrow(_counted, PARTIAL_COUNTS)
    return partial.groupBy("part").applyInPandasWithState(_added, COUNTS, "totals string", "append", "NoTimeout")


def counted(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Lines of each component and level in one batch.

    >>> counted(pa.record_batch({"component": ["auth", "auth"], "level": ["INFO", "INFO"]})).to_pylist()
    [{'part': 0, 'component': 'auth', 'level': 'INFO', 'count': 2}]
    """
    keys = ["component", "level"]
    counts = pa.Table.from_batches([batch]).group_by(keys).aggregate([([], "count_all")]).combine_chunks()
    columns = [counts[name].combine_chunks() for name in (*keys, "count_all")]
    return pa.record_batch([pa.array([PART] * len(counts), pa.int32()), *columns], names=["part", *keys, "count"])


def add(totals: dict[str, dict[str, int]], counts: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Add to the totals; what is returned is the new total of everything that has changed, once.

    >>> totals = {"auth": {"INFO": 5}}
    >>> add(totals, [("auth", "INFO", 2), ("cart", "WARN", 1), ("auth", "INFO", 1)])
    [('auth', 'INFO', 8), ('cart', 'WARN', 1)]
    """
    changed = {}
    for component, level, more in counts:
        levels = totals.setdefault(component, {})
        levels[level] = changed[component, level] = levels.get(level, 0) + more
    return [(component, level, total) for (component, level), total in changed.items()]


def _counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return map(counted, batches)


def _added(key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
    """Called for every micro-batch that has counts. The totals are JSON: a state can hold no maps and no arrays."""
    del key
    totals = json.loads(state.get[0]) if state.exists else {}
    rows = (
        row
        for part in parts
        for row in zip(part["component"].tolist(), part["level"].tolist(), part["count"].tolist(), strict=True)
    )
    changed = add(totals, rows)
    state.update((json.dumps(totals),))
    yield pd.DataFrame(changed, columns=["component", "level", "count"])
