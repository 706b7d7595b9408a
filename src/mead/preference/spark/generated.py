"""A stream of generated points, played by the wall clock."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mead.preference.spark.points import point_columns, point_schema
from mead.spark.log.number_file import put_number
from mead.spark.sources.trace import TraceDataSource
from mead.workload import Trace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, eq=False)
class GeneratedPoints:
    """Uniform attributes that arrive as a trace says; if it has event times, out of order."""

    trace: Trace
    attributes: int = 8
    seed: int = 1

    @property
    def columns(self) -> list[str]:
        """The attributes."""
        return point_columns(self.attributes)

    def events_us(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """When each tuple came into being, from 0 on."""
        events_us = self.trace.event_timestamps_us
        events_us = self.trace.timestamps_us if events_us is None else events_us
        return events_us - int(events_us.min())

    def stream(self, spark: SparkSession, folder: Path, tasks: int = 1) -> DataFrame:
        """A stream with ``event_us`` and ``arrival_us``. In a folder that was used before, it goes on from there."""
        folder.mkdir(parents=True, exist_ok=True)
        arrivals, events, asked = folder / "arrivals.npy", folder / "events.npy", folder / "tasks"
        np.save(arrivals, self.trace.timestamps_us - int(self.trace.timestamps_us[0]))
        np.save(events, self.events_us())
        put_number(asked, tasks)
        spark.dataSource.register(TraceDataSource)
        payload = {"attributes": self.attributes, "seed": self.seed, "events": str(events.resolve())}
        options = {
            "path": str(arrivals.resolve()),
            "tasks": str(asked.resolve()),
            "payload": "mead.preference.spark.points:make_points",
            "payload_schema": point_schema(self.attributes),
            "payload_options": json.dumps(payload),
        }
        return spark.readStream.format(TraceDataSource.name()).options(**options).load()
