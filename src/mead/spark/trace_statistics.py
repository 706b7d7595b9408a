"""Characterize a trace of any size with a Spark job of constant memory.

Tasks read pieces of the file (row groups, ranges of rows, blocks of lines) in two passes. The first checks every row
and finds the number of arrivals, the first and the last. The second adds up the partial sums of `mead.queueing`. Each
task starts reading a little before its first row, so that no product across the border of two tasks is missing. The
driver gets a few numbers per piece from the first pass, and one small row per task from the second.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import numpy as np
import pyarrow as pa

from mead.arrays import FloatArray, IntArray
from mead.queueing import Characteristics, Frame, Partial
from mead.spark.log.tasks import divide_rows
from mead.workload import (
    Course,
    Piece,
    Pieces,
    Survey,
    TraceError,
    Unit,
    merge_surveys,
    split_trace,
    survey_piece,
    whole_or_seconds,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE = 8
"""Enough for cores to finish at about the same time. Every task reads the end of the piece before it."""


ProgressCallback: TypeAlias = Callable[[str, float], None]
"""Called with the name of a step and its progress, from 0 to 1."""

POLL_S = 0.3


def ignore_progress(doing: str, done: float) -> None:
    """Ignore progress."""
    del doing, done


def characterize(
    spark: SparkSession,
    path: str | Path,
    *,
    iat: bool = False,
    sort: bool = False,
    column: str | None = None,
    unit: Unit | None = None,
    scratch: str | Path | None = None,
    progress: ProgressCallback = ignore_progress,
) -> Characteristics:
    """Return the same statistics as for a trace in memory.

    Every machine that runs tasks must see the file under its path. ``sort`` lets Spark sort unordered time stamps, in a
    temporary folder in ``scratch``, which all machines must see too. ``progress`` is called with each step and its
    progress. Raises TraceError, in one line, for a file without at least two arrivals in order of time.
    """
    pieces = split_trace(path, iat=iat, column=column, unit=unit)
    job = _Job(spark, progress)
    try:
        if iat and sort:
            raise TraceError("inter-arrival times have no order to repair; leave out --sort, or --iat")
        surveys = job.survey(pieces, iat=iat)
        whole = merge_surveys(surveys, pieces.unit, iat=iat)
        if whole.disorder is None:
            return job.add_up(pieces, surveys, whole, iat=iat)
        if not sort:
            raise whole.disorder.error(0)
        with TemporaryDirectory(prefix="mead-sorted-", dir=scratch) as folder:
            in_order = job.sorted(pieces, Path(folder) / "sorted.parquet", whole_numbers=isinstance(whole.last, int))
            surveys = job.survey(in_order, iat=False)
            return job.add_up(in_order, surveys, merge_surveys(surveys, in_order.unit, iat=False), iat=False)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error


@dataclass(frozen=True)
class Part:
    """The work of one task: some pieces, and the pieces before them with the nearest arrivals."""

    pieces: Sequence[Piece]
    before: Sequence[Piece]
    passed_s: float
    """The sum of all IATs before this part."""


def add_up_part(part: Part, course: Course, frame: Frame) -> Partial:
    """Return the sums over one part, in a task."""
    before = _last_rows(part.before, frame.longest_lag + 1)
    before_s = course.before_s(before)
    chunks = (chunk for piece in part.pieces for chunk in piece.chunks())
    partial = Partial()
    for iats_s, ages_s in course.stretches(chunks, before, part.passed_s):
        partial = partial.then(Partial.of(frame, iats_s, ages_s, before_s))
        before_s = np.concatenate([before_s, iats_s])[-(frame.longest_lag + 1) :]
    return partial


def _last_rows(pieces: Sequence[Piece], wanted: int) -> IntArray | FloatArray:
    rows: IntArray | FloatArray = np.zeros(0, dtype=np.int64)
    for piece in pieces:
        for chunk in piece.chunks():
            rows = np.concatenate([rows, chunk])[-wanted:] if rows.size else chunk[-wanted:]
    return rows


def divide_pieces(pieces: Sequence[Piece], surveys: Sequence[Survey], tasks: int, rows_before: int) -> list[Part]:
    """Return the work of each task: equal numbers of pieces, and those with the rows before them."""
    parts = []
    for first, end in divide_rows(0, len(pieces), tasks):
        start, missing = first, rows_before
        while start and missing > 0:
            start -= 1
            missing -= surveys[start].rows
        passed_s = fsum(survey.total_s for survey in surveys[:first])
        parts.append(Part(pieces[first:end], pieces[start:first], passed_s))
    return parts


@dataclass(frozen=True)
class _Job:
    spark: SparkSession
    progress: ProgressCallback

    @property
    def tasks(self) -> int:
        """Number of tasks, whatever the size of the trace."""
        return TASKS_PER_CORE * self.spark.sparkContext.defaultParallelism

    def survey(self, pieces: Pieces, *, iat: bool) -> list[Survey]:
        """Run the first pass."""
        unit = pieces.unit
        groups = [pieces.pieces[first:end] for first, end in divide_rows(0, len(pieces.pieces), self.tasks)]

        def work(number: int) -> list[dict[str, Any]]:
            return [survey_piece(piece, unit, iat=iat).as_json() for piece in groups[number]]

        return [Survey.from_json(sent) for group in self._run("checking", work, len(groups)) for sent in group]

    def add_up(self, pieces: Pieces, surveys: Sequence[Survey], whole: Survey, *, iat: bool) -> Characteristics:
        """Run the second pass."""
        course = Course.of(whole, pieces.unit, iat=iat)
        frame = Frame(whole.rows - (not iat), course.duration_s)
        parts = divide_pieces(pieces.pieces, surveys, self.tasks, frame.longest_lag + 1)

        def work(number: int) -> dict[str, Any]:
            return add_up_part(parts[number], course, frame).as_json()

        sums = [Partial.from_json(sent) for sent in self._run("adding up", work, len(parts))]
        total = reduce(Partial.then, sums, Partial())
        if total.iats != frame.iats:
            raise TraceError("the file has changed while it was read; try again")
        return Characteristics.of(frame, total)

    def sorted(self, pieces: Pieces, folder: Path, *, whole_numbers: bool) -> Pieces:
        """Sort the time stamps with Spark, into a folder of files of about one piece each."""
        unit = pieces.unit
        name, kind = (f"timestamp_{unit}", "bigint") if whole_numbers else ("timestamp_s", "double")
        groups = [pieces.pieces[first:end] for first, end in divide_rows(0, len(pieces.pieces), self.tasks)]

        def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number in _numbers(batches):
                for piece in groups[number]:
                    for chunk in piece.chunks():
                        yield pa.RecordBatch.from_pydict({name: whole_or_seconds(chunk, unit)[0]})

        unsorted = self.spark.range(0, len(groups), 1, len(groups)).mapInArrow(rows, f"{name} {kind}")
        ranges = unsorted.repartitionByRange(len(pieces.pieces), name).sortWithinPartitions(name)
        with report_progress(self.spark, "sorting", self.progress):
            ranges.write.parquet(str(folder))
        return split_trace(folder)

    def _run(self, doing: str, work: Callable[[int], Any], count: int) -> list[Any]:
        """Return the results of ``work`` for each number, computed in tasks and returned as JSON."""
        if count == 0:
            return []

        def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for number in _numbers(batches):
                yield pa.RecordBatch.from_pydict({"number": [number], "answer": [json.dumps(work(number))]})

        numbered = self.spark.range(0, count, 1, count).mapInArrow(answers, "number bigint, answer string")
        with report_progress(self.spark, doing, self.progress):
            rows = numbered.collect()
        return [json.loads(row.answer) for row in sorted(rows, key=lambda row: row.number)]


def _numbers(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """Yield the numbers that ``spark.range`` gives to a task."""
    for batch in batches:
        yield from batch.column("id").to_pylist()


@contextmanager
def report_progress(spark: SparkSession, doing: str, progress: ProgressCallback) -> Iterator[None]:
    """Report the finished tasks of the jobs that this thread starts in the block."""
    context = spark.sparkContext
    group = uuid4().hex
    context.setJobGroup(group, doing)
    ended = Event()

    def tell() -> None:
        while not ended.wait(POLL_S):
            progress(doing, done())

    def done() -> float:
        tracker = context.statusTracker()
        jobs = filter(None, map(tracker.getJobInfo, tracker.getJobIdsForGroup(group)))
        stages = [stage for job in jobs for stage in map(tracker.getStageInfo, job.stageIds) if stage is not None]
        return sum(stage.numCompletedTasks for stage in stages) / max(sum(stage.numTasks for stage in stages), 1)

    progress(doing, 0.0)
    teller = Thread(target=tell, name=f"progress of {doing}", daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
    progress(doing, 1.0)
