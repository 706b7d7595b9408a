"""One streaming query of a pipeline: how far it has come, how it ends between two micro-batches, and why it failed."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mead.spark.checkpoint import begun, last_done
from mead.spark.java_machine import NO_ANSWER
from mead.spark.progress import Done

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""Before a query that has failed is started again: the first time, and at most if it fails again and again."""

UP_S = 30.0
"""A query that has not opened its source by then is left to itself."""

STATES = "org.apache.spark.sql.execution.streaming.runtime"
"""Where Spark keeps the states of queries."""

ERROR_LINE = re.compile(r"(\w+\.)*\w*(Error|Exception)\b(?!.*\.java)")
"""How the last line of a traceback begins."""


@dataclass
class Query:
    """One query, and how often it had to be started."""

    running: StreamingQuery
    checkpoint: Path
    started_s: float = field(default_factory=time.monotonic)
    failures: int = 0
    waits_until_s: float | None = None
    """While it is down: when it is started again."""
    ended: bool = False
    """On purpose: it is not started again."""

    @property
    def last(self) -> Done | None:
        """The last micro-batch that is done, of this run or of one before it."""
        return last_done(self.checkpoint)

    @property
    def at_work(self) -> bool:
        """Whether it is in the middle of a micro-batch."""
        return bool(self.running.status["isTriggerActive"])

    @property
    def rests(self) -> bool:
        """It is up, and whatever it has begun is done."""
        return self.running.isActive and not self.at_work and begun(self.checkpoint) == (self.last or NOTHING).batch

    @property
    def _execution(self) -> Any:
        """In Java: Python has no interface for the state of a query."""
        return self.running._jsq.streamingQuery()  # noqa: SLF001 - the only way there

    def await_source(self) -> None:
        """Until its source is open, or it has failed.

        Spark opens a Python source in a process of its own, and gives it ten seconds to answer. One after the other
        they make it on a busy machine, too.
        """
        until_s, state = time.monotonic() + UP_S, self._execution.state()
        while state.get().toString() == "INITIALIZING" and time.monotonic() < until_s:
            time.sleep(0.02)

    def failed(self, now_s: float) -> None:
        """It waits before it is started again, twice as long every time."""
        self.failures += 1
        self.waits_until_s = now_s + min(FIRST_PAUSE_S * 2 ** min(self.failures - 1, 10), LONGEST_PAUSE_S)

    def end_after_this_batch(self) -> bool:
        """It begins no other micro-batch. False if it cannot be told so now: it is just starting, or it has failed.

        Not every source can be made to let nothing in, and Spark's own way to stop a query cuts its micro-batch off.
        So the query is told that it has ended, which it notices when it is about to begin the next.
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

    def stop(self, until_s: float) -> None:
        """For good: between micro-batches if it gets there in time, or else where it is."""
        with suppress(*NO_ANSWER):  # Java has ended, and the query with it
            self.end_after_this_batch()
            while self.at_work and time.monotonic() < until_s:
                time.sleep(0.01)
        self.ended = True
        with suppress(Exception):  # it has failed in the meantime, or does not end in time
            self.running.stop()

    @property
    def reason(self) -> str:
        """Why it is down."""
        error = self.running.exception()
        return cause(error) if error else "it was stopped from outside"


NOTHING = Done(-1, {})


def cause(error: Exception) -> str:
    """What is wrong, in one line: the last of a Python traceback that names an error, or else the first of all."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if ERROR_LINE.match(line)]
    return (named[-1] if named else lines[0])[:300]
