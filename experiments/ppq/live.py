"""Elastic-PPQ live on Spark: elasticity alone, splitting alone, and both, on the same bursty stream.

The query is the paper's top-100 with its nested loop, so that a large partition is dear: with the sorted kernel, no
stream that Spark can read on two cores loads a machine of today. Windows follow each other. Sliding ones share their
panes, and by the number of comparisons the nested loop that merges these costs about as much as the panes themselves.
Every answer is compared with that of `live_oracle`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from rich.table import Table

from experiments.ppq.live_oracle import Answer, answers
from experiments.ppq.measures import mean, plain
from mead.arrays import FloatArray
from mead.preference.spark.handle import PreferenceQuery
from mead.preference.spark.points import GeneratedPoints, point_columns
from mead.preference.spark.query import preference_query
from mead.preference.spark.query_spec import WINDOW
from mead.preference.windows.panes import Windows
from mead.reports.tables import number, plain_table
from mead.spark.log.stream_log import StreamLog
from mead.workload import Markovian

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = Windows(length_ms=1000, slide_ms=1000)
DELTA = 100
MEAN_DELAY_S = 0.2
MOST_WORKERS = 8
TRIGGER = {"processingTime": "500 milliseconds"}

RATIO = 1.35
"""Of the rate in bursts to the mean; between them the rate is as much below it. A machine of two cores has no room for
larger bursts."""

BATCH_S = 1.5
"""Most of the stream per micro-batch, at its mean rate, so that decisions stay frequent under backlog."""

SETTLED_S = 15.0
"""From then on utilizations count. No pane is split before six of them are closed, and tasks grow from their start."""


@dataclass(frozen=True)
class Control:
    """Which levels act."""

    name: str
    title: str
    splitting: Literal["adaptive", "never"]
    elastic: bool
    start: tuple[int, int]


CONTROLS = (
    Control("elasticity", "elasticity alone", "never", elastic=True, start=(1, 1)),
    Control("splitting", "splitting alone", "adaptive", elastic=False, start=(4, 2)),
    Control("both", "both levels", "adaptive", elastic=True, start=(1, 1)),
    Control("both-wide", "both levels, from 4 + 2 tasks on", "adaptive", elastic=True, start=(4, 2)),
)


@dataclass(frozen=True)
class ControlRun:
    """One form of control on the stream."""

    control: str
    tuples: int
    dropped: int
    windows: int
    right: int
    """Windows whose answer is that of the oracle; all, or something is broken."""
    utilization: float
    """Utilization of the pane stage, mean over the control intervals from `SETTLED_S` on."""
    median_utilization: float
    highest_utilization: float
    overloaded: float
    """Part of the control intervals with a utilization above 1."""
    window_utilization: float
    pane_tasks: float
    most_pane_tasks: int
    window_tasks: float
    splitting: float
    """Mean partitions of a pane."""
    split: float
    """Part of the panes that were split."""
    decisions: int
    """Control intervals of the whole run."""
    micro_batches: int
    overrun_s: float
    """The last window is complete so long after the last arrival."""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self)
        return result


def bursty_points(rate_per_s: float, idc: float, duration_s: float, seed: int) -> GeneratedPoints:
    """Eight uniform attributes; arrivals of two states."""
    arrivals = Markovian(rate_per_s=rate_per_s, idc=idc, ratio=RATIO, duration_s=duration_s).generate(
        np.random.default_rng([seed, 1])
    )
    return GeneratedPoints(arrivals.with_random_delays(MEAN_DELAY_S, np.random.default_rng([seed, 2])), seed=seed)


def runs(
    spark: SparkSession, points: GeneratedPoints, controls: Sequence[Control], folder: Path
) -> Iterator[ControlRun]:
    """One after the other, each in real time."""
    expected = answers(points, WINDOWS)
    for control in controls:
        place = folder / control.name
        started_s = monotonic()
        query = preference_query(
            points.stream(spark, place / "points"),
            event_time="event_us",
            arrival_time="arrival_us",
            minimise=points.columns,
            window=WINDOWS.length_ms / 1e3,
            slide=WINDOWS.slide_ms / 1e3,
            top=DELTA,
            folder=place / "query",
            workers=MOST_WORKERS,
            start=control.start,
            elastic=control.elastic,
            splitting=control.splitting,
            kernel="nested-loop",
            trigger=TRIGGER,
            most_rows=max(1, round(BATCH_S * points.trace.rate_per_s)),
        )
        with query:
            query.finish(len(points.trace))
            yield _run(query, control, points, expected, monotonic() - started_s)


def _run(
    query: PreferenceQuery, control: Control, points: GeneratedPoints, expected: Sequence[Answer], took_s: float
) -> ControlRun:
    found, intervals = results_of(query), query.engine.levels.intervals
    nothing = np.empty((0, points.attributes))
    right = sum(answer.allows(found.get(window, nothing), DELTA) for window, answer in enumerate(expected))
    began_s = query.steps[0].started_s
    seen = [one for one in intervals if one.end_s - began_s >= SETTLED_S] or list(intervals)
    utilizations = [one.pane_utilization for one in seen] or [float("nan")]
    counts = [pane.count for step in query.steps for pane in step.closed]
    stream_s = (int(points.trace.timestamps_us[-1]) - int(points.trace.timestamps_us[0])) / 1e6
    return ControlRun(
        control.name,
        len(points.trace),
        query.dropped,
        len(query.windows()),
        right,
        float(np.mean(utilizations)),
        float(np.median(utilizations)),
        max(utilizations),
        float(np.mean(np.array(utilizations) > 1)),
        mean(seen, lambda one: one.window_utilization),
        mean(seen, lambda one: one.degrees.panes),
        max((one.degrees.panes for one in seen), default=control.start[0]),
        mean(seen, lambda one: one.degrees.windows),
        float(np.mean(counts)),
        float(np.mean(np.array(counts) > 1)),
        len(intervals),
        len(query.steps),
        took_s - stream_s,
    )


def results_of(query: PreferenceQuery) -> dict[int, FloatArray]:
    """From the log, by window."""
    log = StreamLog(query.engine.folder.results)
    (pieces,) = log.divide(0, log.end, 1) if log.end else ([],)
    if not pieces:
        return {}
    rows = pa.Table.from_batches(list(log.read(pieces)))
    windows = rows.column(WINDOW).to_numpy()
    values = np.column_stack([rows.column(name).to_numpy() for name in point_columns(8)])
    return {int(window): values[windows == window] for window in np.unique(windows)}


def live_parts(done: Sequence[ControlRun]) -> Iterator[Table | str]:
    """Side by side, and what follows."""
    columns = ("busy", "median", "most", "> 1, %", "tasks", "split, %", "late, s", "right")
    table = plain_table("Both levels on Spark", "acts", *columns)
    titles = {control.name: control.title for control in CONTROLS}
    for one in done:
        figures = (
            one.utilization,
            one.median_utilization,
            one.highest_utilization,
            100 * one.overloaded,
            one.pane_tasks,
            100 * one.split,
            one.overrun_s,
        )
        table.add_row(titles[one.control], *map(number, figures), f"{one.right}/{one.windows}")
    yield table
    yield (
        "Busy is the utilization of the pane stage: at 1, micro-batches take as long as their tuples took to come. It "
        f"counts from {SETTLED_S:g} s on: mean, median and highest of the control intervals, and how many are above 1. "
        "Tasks are those of the pane stage. Split is the part of the panes that have several partitions. Splitting "
        "alone has 4 + 2 tasks. Late is how long after the last arrival the last window was complete."
    )
