"""The query as a micro-batch server, learned from its micro-batches, for any number of task slots.

A micro-batch of n rows takes ``S(n) = a + n d`` (``BatchServer``). With other slots, its recorded tasks are scheduled
again: a step of eight tasks takes one round on eight slots, two on four, and still one on sixteen. The rest of a
micro-batch (planning, commit, gaps between steps) stays as it was. A line through rows and durations of all
micro-batches gives a and d, and what is left over gives their scatter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heapify, heapreplace

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import BatchServer
from mead.reports.advice.query_record import MicroBatch, QueryRecord

MOST_PAIRED = 1000
"""Micro-batches whose pairs give the slope of the line; of more, as many are taken at equal distances."""

LEAST_SPREAD = 0.05
"""If the rows per micro-batch vary less than this part of their mean, all task time counts as time of rows."""

LEAST_DEMAND_S = 1e-9

MOST_LEARNED = 2000
"""Micro-batches from which a server is learned; of more, as many are taken at equal distances."""


@dataclass(frozen=True, eq=False)
class LearnedServer:
    """The server at one number of slots."""

    overhead_s: float
    per_row_s: float
    """Time that one more row adds to a micro-batch."""
    scatter_s: FloatArray = field(repr=False)
    """By how much every recorded micro-batch was longer than the line says, in order of time."""
    record_s: float
    """Mean time of a micro-batch after its output can be read."""

    def batch_server(self, record: QueryRecord, rows_per_unit: float) -> BatchServer:
        """The server for arrivals that stand for several rows each."""
        most = record.max_rows and max(1, round(record.max_rows / rows_per_unit))
        return BatchServer(
            self.overhead_s, self.per_row_s * rows_per_unit, trigger_s=record.trigger_s, max_batch=most or None
        )


def makespan_s(tasks_s: FloatArray, slots: int) -> float:
    """Time until all tasks are done, if each takes the slot that is free first, in their order.

    >>> eight = np.ones(8)
    >>> [makespan_s(eight, slots) for slots in (1, 2, 3, 8, 16)]
    [8.0, 4.0, 3.0, 1.0, 1.0]
    >>> makespan_s(np.array([1.0, 1.0, 5.0]), 2)
    6.0
    """
    if slots >= tasks_s.size:
        return float(tasks_s.max(initial=0.0))
    if slots == 1:
        return float(tasks_s.sum())
    free = tasks_s[:slots].tolist()
    heapify(free)
    for task_s in tasks_s[slots:].tolist():
        heapreplace(free, free[0] + task_s)
    return float(max(free))


def work_s(batch: MicroBatch, slots: int) -> float:
    """Time of the tasks of a micro-batch on so many slots."""
    return sum(makespan_s(step, slots) for step in batch.steps)


@dataclass(frozen=True, eq=False)
class BatchTimes:
    """The recorded micro-batches as they would be on another number of slots, in the order of time."""

    rows: FloatArray
    took_s: FloatArray
    """From start to start of the next."""
    tasks_s: FloatArray
    """The part of this that tasks take."""
    record_s: FloatArray

    @classmethod
    def on(cls, record: QueryRecord, slots: int) -> BatchTimes | None:
        """Schedule the tasks on so many slots; None if other queries already need that many.

        Other queries of the application take turns with this one: its tasks take longer in proportion.
        """
        free = slots - record.others_slots
        if free <= 0:
            return None
        batches = [batch for batch in record.usable if not batch.repeated] or list(record.usable)
        chosen = np.unique(np.linspace(0, len(batches) - 1, min(len(batches), MOST_LEARNED)).astype(int))
        batches = [batches[i] for i in chosen]
        tasks_s = np.array([work_s(batch, slots) for batch in batches]) * (slots / free)
        as_it_was_s = np.array([_recorded_work_s(record, batch) for batch in batches])
        took_s = np.array([batch.took_s for batch in batches])
        record_s = np.array([batch.record_s for batch in batches])
        rows = np.array([batch.rows for batch in batches], dtype=float)
        return cls(rows, took_s - as_it_was_s + tasks_s, tasks_s, record_s)

    def learn(self, part: int | None = None, parts: int = 1) -> LearnedServer:
        """Learn the server from all micro-batches, or without one of so many equal parts of them."""
        kept = np.ones(self.rows.size, dtype=bool)
        if part is not None:
            edges = np.linspace(0, kept.size, parts + 1).astype(int)
            kept[edges[part] : edges[part + 1]] = False
        rows, took_s = self.rows[kept], self.took_s[kept]
        most_s = float(self.tasks_s[kept].sum() / rows.sum())
        per_row_s = min(max(_slope(rows, took_s, most_s), 0.0), most_s)
        overhead_s = max(float(took_s.mean() - per_row_s * rows.mean()), 0.0)
        scatter_s = took_s - overhead_s - per_row_s * rows
        return LearnedServer(overhead_s, max(per_row_s, LEAST_DEMAND_S), scatter_s, float(self.record_s[kept].mean()))


def _recorded_work_s(record: QueryRecord, batch: MicroBatch) -> float:
    """Time of the tasks on the slots that there were, but not longer than the work of the micro-batch really took."""
    free = max(batch.slots - record.others_slots, 1.0)
    return min(work_s(batch, batch.slots) * max(batch.slots / free, 1.0), batch.work_s)


def _slope(rows: FloatArray, took_s: FloatArray, otherwise_s: float) -> float:
    """The median slope of all pairs of micro-batches (Theil and Sen), which a few long pauses do not change."""
    if rows.std() < LEAST_SPREAD * rows.mean():
        return otherwise_s
    chosen = np.unique(np.linspace(0, rows.size - 1, min(rows.size, MOST_PAIRED)).astype(int))
    rows, took_s = rows[chosen], took_s[chosen]
    one, other = np.triu_indices(rows.size, 1)
    apart = rows[other] - rows[one]
    kept = np.abs(apart) >= LEAST_SPREAD * rows.mean()
    if not kept.any():
        return otherwise_s
    return float(np.median((took_s[other] - took_s[one])[kept] / apart[kept]))


def sizes(record: QueryRecord, most_shown: int = 12) -> list[int]:
    """Numbers of executors (or of cores, where these come one by one) that are worth a look, smallest first.

    More than the tasks of a step can use are of no use, except that twice as many as there are stay in view.
    """
    slots_each = (record.executor_cores or 1) * record.slots_per_core
    now = max(1, round(record.slots / slots_each))
    widest = max((step.size for batch in record.usable for step in batch.steps), default=1)
    most = min(max(2 * now, int(np.ceil((widest + record.others_slots) / slots_each))), 4 * now + 8)
    few = np.unique(np.round(np.geomspace(1, most, most_shown)).astype(int)).tolist()
    return sorted({*few, *range(1, min(most, 4) + 1), now})


def slots_of(record: QueryRecord, size: int) -> int:
    """Task slots of so many executors or cores."""
    return int(size * (record.executor_cores or 1) * record.slots_per_core + 1e-9)


def cores_of(record: QueryRecord, size: int) -> int:
    """Cores of so many executors or cores."""
    return size * (record.executor_cores or 1)
