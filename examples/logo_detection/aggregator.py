"""Aggregator: a logo is in a frame if enough of its features were found there.

The features of a frame may be matched by different tasks, and are brought together here. Nothing has to be remembered
from one micro-batch to the next: what a micro-batch writes becomes part of a stream at once or not at all, so that its
readers get all matches of a frame in the same micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, logo int, matched int"

ENOUGH = 8
"""Different features of a logo that must be found in a frame."""


def make_aggregator(enough: int = ENOUGH) -> Callable[[DataFrame], DataFrame]:
    """A transformation from matches to one row for every logo in a frame."""
    if enough < 1:
        raise ValueError(f"enough must be at least 1 feature, not {enough}")
    return partial(_aggregate, enough)


def judged(matches: pa.Table, enough: int) -> pa.Table:
    """Logos of which at least ``enough`` different features are in a frame; ``matches`` has all of those frames.

    >>> columns = {"id": [1, 1, 1], "arrival_us": [5, 5, 5], "logo": [7, 7, 7], "point": [0, 2, 2]}
    >>> judged(pa.table(columns), enough=2).to_pylist()
    [{'id': 1, 'arrival_us': 5, 'logo': 7, 'matched': 2}]
    """
    counted = matches.group_by(["id", "arrival_us", "logo"], use_threads=False).aggregate([("point", "count_distinct")])
    found = counted.filter(pc.greater_equal(counted["point_count_distinct"], enough))
    matched = found["point_count_distinct"].cast(pa.int32())
    return found.select(["id", "arrival_us", "logo"]).append_column("matched", matched)


def _aggregate(enough: int, stream: DataFrame) -> DataFrame:
    def over_frames(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        every = list(batches)
        if every:
            yield from judged(pa.Table.from_batches(every), enough).to_batches()

    return stream.select("id", "arrival_us", "logo", "point").repartition("id").mapInArrow(over_frames, OUTPUT_SCHEMA)
