"""One streaming query of a pipeline: progress, end, failures."""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mead.spark.runtime.java_machine import NO_ANSWER
from mead.spark.telemetry.reports import FinishedBatch, as_offset

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""First and longest pause before a failed query is started again."""

UP_S = 30.0
"""How long to wait for a query to open its source."""

STATES = "org.apache.spark.sql.execution.streaming.runtime"
"""The Java package with the states of queries."""

OFFSETS, COMMITS, METADATA = "offsets", "commits", "metadata"
"""Folders and a file of a checkpoint: Spark writes the offsets of a micro-batch before it begins, and a commit after
it."""

ERROR_LINE = re.compile(r"(\w+\.)*\w*(Error|Exception)\b(?!.*\.java)")
"""The beginning of the last line of a traceback."""


@dataclass
class Query:
    """One query, and its recent failures."""

    running: StreamingQuery
    checkpoint: Path
    started_s: float = field(default_factory=time.monotonic)
    failures: int = 0
    failed_after: int = -1
    """The last micro-batch that was finished when it failed last."""
    failed_because: str = ""
    """The reason of the last failure."""
    waits_until_s: float | None = None
    """When a query that is down is started again; None while it is up."""
    ended: bool = False
    """Whether it was ended on purpose, and must not be started again."""

    @property
    def last(self) -> FinishedBatch | None:
        """The last finished micro-batch, of this run or an earlier one."""
        return last_finished(self.checkpoint)

    @property
    def is_busy(self) -> bool:
        """Whether it is in the middle of a micro-batch."""
        return bool(self.running.status["isTriggerActive"])

    @property
    def is_failing(self) -> bool:
        """Whether it has failed and finished no micro-batch since."""
        return self.failures > 0 and last_committed(self.checkpoint) <= self.failed_after

    @property
    def is_idle(self) -> bool:
        """Whether it is up, and every micro-batch that it has begun is done."""
        return self.running.isActive and not self.is_busy and self.is_complete

    @property
    def is_complete(self) -> bool:
        """Whether every micro-batch that it has begun is done."""
        return last_begun(self.checkpoint) == last_committed(self.checkpoint)

    @property
    def _execution(self) -> Any:
        """The query in Java: Python has no interface for its state."""
        return self.running._jsq.streamingQuery()  # noqa: SLF001 - the only way there

    def await_source(self) -> None:
        """Wait until its source is open, or it has failed.

        Spark opens a Python source in a separate process, which has ten seconds to answer. If queries start one after
        the other, their sources are ready in time even on a busy machine.
        """
        until_s, state = time.monotonic() + UP_S, self._execution.state()
        while state.get().toString() == "INITIALIZING" and time.monotonic() < until_s:
            time.sleep(0.02)

    def note_failure(self, now_s: float, reason: str) -> None:
        """Note a failure: the pause before the next start doubles every time."""
        self.failures, self.failed_after = self.failures + 1, last_committed(self.checkpoint)
        self.failed_because = reason
        self.waits_until_s = now_s + min(FIRST_PAUSE_S * 2 ** min(self.failures - 1, 10), LONGEST_PAUSE_S)

    def end_after_this_batch(self) -> bool:
        """Let it begin no other micro-batch. Returns False if it is starting or has failed.

        Not every source can be told to stop, and Spark's way to stop a query cuts its micro-batch off. So this sets the
        query's state to ended, which it notices before the next micro-batch.
        """
        if not self.ended:
            execution = self._execution
            classes = execution.getClass().getClassLoader()
            active, terminated = (
                classes.loadClass(f"{STATES}.{name}$").getField("MODULE$").get(None)
                for name in ("ACTIVE", "TERMINATED")
            )
            self.ended = bool(execution.state().compareAndSet(active, terminated))
        return self.ended

    def stop(self, until_s: float) -> bool:
        """Stop it for good: between micro-batches if it gets there in time, or else within one.

        Returns whether it came to rest by itself. Spark may have written down one more micro-batch before it saw that
        it was to begin none; that one runs next time. One may also begin just now, so it has to be at rest twice.
        """
        rests, failed = 0, True
        with suppress(*NO_ANSWER):  # Java has ended, and the query with it
            self.end_after_this_batch()
            thread = self._execution.queryExecutionThread()
            while rests < 2 and time.monotonic() < until_s:
                rests = rests + 1 if not thread.isAlive() or (self.is_complete and not self.is_busy) else 0
                time.sleep(0.01)
            failed = self.running.exception() is not None
        self.ended = True
        with suppress(Exception):  # it has failed in the meantime, or does not end in time
            self.running.stop()
        return rests == 2 and not failed

    @property
    def reason(self) -> str:
        """Why it is down."""
        error = self.running.exception()
        return find_cause(error) if error else "it was stopped from outside"


def find_cause(error: Exception) -> str:
    """Return the cause in one line: the last line that names an error, or else the first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if ERROR_LINE.match(line)]
    return (named[-1] if named else lines[0])[:300]


def last_begun(checkpoint: Path) -> int:
    """Return the number of the last micro-batch begun, from the checkpoint; -1 if there is none."""
    return _last(checkpoint / OFFSETS)


def last_committed(checkpoint: Path) -> int:
    """Return the number of the last finished micro-batch, from the checkpoint; -1 if there is none."""
    return _last(checkpoint / COMMITS)


def last_finished(checkpoint: Path) -> FinishedBatch | None:
    """Return the last finished micro-batch, from the checkpoint; None if there is none.

    A restarted query reports nothing until it has something to do.
    """
    batch = last_committed(checkpoint)
    if batch < 0:
        return None
    # A version, settings, and one line for each source; queries of a pipeline have one.
    source = (checkpoint / OFFSETS / str(batch)).read_text().splitlines()[2]
    return FinishedBatch(batch, as_offset(json.loads(source)))


def _last(log: Path) -> int:
    """Return the highest number among file names; checksums and temporary files lie beside them."""
    return max((int(file.name) for file in log.glob("[0-9]*") if file.name.isdigit()), default=-1)
