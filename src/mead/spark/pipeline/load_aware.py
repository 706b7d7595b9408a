"""Load-aware grouping on Spark: fast workers get more rows of a micro-batch (PA-SPS, Algorithm 1).

A replica is a Python worker of the operator. Spark decides which worker runs a task, so a task cannot be sized for a
worker beforehand. Instead the rows are divided into parts for the workers that are expected, and every task claims a
part when it runs: the one that was sized for a worker of its speed. Claims are kept in a file, so that a task that
Spark repeats works on the same rows again.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

from pyspark.sql.datasource import InputPartition

from mead.spark.log.stream_log import StreamLog, WrittenFile
from mead.spark.log.tasks import TIMES, read_number, write_times
from mead.spark.pipeline.in_place import InPlaceOperator, InPlaceReader

KEPT = 0.5
"""Weight of what a worker did before its last task, so that its execution time follows the load of its machine."""

FORGOTTEN_AFTER = 10
"""A worker that has had no rows for this many micro-batches is not expected any more: it may have ended."""

WORKER, TOOK = "worker", "took_s"
"""Keys of a task's note: the worker that ran it, and how long it took."""


def times_file(folder: Path) -> Path:
    """The file by which the reader of the input learns the execution times of the tasks."""
    return folder / f"tasks{TIMES}"


@dataclass
class _Worker:
    rows: float = 0.0
    took_s: float = 0.0
    batch: int = 0
    """The last micro-batch in which it worked."""

    @property
    def time_s(self) -> float:
        return self.took_s / self.rows


class WorkerTimes:
    """Execution time of a row by worker, from the notes of its tasks."""

    def __init__(self) -> None:
        self._workers: dict[str, _Worker] = {}
        self._batch = 0

    def add(self, notes: Iterable[Mapping[str, Any]]) -> None:
        """Add the notes of a micro-batch."""
        self._batch += 1
        for note in notes:
            rows = note["stamped"] + note["unstamped"]
            if rows and note.get(TOOK):  # notes of a run without this grouping say nothing about workers
                worker = self._workers.setdefault(note[WORKER], _Worker())
                worker.rows = KEPT * worker.rows + rows
                worker.took_s = KEPT * worker.took_s + note[TOOK]
                worker.batch = self._batch
        self._workers = {
            name: worker for name, worker in self._workers.items() if self._batch - worker.batch < FORGOTTEN_AFTER
        }

    @property
    def known_s(self) -> dict[str, float]:
        """The execution times of all workers."""
        return {name: worker.time_s for name, worker in self._workers.items()}

    def expect(self, tasks: int) -> list[float]:
        """Return the execution times of the workers that are expected to run so many tasks, the fastest first.

        Spark gives a task to the worker that has been idle for longest. A new worker counts as an average one.
        """
        idle = sorted(self._workers.values(), key=lambda worker: worker.batch)[:tasks]
        times_s = [worker.time_s for worker in idle]
        average_s = sum(times_s) / len(times_s) if times_s else 1.0
        return sorted([*times_s, *[average_s] * (tasks - len(times_s))])


class ClaimedPartition(InputPartition):
    """A task, and all parts of its micro-batch, of which it claims one when it runs."""

    def __init__(
        self,
        task: int,
        claims: Path,
        parts: Sequence[InputPartition],
        times_s: Sequence[float],
        known_s: Mapping[str, float],
    ) -> None:
        super().__init__(None)
        self.task, self.claims, self.parts, self.times_s, self.known_s = task, claims, parts, times_s, known_s

    def claim(self, worker: str) -> InputPartition:
        """Return the part that the task has claimed before, or else the free one for a worker most like this one."""
        with self.claims.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            taken: dict[int, int] = dict(json.loads(line) for line in file if line.endswith("\n"))
            if self.task not in taken:
                average_s = sum(self.times_s) / len(self.times_s)
                time_s = self.known_s.get(worker, average_s)
                free = set(range(len(self.parts))) - set(taken.values())
                taken[self.task] = min(free, key=lambda part: (abs(self.times_s[part] - time_s), part))
                file.write(f"{json.dumps([self.task, taken[self.task]])}\n")
                file.flush()
        return self.parts[taken[self.task]]


class LoadAwareReader(InPlaceReader):
    """An operator whose tasks get rows by the speed of their workers."""

    def __init__(self, operator: InPlaceOperator, tasks: Path, folder: Path) -> None:
        super().__init__(operator)
        self.tasks, self.folder = tasks, folder
        """The file with the number of tasks, and the folder of execution times and claims."""
        self._times, self._claims = WorkerTimes(), list[Path]()
        self._log = StreamLog(operator.output.folder, keep_notes=True)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Divide the rows among the workers that are expected."""
        self._times.add(self._log.take_notes())
        times_s = self._times.expect(read_number(self.tasks))
        self.folder.mkdir(parents=True, exist_ok=True)
        write_times(times_file(self.folder), times_s)
        parts = super().partitions(start, end)  # of few rows, slow workers get none: their parts would be the last
        claims = self.folder / uuid4().hex
        self._claims.append(claims)
        known_s = self._times.known_s
        return [ClaimedPartition(task, claims, parts, times_s[: len(parts)], known_s) for task in range(len(parts))]

    def commit(self, end: dict[str, Any]) -> None:
        """Commit the input, and forget the claims: all micro-batches so far are done."""
        super().commit(end)
        for claims in self._claims:
            claims.unlink(missing_ok=True)
        self._claims = []

    def process(self, partition: InputPartition) -> tuple[WrittenFile, dict[str, Any]]:
        """Claim a part, and note who worked on it for how long."""
        if not isinstance(partition, ClaimedPartition):
            raise TypeError(f"not a partition of this source: {type(partition).__name__}")
        worker = f"{socket.gethostname()}:{os.getpid()}"
        part, began_s = partition.claim(worker), perf_counter()
        written, note = super().process(part)
        return written, note | {WORKER: worker, TOOK: perf_counter() - began_s}
