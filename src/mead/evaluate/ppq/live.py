"""Elastic-PPQ on Spark itself: elasticity alone, splitting alone, and both, on the same bursty stream.

The query is the paper's top-100 with its nested loop, so that a large partition is dear: with the sorted kernel, no
stream that Spark can read on two cores loads a machine of today. Every answer is compared with one found by other means
after the run: all tuples of a window at once, in this process.
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

from mead.evaluate.ppq.measures import mean, plain
from mead.evaluate.tables import number, plain_table
from mead.models.arrays import FloatArray
from mead.preference.live.generated import GeneratedPoints
from mead.preference.live.handle import PreferenceQuery
from mead.preference.live.points import point_columns, uniform
from mead.preference.live.query import preference_query
from mead.preference.live.query_spec import WINDOW
from mead.preference.panes import Windows
from mead.preference.punctuation import KSlack
from mead.preference.skyline import skyline
from mead.preference.top_delta import top_delta
from mead.spark.log import StreamLog
from mead.workload.disorder import delayed
from mead.workload.generators.markovian import Markovian

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOWS = Windows(length_ms=2000, slide_ms=1000)
DELTA = 100
MEAN_DELAY_S = 0.2
MOST_WORKERS = 8
TRIGGER = {"processingTime": "500 milliseconds"}


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
)


@dataclass(frozen=True)
class LiveRun:
    """One form of control on the stream."""

    control: str
    tuples: int
    dropped: int
    windows: int
    right: int
    """Windows whose answer is that of the oracle; all, or something is broken."""
    utilization: float
    """Of the pane stage, mean over the control intervals."""
    highest_utilization: float
    """Of a control interval."""
    window_utilization: float
    pane_tasks: float
    window_tasks: float
    splitting: float
    """Mean partitions of a pane."""
    micro_batches: int
    overrun_s: float
    """The last window is complete so long after the last arrival."""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``runs``."""
        result: dict[str, Any] = plain(self)
        return result


def bursty_points(rate_per_s: float, idc: float, duration_s: float, seed: int) -> GeneratedPoints:
    """Eight uniform attributes; arrivals of two states, the fast one at four times the mean rate."""
    arrivals = Markovian(rate_per_s=rate_per_s, idc=idc, duration_s=duration_s).generate(
        np.random.default_rng([seed, 1])
    )
    return GeneratedPoints(delayed(arrivals, MEAN_DELAY_S, np.random.default_rng([seed, 2])), seed=seed)


def runs(spark: SparkSession, points: GeneratedPoints, controls: Sequence[Control], folder: Path) -> Iterator[LiveRun]:
    """One after the other, each in real time."""
    answers = oracle(points)
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
        )
        with query:
            query.finish(len(points.trace))
            yield _run(query, control, points, answers, monotonic() - started_s)


def _run(
    query: PreferenceQuery, control: Control, points: GeneratedPoints, answers: Sequence[FloatArray], took_s: float
) -> LiveRun:
    seen, found = query.engine.levels.intervals, results_of(query)
    right = sum(
        int(np.array_equal(found.get(window, np.empty((0, points.attributes))), best))
        for window, best in enumerate(answers)
    )
    closed = [pane.count for step in query.steps for pane in step.closed]
    stream_s = (int(points.trace.timestamps_us[-1]) - int(points.trace.timestamps_us[0])) / 1e6
    return LiveRun(
        control.name,
        len(points.trace),
        query.dropped,
        len(query.windows()),
        right,
        mean(seen, lambda one: one.pane_utilization),
        max((one.pane_utilization for one in seen), default=float("nan")),
        mean(seen, lambda one: one.window_utilization),
        mean(seen, lambda one: one.degrees.panes),
        mean(seen, lambda one: one.degrees.windows),
        float(np.mean(closed)),
        len(query.steps),
        took_s - stream_s,
    )


def oracle(points: GeneratedPoints) -> list[FloatArray]:
    """The answer of every window from all of its tuples at once; who is too late is a matter of time stamps alone."""
    arrivals_us, events_us = points.trace.timestamps_us, points.events_us()
    order = np.lexsort((events_us, arrivals_us))
    origin_us = int(events_us[order[0]]) // (1000 * WINDOWS.slide_ms) * 1000 * WINDOWS.slide_ms
    since_us = events_us[order] - origin_us
    late = KSlack(WINDOWS.pane_us).offer(since_us, arrivals_us[order]).late
    values = uniform(order.astype(np.int64), points.attributes, points.seed)[~late]
    panes = since_us[~late] // WINDOWS.pane_us
    answers, window = [], 0
    while (inside := WINDOWS.panes(window)).stop - 1 <= panes.max():
        rows = values[(panes >= inside.start) & (panes < inside.stop)]
        best = rows[np.sort(skyline(rows))]
        answers.append(_sorted(best[top_delta(best, DELTA).rows]))
        window += 1
    return answers


def results_of(query: PreferenceQuery) -> dict[int, FloatArray]:
    """From the log, by window."""
    log = StreamLog(query.engine.folder.results)
    (pieces,) = log.pieces(0, log.end, 1) if log.end else ([],)
    if not pieces:
        return {}
    rows = pa.Table.from_batches(list(log.read(pieces)))
    windows = rows.column(WINDOW).to_numpy()
    values = np.column_stack([rows.column(name).to_numpy() for name in point_columns(8)])
    return {int(window): _sorted(values[windows == window]) for window in np.unique(windows)}


def _sorted(rows: FloatArray) -> FloatArray:
    return rows[np.lexsort(rows.T)]


def live_parts(done: Sequence[LiveRun]) -> Iterator[Table | str]:
    """Side by side, and what follows."""
    columns = ("busy", "most", "pane tasks", "for windows", "splits", "late, s", "right")
    table = plain_table("Both levels on Spark", "acts", *columns)
    titles = {control.name: control.title for control in CONTROLS}
    for one in done:
        figures = (
            one.utilization,
            one.highest_utilization,
            one.pane_tasks,
            one.window_tasks,
            one.splitting,
            one.overrun_s,
        )
        table.add_row(titles[one.control], *map(number, figures), f"{one.right} of {one.windows}")
    yield table
    yield (
        "Busy is the utilization of the pane stage, CPU time over the time in which its tuples arrived, weighted as in "
        "the paper: its mean, and that of the busiest interval. Tasks and partitions of a pane are means; splitting "
        "alone has 4 + 2 tasks. Late is how long after the last arrival the last window was complete."
    )
