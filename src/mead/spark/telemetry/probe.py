"""Aggregates of the arrival stamps of every micro-batch, computed by the tasks.

They travel with the query's reports. Response times follow from them: all rows of a micro-batch are done at the same
moment, so the distribution of their arrivals, mirrored, is that of their response times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mead.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OBSERVATION, FOLLOWED = "mead", "followed_us"
STAMP = "arrival_us"
RANKS = np.linspace(0.0, 1.0, 17)
"""Ranks at which the stamps of a micro-batch are reported; between them they are taken to be spread evenly."""

MOST_STAMPS = 20_000
"""A micro-batch with more rows does not report every single arrival."""

SAMPLED_ONE_OF, MOST_SAMPLED = 7, 20_000
"""Of so many inputs one is followed until all that came of it is done: the one whose stamp this divides. Arrivals at
regular intervals seldom have one that 7 divides. The other is the most rows of such inputs in a report of Spark."""

NONE_US: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Stamps:
    """Times at which rows of one micro-batch arrived at the source of the pipeline."""

    stamped: int
    """Rows that have a stamp."""
    mean_us: float
    at_ranks_us: FloatArray
    all_us: IntArray | None
    """Every stamp in order; None if there are too many or they were not requested."""
    unstamped: int = 0
    """Rows whose stamp is null: counted, with unknown times."""

    @property
    def rows(self) -> int:
        """All rows, with or without a stamp."""
        return self.stamped + self.unstamped

    @classmethod
    def of(cls, stamps_us: IntArray, unstamped: int = 0) -> Stamps:
        """Build stamps of some rows, with the number of rows without one."""
        if stamps_us.size == 0:
            return cls(0, 0.0, np.zeros(RANKS.size), stamps_us, unstamped)
        stamps_us = np.sort(stamps_us)
        at_ranks_us = stamps_us[np.round(RANKS * (stamps_us.size - 1)).astype(np.int64)]
        mean_us = float(stamps_us[0]) + float((stamps_us - stamps_us[0]).mean())
        all_us = stamps_us if stamps_us.size <= MOST_STAMPS else None
        return cls(stamps_us.size, mean_us, at_ranks_us.astype(float), all_us, unstamped)

    @classmethod
    def spread(cls, rows: int, first_us: float, last_us: float) -> Stamps:
        """Spread rows evenly over the interval in which they arrived.

        >>> Stamps.spread(4, 0.0, 100.0).all_us
        array([12, 37, 62, 87])
        """
        few = rows <= MOST_STAMPS
        all_us = (first_us + (np.arange(rows) + 0.5) / rows * (last_us - first_us)).astype(np.int64) if few else None
        return cls(rows, (first_us + last_us) / 2, first_us + RANKS * (last_us - first_us), all_us)

    @classmethod
    def from_observation(cls, observed: Mapping[str, Any]) -> Stamps:
        """Read the stamps from the report of a query with `add_probe`."""
        values = observed.get(OBSERVATION)
        unstamped = values["rows"] - values["stamped"] if values else 0
        if not values or not values["stamped"]:
            return cls.of(NONE_US, unstamped)
        every = values.get("all_us")
        return cls(
            values["stamped"],
            values["mean_us"],
            np.asarray(values["at_ranks_us"], dtype=float),
            None if every is None else np.sort(np.asarray(every, dtype=np.int64)),
            unstamped,
        )

    def note(self, file: str | None) -> dict[str, Any]:
        """Return a note of these stamps, for a task to write beside its file; ``file`` holds all of them."""
        first_us = int(self.at_ranks_us[0])
        return {
            "stamped": self.stamped,
            "unstamped": self.unstamped,
            "first_us": first_us,
            "mean_us": round(self.mean_us - first_us, 3),
            "at_ranks_us": (self.at_ranks_us - first_us).astype(np.int64).tolist(),
            "file": file,
        }

    @classmethod
    def from_note(cls, note: Mapping[str, Any], folder: Path) -> Stamps:
        """Read the stamps from such a note, and remove the file with all stamps."""
        all_us = None
        with suppress(FileNotFoundError):  # it was removed as stale
            if note["file"] is not None:
                all_us = np.fromfile(folder / note["file"], dtype=np.int64)
                (folder / note["file"]).unlink()
        first_us = note["first_us"]
        at_ranks_us = first_us + np.array(note["at_ranks_us"])
        return cls(note["stamped"], first_us + note["mean_us"], at_ranks_us, all_us, note["unstamped"])

    @classmethod
    def merge(cls, parts: Sequence[Stamps]) -> Stamps:
        """Merge the stamps of all tasks of a micro-batch."""
        unstamped = sum(part.unstamped for part in parts)
        parts = [part for part in parts if part.stamped]
        if len(parts) <= 1:
            return replace(parts[0], unstamped=unstamped) if parts else cls.of(NONE_US, unstamped)
        stamped = sum(part.stamped for part in parts)
        # Every part stands for as many rows as it has, spread evenly between its ranks.
        values_us = np.concatenate([(part.at_ranks_us[1:] + part.at_ranks_us[:-1]) / 2 for part in parts])
        weights = np.concatenate([np.full(RANKS.size - 1, part.stamped / (RANKS.size - 1)) for part in parts])
        order = np.argsort(values_us)
        middle = (np.cumsum(weights[order]) - weights[order] / 2) / stamped
        at_ranks_us = np.interp(RANKS, middle, values_us[order])
        at_ranks_us[0] = min(part.at_ranks_us[0] for part in parts)
        at_ranks_us[-1] = max(part.at_ranks_us[-1] for part in parts)
        every = [part.all_us for part in parts if part.all_us is not None]
        return cls(
            stamped,
            sum(part.stamped * part.mean_us for part in parts) / stamped,
            at_ranks_us,
            np.sort(np.concatenate(every)) if len(every) == len(parts) else None,
            unstamped,
        )


def add_probe(
    stream: DataFrame, *, every_stamp: bool, followed: bool = False, stamp: str | Column = STAMP
) -> DataFrame:
    """Aggregate the stamps of a stream on the way. ``every_stamp`` is for rows that enter the pipeline.

    ``followed`` adds the stamps of inputs that are followed to their end.
    """
    from pyspark.sql import functions as sql  # noqa: PLC0415 - pandas and all; workers and commands load this module too

    aggregates = [
        sql.count(sql.lit(1)).alias("rows"),
        sql.count(stamp).alias("stamped"),
        sql.avg(stamp).alias("mean_us"),
        sql.percentile_approx(stamp, RANKS.tolist(), 1000).alias("at_ranks_us"),
    ]
    if followed:
        chosen = sql.when(sql.col(STAMP) % SAMPLED_ONE_OF == 0, sql.col(STAMP))
        aggregates.append(sql.max_by(chosen, chosen, MOST_SAMPLED).alias(FOLLOWED))
    if every_stamp:
        few = sql.count(stamp) <= MOST_STAMPS
        # The limit keeps the list short even if a month of rows waits in a topic.
        aggregates.append(sql.when(few, sql.max_by(stamp, stamp, MOST_STAMPS)).alias("all_us"))
    return stream.observe(OBSERVATION, *aggregates)


def stamped(stream: DataFrame, column: str) -> DataFrame:
    """Tell `mead.attach` which column says when rows arrived (timestamp, or bigint in microseconds)."""
    from pyspark.sql import functions as sql  # noqa: PLC0415 - as above

    kinds = dict(stream.dtypes)
    if kinds.get(column) == "timestamp":
        return add_probe(stream, every_stamp=True, stamp=sql.unix_micros(column))
    if kinds.get(column) == "bigint":
        return add_probe(stream, every_stamp=True, stamp=sql.col(column))
    had = f"is {kinds[column]}" if column in kinds else f"is not among {', '.join(kinds)}"
    raise ValueError(f"a stamp must be a column of type timestamp, or bigint in microseconds; {column} {had}")
