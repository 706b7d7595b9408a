"""The record of a query: its micro-batches, the arrivals before them, and the tasks in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mead.arrays import FloatArray

MOST_REPLAYED = 200_000
"""Arrivals that are replayed one by one. If there are more, several rows make up one of them."""

POINTS = 32
"""Rows of a micro-batch whose response times are worked out; each stands for as many others."""

WARM_UP, WARM_UP_BATCHES = 0.05, 3
"""The first part of the micro-batches, and the least number of them, is left out: workers start, Java compiles."""

LEAST_BATCHES = 5
"""With fewer micro-batches nothing is advised."""


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """One micro-batch with rows. All times in seconds; ``started_s`` since 1970."""

    rows: int
    started_s: float
    since_s: float | None
    """The earliest time at which its rows can have arrived; None if it is not known."""
    planning_s: float
    """From its start to its first task: offsets, planning, write-ahead log."""
    work_s: float
    """From the start of its first task to the end of its last."""
    commit_s: float
    """From there until its output can be read."""
    record_s: float
    """From there until the next micro-batch may start."""
    slots: int
    """Task slots of the application at that time."""
    steps: tuple[FloatArray, ...] = ()
    """Seconds of its tasks in the order in which they started; tasks of a step may run at the same time."""
    arrived: int | None = None
    """Rows that arrived since the micro-batch before; None: as many as it has."""
    left: int = 0
    """Rows that the source held back at its start, as far as it tells."""
    stamps_s: FloatArray | None = None
    """When its rows arrived, at equal ranks from first to last; None if they have no stamps."""
    repeated: bool = False
    """Whether tasks ran more than once: Spark then counts rows more than once."""

    @property
    def response_s(self) -> float:
        """Time from its start until its output can be read."""
        return self.planning_s + self.work_s + self.commit_s

    @property
    def took_s(self) -> float:
        """Time from its start until the next one may start."""
        return self.response_s + self.record_s


@dataclass(frozen=True, eq=False)
class QueryRecord:
    """A query as it ran, in the order of its micro-batches."""

    name: str
    batches: Sequence[MicroBatch] = field(repr=False)
    slots_per_core: float = 1.0
    """Below 1 if a task needs several cores."""
    executor_cores: int | None = None
    """Cores of one executor; None if cores come one by one, as in local mode."""
    trigger_s: float | None = None
    max_rows: int | None = None
    """The most rows of a micro-batch; None without a limit."""
    rows: int = 0
    """Rows of all micro-batches, also of those that are not kept."""
    run_s: float = 0.0
    """Task time of these rows, without failed and repeated attempts."""
    cpu_s: float = 0.0
    """CPU time of Java threads in these tasks."""
    wasted_s: float = 0.0
    """Task time of attempts that failed, were killed, or did work that was done already."""
    in_python: bool = False
    """Whether some of the work is done by Python workers, whose CPU time Spark does not know."""
    others_slots: float = 0.0
    """Task slots that other queries and jobs of the application kept busy on average."""
    notes: tuple[str, ...] = ()

    @cached_property
    def usable(self) -> Sequence[MicroBatch]:
        """The micro-batches without those of the start."""
        first = max(WARM_UP_BATCHES, round(WARM_UP * len(self.batches)))
        kept = list(self.batches)[min(first, max(len(self.batches) - LEAST_BATCHES, 0)) :]
        return [batch for batch in kept if batch.since_s is not None]

    @property
    def slots(self) -> int:
        """Task slots of the application, in most of the micro-batches."""
        return int(np.median([batch.slots for batch in self.usable]))

    @property
    def stamped(self) -> bool:
        """Whether all arrival times are known by stamps."""
        return all(batch.stamps_s is not None for batch in self.usable)

    @cached_property
    def arrivals(self) -> Arrivals:
        """When rows arrived."""
        return Arrivals.of(self.usable)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """The number of rows that had arrived at some times; between them they arrive evenly."""

    time_s: FloatArray
    count: FloatArray
    evenly_s: float
    """The mean time over which rows are taken to have arrived evenly."""

    @classmethod
    def of(cls, batches: Sequence[MicroBatch]) -> Arrivals:
        """Add up the rows of the micro-batches.

        >>> made = [MicroBatch(10, at, at - 1.0, 0.1, 0.2, 0.0, 0.0, 1) for at in (101.0, 102.0)]
        >>> Arrivals.of(made).at(np.array([0.0, 5.0, 20.0])).tolist()
        [100.0, 100.5, 102.0]
        """
        times, counts, total, spread_s = [np.empty(0)], [np.empty(0)], 0.0, 0.0
        for batch in batches:
            arrived = batch.rows if batch.arrived is None else batch.arrived
            since_s = batch.started_s if batch.since_s is None else batch.since_s
            stamps_s = batch.stamps_s
            points_s = np.array([since_s, batch.started_s]) if stamps_s is None else stamps_s
            times.append(points_s)
            counts.append(total + np.linspace(0.0, arrived, points_s.size))
            spread_s += arrived * float(points_s[-1] - points_s[0]) / (points_s.size - 1)
            total += arrived
        # Clocks and stamps may run back a little; arrivals do not.
        return cls(np.maximum.accumulate(np.concatenate(times)), np.concatenate(counts), spread_s / max(total, 1.0))

    @property
    def total(self) -> float:
        """All rows."""
        return float(self.count[-1])

    @property
    def lasted_s(self) -> float:
        """Time from the first to the last."""
        return float(self.time_s[-1] - self.time_s[0])

    @property
    def rate_per_s(self) -> float:
        """Rows per second."""
        return self.total / self.lasted_s if self.lasted_s > 0 else 0.0

    def at(self, number: FloatArray) -> FloatArray:
        """When the rows of these numbers arrived."""
        return np.interp(number, self.count, self.time_s)

    def units(self) -> tuple[FloatArray, float]:
        """Inter-arrival times of rows, or of groups of rows if there are too many; and the rows in a group."""
        group = max(1.0, self.total / MOST_REPLAYED)
        at_s = self.at((np.arange(int(self.total / group), dtype=np.float64) + 0.5) * group)
        return np.diff(at_s, prepend=self.time_s[0]), group

    def dispersion(self, interval_s: float) -> float | None:
        """Variance over mean of the rows in intervals of this length; None with fewer than ten intervals.

        It is 1 for Poisson arrivals and larger for bursty ones.
        """
        edges = np.arange(self.time_s[0], self.time_s[-1], interval_s)
        if edges.size < 11:
            return None
        counts = np.diff(np.interp(edges, self.time_s, self.count))
        return float(counts.var() / counts.mean()) if counts.mean() > 0 else None


@dataclass(frozen=True)
class Latency:
    """Response times, and the mean of the parts that they are made of."""

    mean_s: float
    percentiles_s: dict[float, float]
    wait_s: float
    """Until the next micro-batch starts."""
    backlog_s: float
    """From there until the start of its own micro-batch, because the source held it back."""
    planning_s: float
    work_s: float
    commit_s: float

    @classmethod
    def of(cls, record: QueryRecord, percents: Sequence[float]) -> Latency:
        """The response times of a query as it ran: first come, first served."""
        batches, arrivals = record.usable, record.arrivals
        started_s = np.array([batch.started_s for batch in batches])
        rows = np.array([batch.rows for batch in batches], dtype=float)
        # Rows that were held back before the first micro-batch have numbers below 0. They arrived before all others.
        first = batches[0]
        held_back = 0 if first.arrived is None else first.left + first.rows - first.arrived
        ends = np.cumsum(rows) - held_back
        ranks = (np.arange(POINTS) + 0.5) / POINTS
        numbers = ends[:, None] - rows[:, None] + rows[:, None] * ranks
        arrived_s = np.minimum(arrivals.at(numbers), started_s[:, None])
        following = np.minimum(np.searchsorted(started_s, arrived_s - 1e-9), len(batches) - 1)
        next_s = np.minimum(started_s[following], started_s[:, None])
        weights = np.broadcast_to(rows[:, None] / POINTS, arrived_s.shape)
        took_s = np.array([batch.response_s for batch in batches])
        response_s = started_s[:, None] - arrived_s + took_s[:, None]
        order = np.argsort(response_s, axis=None)
        reached = np.cumsum(weights.ravel()[order])
        at = [min(int(np.searchsorted(reached, p / 100 * reached[-1])), order.size - 1) for p in percents]
        per_row = rows / rows.sum()
        parts = ("planning_s", "work_s", "commit_s")
        return cls(
            float(np.average(response_s, weights=weights)),
            {p: float(response_s.ravel()[order[i]]) for p, i in zip(percents, at, strict=True)},
            float(np.average(next_s - arrived_s, weights=weights)),
            float(np.average(started_s[:, None] - next_s, weights=weights)),
            *(float(per_row @ [getattr(batch, part) for batch in batches]) for part in parts),
        )
