"""Generated points for preference queries. A tuple depends only on its number.

So every task makes the same tuple.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mead.arrays import FloatArray, IntArray
from mead.spark.log.tasks import write_number
from mead.spark.sources.trace import TraceDataSource, read_times_us

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mead.workload import Trace

HIGHEST = 1000.0


@dataclass(frozen=True, eq=False)
class GeneratedPoints:
    """Uniform attributes that arrive as a trace says; out of order if it has event times."""

    trace: Trace
    attributes: int = 8
    seed: int = 1

    @property
    def columns(self) -> list[str]:
        """Names of the attributes."""
        return point_columns(self.attributes)

    def events_us(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the event time of each tuple, from 0 on."""
        events_us = self.trace.event_timestamps_us
        events_us = self.trace.timestamps_us if events_us is None else events_us
        return events_us - int(events_us.min())

    def stream(self, spark: SparkSession, folder: Path, tasks: int = 1) -> DataFrame:
        """Return a stream with ``event_us`` and ``arrival_us``. In a folder used before, it continues."""
        folder.mkdir(parents=True, exist_ok=True)
        arrivals, events, task_count = folder / "arrivals.npy", folder / "events.npy", folder / "tasks"
        np.save(arrivals, self.trace.timestamps_us - int(self.trace.timestamps_us[0]))
        np.save(events, self.events_us())
        write_number(task_count, tasks)
        spark.dataSource.register(TraceDataSource)
        payload = {"attributes": self.attributes, "seed": self.seed, "events": str(events.resolve())}
        options = {
            "path": str(arrivals.resolve()),
            "tasks": str(task_count.resolve()),
            "payload": "mead.preference.spark.points:make_points",
            "payload_schema": point_schema(self.attributes),
            "payload_options": json.dumps(payload),
        }
        return spark.readStream.format(TraceDataSource.name()).options(**options).load()


def point_columns(attributes: int) -> list[str]:
    """Return the names of the attribute columns."""
    return [f"a{n}" for n in range(attributes)]


def point_schema(attributes: int) -> str:
    """Return the columns as DDL: event time, and independent attributes, uniform on [0, 1000)."""
    return ", ".join(["event_us bigint", *(f"{name} double" for name in point_columns(attributes))])


def make_points(attributes: int, seed: int, events: str) -> Callable[[IntArray], pa.RecordBatch]:
    """Return a payload for streams of traces. ``events`` is a file of event times in microseconds (.npy)."""
    return partial(_made, attributes, seed, Path(events))


def uniform(numbers: IntArray, attributes: int, seed: int) -> FloatArray:
    """Return attributes of tuples by their numbers, from a mixed counter.

    Steele et al., "Splittable Generators", 2014.

    >>> whole = uniform(np.arange(1000), 8, seed=1)
    >>> bool((whole[500:] == uniform(np.arange(500, 1000), 8, seed=1)).all()), bool(abs(whole.mean() - 500) < 10)
    (True, True)
    """
    counter = (numbers[:, None] * attributes + np.arange(attributes)).astype(np.uint64)
    z: npt.NDArray[np.uint64] = (counter + _start(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return HIGHEST * ((z >> np.uint64(11)).astype(np.float64) / (1 << 53))


def _start(seed: int) -> np.uint64:
    """Return the counter's start for a seed.

    Seeds of 24 bits have 2^40 numbers each; larger ones start anywhere.
    """
    if seed < 1 << 24:
        return np.uint64(seed << 40)
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def _made(attributes: int, seed: int, events: Path, numbers: IntArray) -> pa.RecordBatch:
    values = uniform(numbers, attributes, seed)
    columns = {"event_us": pa.array(read_times_us(events)[numbers])}
    return pa.record_batch(columns | {name: values[:, n].copy() for n, name in enumerate(point_columns(attributes))})
