"""Aggregator: a logo is in a frame if enough of its features were found there.

The features of a frame may be matched by different tasks, and are brought together here by the key ``id``. Nothing has
to be remembered from one micro-batch to the next: what a micro-batch writes becomes part of a stream at once or not at
all, so that its readers get all matches of a frame in the same micro-batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, logo int, matched int"

KEYS = ("id",)

ENOUGH = 8
"""Different features of a logo that must be found in a frame."""


def make_aggregator(enough: int = ENOUGH) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function from matches to one row for every logo in a frame; a batch has all matches of its frames."""
    if enough < 1:
        raise ValueError(f"enough must be at least 1 feature, not {enough}")
    return partial(judged, enough)


def judged(enough: int, matches: pa.RecordBatch) -> pa.RecordBatch:
    """Logos of which at least ``enough`` different features are in a frame.

    >>> columns = {"id": [1, 1, 1], "arrival_us": [5, 5, 5], "logo": [7, 7, 7], "point": [0, 2, 2]}
    >>> judged(2, pa.record_batch(columns)).to_pylist()
    [{'id': 1, 'arrival_us': 5, 'logo': 7, 'matched': 2}]
    """
    grouped = pa.Table.from_batches([matches]).group_by(["id", "arrival_us", "logo"], use_threads=False)
    counted = grouped.aggregate([("point", "count_distinct")]).combine_chunks()
    found = counted.filter(pc.greater_equal(counted["point_count_distinct"], enough)).combine_chunks()
    columns = [found[name].combine_chunks() for name in ("id", "arrival_us", "logo", "point_count_distinct")]
    return pa.record_batch([*columns[:3], columns[3].cast(pa.int32())], names=["id", "arrival_us", "logo", "matched"])
