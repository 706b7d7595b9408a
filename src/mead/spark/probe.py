"""Aggregates of the arrival stamps of every micro-batch, taken where the rows are and not in the driver.

They travel with the progress of the query. From them come response times: all rows of a micro-batch are done at the
same moment, so that the distribution of their arrivals is that of their response times, mirrored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mead.models.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OBSERVATION = "mead"
STAMP = "arrival_us"
RANKS = np.linspace(0.0, 1.0, 33)
"""At so many ranks the stamps of a micro-batch are asked for; in between they are taken to be spread evenly."""

MOST_STAMPS = 20_000
"""A micro-batch with more rows does not report every single arrival."""


@dataclass(frozen=True, eq=False)
class Stamps:
    """When the rows of one micro-batch arrived at the source of the pipeline."""

    rows: int
    mean_us: float
    at_ranks_us: FloatArray
    all_us: IntArray | None
    """Every one, in order; None where that was not asked for, or they were too many."""

    @classmethod
    def parsed(cls, observed: Mapping[str, Any]) -> Stamps | None:
        """From the progress of a query. None if there were no rows."""
        values = observed.get(OBSERVATION)
        if not values or not values["rows"]:
            return None
        every = values.get("all_us")
        return cls(
            values["rows"],
            values["mean_us"],
            np.asarray(values["at_ranks_us"], dtype=float),
            None if every is None else np.sort(np.asarray(every, dtype=np.int64)),
        )


def probed(stream: DataFrame, *, every_stamp: bool, stamp: str = STAMP) -> DataFrame:
    """The same rows, with their stamps aggregated on the way. ``every_stamp`` is for where they enter the pipeline."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - pandas and all; workers and commands load this module too

    aggregates = [
        sql.count(sql.lit(1)).alias("rows"),
        sql.avg(stamp).alias("mean_us"),
        sql.percentile_approx(stamp, RANKS.tolist(), 1000).alias("at_ranks_us"),
    ]
    if every_stamp:
        few = sql.count(sql.lit(1)) <= MOST_STAMPS
        aggregates.append(sql.when(few, sql.collect_list(stamp)).alias("all_us"))
    return stream.observe(OBSERVATION, *aggregates)
