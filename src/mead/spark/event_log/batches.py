"""Make micro-batches, as advice needs them, from reports of a query and times of its tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from mead.arrays import FloatArray
from mead.reports.advice.query_record import MicroBatch
from mead.spark.attach.engine import came_since_us, rows_left
from mead.spark.telemetry.batch_times import find_stamp_fault
from mead.spark.telemetry.probe import OBSERVATION, Stamps
from mead.spark.telemetry.reports import BatchReport

TRIGGERS_S = (0.1, 0.2, 0.25, 0.5, 1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 180, 300, 600, 900, 1800, 3600)
"""Intervals of triggers that are tried. A log does not name them."""

ON_TIME_S, MOSTLY, LEAST_PAUSES = 0.02, 0.9, 8
"""Micro-batches after a pause start within this time after a multiple of the trigger's interval, most of them."""


class Span(NamedTuple):
    """Start and duration of a micro-batch."""

    started_us: int
    took_s: float


class DatedBatch(NamedTuple):
    """A micro-batch with its own span, and that of the report before it."""

    batch: MicroBatch
    span: Span
    before: Span | None

    def since(self, trigger_s: float | None) -> MicroBatch:
        """The micro-batch with the earliest arrival time of its rows, once the trigger is known."""
        since_us = came_since_us(self.span, self.before, trigger_s)
        return replace(self.batch, since_s=None if since_us is None else since_us / 1e6)


class BatchMaker:
    """Makes the micro-batches of one query, in their order."""

    def __init__(self) -> None:
        self._before: Span | None = None
        self._left = 0

    def restart(self) -> None:
        """Forget the micro-batch before: the query has been started again."""
        self._before, self._left = None, 0

    def make(
        self,
        report: BatchReport,
        tasks: Mapping[int, Mapping[int, tuple[int, int]]],
        slots: int,
        *,
        repeated: bool = False,
    ) -> DatedBatch | None:
        """Return the micro-batch of a report; None if it had no rows.

        ``tasks`` are start and end in milliseconds, by stage and partition.
        """
        before, self._before = self._before, Span(report.started_us, report.took_s)
        if report.rows == 0:
            return None
        left_before, self._left = self._left, rows_left(report)
        started_s, response_s = report.started_us / 1e6, (report.done_us - report.started_us) / 1e6
        times_s = [(start_ms / 1e3, end_ms / 1e3) for stage in tasks.values() for start_ms, end_ms in stage.values()]
        if times_s:
            first_s = min(max(min(start for start, _ in times_s) - started_s, 0.0), response_s)
            last_s = min(max(max(end for _, end in times_s) - started_s, first_s), response_s)
        else:
            first_s, last_s = min(report.planning_s, response_s), response_s
        batch = MicroBatch(
            rows=report.rows,
            started_s=started_s,
            since_s=None,
            planning_s=first_s,
            work_s=last_s - first_s,
            commit_s=response_s - last_s,
            record_s=max(report.took_s - response_s, 0.0),
            slots=slots,
            steps=_steps(tasks),
            arrived=max(report.rows + self._left - left_before, 0),
            left=self._left,
            stamps_s=_stamps_s(report),
            repeated=repeated,
        )
        return DatedBatch(batch, self._before, before)


def date_batches(dated: Sequence[DatedBatch], trigger_s: float | None) -> list[MicroBatch]:
    """Return micro-batches with the earliest arrival times of their rows."""
    return [one.since(trigger_s) for one in dated]


def _steps(tasks: Mapping[int, Mapping[int, tuple[int, int]]]) -> tuple[FloatArray, ...]:
    """Return the seconds of tasks by step: stages whose tasks overlap in time are one step.

    >>> one, two = {0: (0, 100), 1: (0, 90)}, {0: (120, 150)}
    >>> [step.tolist() for step in _steps({7: one, 8: two})]
    [[0.1, 0.09], [0.03]]
    """
    steps: list[list[tuple[int, int]]] = []
    ends_ms = 0
    started = itemgetter(0)
    for stage in sorted((sorted(stage.values(), key=started) for stage in tasks.values()), key=itemgetter(0)):
        if steps and stage[0][0] < ends_ms:
            steps[-1] += stage
        else:
            steps.append(list(stage))
        ends_ms = max(ends_ms, *(end for _, end in stage))
    return tuple(np.array([(end - start) / 1e3 for start, end in sorted(step, key=started)]) for step in steps)


def _stamps_s(report: BatchReport) -> FloatArray | None:
    """Return arrival times at equal ranks if the rows carry stamps that can be used."""
    if OBSERVATION not in report.observed:
        return None
    stamps = Stamps.from_observation(report.observed)
    if not stamps.stamped or find_stamp_fault(report, stamps):
        return None
    return np.asarray(stamps.at_ranks_us / 1e6)


def find_trigger_s(batches: Iterable[MicroBatch]) -> float | None:
    """Find the interval of a query's trigger: the longest that fits; None if micro-batches start at any time.

    Spark starts a micro-batch at a multiple of the interval since 1970, unless the one before ran longer.
    """
    starts_s = [
        batch.started_s
        for before, batch in pairwise(batches)
        if batch.started_s - before.started_s - before.took_s > ON_TIME_S
    ]
    if len(starts_s) < LEAST_PAUSES:
        return None
    late_s = np.array(starts_s)[:, None] % np.array(TRIGGERS_S)
    fits = (late_s < ON_TIME_S).mean(axis=0) >= MOSTLY
    return float(TRIGGERS_S[int(np.flatnonzero(fits)[-1])]) if fits.any() else None
