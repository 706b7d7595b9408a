"""Detector: counts candidates, and knows which are frequent and maximal. It reads what it has written: see `records`.

Its records are state by itemset: each task has the records of its own itemsets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from pattern_detection.records import Change, apply

if TYPE_CHECKING:
    from mead.spark.log.key_state import KeyedState

OUTPUT_SCHEMA = "arrival_us bigint, itemset string, supersets int, maximal boolean, turn bigint, to array<string>"
"""Rows for the detector say how many frequent supersets more an itemset has, rows for the reporter whether it is
maximal. Of several rows for the reporter with the same itemset, the one with the highest turn is the last."""

KEYS = ("itemset",)
STATE_SCHEMA = "occurrences bigint, supersets bigint"

ROW = pa.schema(
    [
        ("arrival_us", pa.int64()),
        ("itemset", pa.string()),
        ("supersets", pa.int32()),
        ("maximal", pa.bool_()),
        ("turn", pa.int64()),
        ("to", pa.list_(pa.string())),
    ]
)

DETECTOR, REPORTER = "detector", "reporter"
"""The names that these operators have in the pipeline."""


def make_detector(threshold: int) -> Callable[[pa.RecordBatch, KeyedState], pa.RecordBatch]:
    """A function from candidates to changes: ``threshold`` posts make an itemset frequent."""
    if threshold < 1:
        raise ValueError(f"threshold must be at least 1 post, not {threshold}")
    return partial(_detect, threshold)


def summed(batch: pa.RecordBatch) -> list[Change]:
    """All that the rows of a batch say of an itemset, in one change. What a row does not say is null.

    >>> columns = {"itemset": ["late", "late"], "arrival_us": [5, 6]}
    >>> rows = pa.record_batch({**columns, "occurrences": [1, None], "supersets": pa.array([None, 1], pa.int32())})
    >>> summed(rows)
    [Change(itemset='late', arrival_us=5, occurrences=1, supersets=1)]
    """
    grouped = pa.Table.from_batches([batch]).group_by("itemset", use_threads=False)
    said = grouped.aggregate([("arrival_us", "min"), ("occurrences", "sum"), ("supersets", "sum")])
    sums = (said[f"{name}_sum"].fill_null(0).to_pylist() for name in ("occurrences", "supersets"))
    return list(map(Change, said["itemset"].to_pylist(), said["arrival_us_min"].to_pylist(), *sums))


def _detect(threshold: int, batch: pa.RecordBatch, records: KeyedState) -> pa.RecordBatch:
    told, turn = apply(records, summed(batch), threshold), records.turn
    back = [(c.arrival_us, c.itemset, c.supersets, None, turn, [DETECTOR]) for c in told.to_subsets]
    report = [(arrival_us, name, None, is_so, turn, [REPORTER]) for name, arrival_us, is_so in told.maximal]
    columns = zip(*back, *report, strict=True) if back or report else [[]] * len(ROW)
    return pa.record_batch([list(column) for column in columns], schema=ROW)
