"""Detector: counts candidates, and knows which are frequent and maximal. It reads what it has written: see `records`.

Its records are Spark's state, in parts: an itemset belongs to the part that its name says. What rows say of the same
itemset is added up where they are read, in as many tasks as the operator has replicas, so that only sums go to where
the records are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pandas as pd  # type: ignore[import-untyped]  # its stubs are no part of the checks
import pyarrow as pa

from pattern_detection.records import Change, apply

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.state import GroupState

OUTPUT_SCHEMA = "arrival_us bigint, itemset string, supersets int, maximal boolean, turn bigint, to array<string>"
"""Rows for the detector say how many frequent supersets more an itemset has, rows for the reporter whether it is
maximal. Of several rows for the reporter with the same itemset, the one with the highest turn is the last."""

SUMS = "part int, itemset string, arrival_us bigint, occurrences bigint, supersets bigint"

DETECTOR, REPORTER = "detector", "reporter"
"""The names that these operators have in the pipeline."""


def make_detector(threshold: int, parts: int = 2) -> Callable[[DataFrame], DataFrame]:
    """A transformation from candidates to changes: ``threshold`` posts make an itemset frequent.

    ``parts`` is into how many the records are divided. A part costs a micro-batch milliseconds, and what it has to do
    with its state grows with the records that are in it. It must not be changed while a run goes on in its folder.
    """
    if threshold < 1:
        raise ValueError(f"threshold must be at least 1 post, not {threshold}")
    if parts < 1:
        raise ValueError(f"parts must be at least 1, not {parts}")
    return partial(_detect, threshold, parts)


def summed(batch: pa.RecordBatch, parts: int) -> pa.RecordBatch:
    """All that the rows of a batch say of an itemset, in one row. What a row does not say is null.

    >>> columns = {"itemset": ["late", "late"], "arrival_us": [5, 6]}
    >>> rows = pa.record_batch({**columns, "occurrences": [1, None], "supersets": pa.array([None, 1], pa.int32())})
    >>> summed(rows, parts=1).to_pylist()
    [{'part': 0, 'itemset': 'late', 'arrival_us': 5, 'occurrences': 1, 'supersets': 1}]
    """
    grouped = pa.Table.from_batches([batch]).group_by("itemset", use_threads=False)
    said = grouped.aggregate([("arrival_us", "min"), ("occurrences", "sum"), ("supersets", "sum")]).combine_chunks()
    names = said["itemset"].to_pylist()
    columns = [
        pa.array([crc32(name.encode()) % parts for name in names], pa.int32()),
        pa.array(names, pa.string()),
        said["arrival_us_min"].combine_chunks(),
        *(said[f"{name}_sum"].combine_chunks().fill_null(0) for name in ("occurrences", "supersets")),
    ]
    return pa.record_batch(columns, names=["part", "itemset", "arrival_us", "occurrences", "supersets"])


def _detect(threshold: int, parts: int, stream: DataFrame) -> DataFrame:
    def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (summed(batch, parts) for batch in batches)

    def turn(key: tuple[Any, ...], rows: Iterator[pd.DataFrame], state: GroupState) -> Iterator[pd.DataFrame]:
        del key
        known: dict[str, Any] = json.loads(state.get[0]) if state.exists else {"turn": 0, "records": {}}
        records, number = {name: (a, b) for name, (a, b) in known["records"].items()}, known["turn"] + 1
        told = apply(records, _merged(rows), threshold)
        state.update((json.dumps({"turn": number, "records": records}),))
        back = [(c.arrival_us, c.itemset, c.supersets, None, number, [DETECTOR]) for c in told.to_subsets]
        report = [(arrival_us, name, None, is_so, number, [REPORTER]) for name, arrival_us, is_so in told.maximal]
        if back or report:
            columns = ["arrival_us", "itemset", "supersets", "maximal", "turn", "to"]
            yield pd.DataFrame([*back, *report], columns=columns).astype({"supersets": "Int32", "maximal": "boolean"})

    partial_sums = stream.select("itemset", "arrival_us", "occurrences", "supersets").mapInArrow(sums, SUMS)
    return partial_sums.groupBy("part").applyInPandasWithState(
        turn, OUTPUT_SCHEMA, "known string", "append", "NoTimeout"
    )


def _merged(parts: Iterator[pd.DataFrame]) -> list[Change]:
    """One change for each itemset, in an order that does not depend on the tasks."""
    sums: dict[str, Change] = {}
    for part in parts:
        columns = (part[name].tolist() for name in ("itemset", "arrival_us", "occurrences", "supersets"))
        for itemset, arrival_us, occurrences, supersets in zip(*columns, strict=True):
            had = sums.get(itemset, Change(itemset, arrival_us))
            sums[itemset] = Change(
                itemset, min(arrival_us, had.arrival_us), had.occurrences + occurrences, had.supersets + supersets
            )
    return [sums[itemset] for itemset in sorted(sums)]
