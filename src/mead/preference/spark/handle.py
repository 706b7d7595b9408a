"""The handle of a running preference query."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Event, Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Self

from mead.preference.spark.engine import Engine, Step
from mead.preference.spark.overlap import OverlappedStages
from mead.preference.spark.state import name_remedy
from mead.preference.spark.window_stage import window_bounds
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.query import Query, find_cause

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

POLL_S = 0.02
"""Interval between checks for new tuples."""

END_S = 10.0
"""How long to wait for a running micro-batch of the input."""

KEPT_STEPS = 3_600


@dataclass(frozen=True)
class CompleteWindow:
    """A window whose result has left."""

    window: int
    start: datetime
    end: datetime
    size: int
    """Tuples in the result."""


class QueryFailedError(RuntimeError):
    """The input or a stage of a query has failed. The message is the cause, in one line."""

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Return this error with the cause of another one."""
        return cls(find_cause(Exception(name_remedy(str(error)))))


class PreferenceQuery:
    """The handle of `preference_query`. As a context manager, it stops the query at the end of the block."""

    def __init__(
        self,
        engine: Engine,
        tuples: StreamingQuery,
        results: Callable[[], DataFrame],
        unlock: Callable[[], object],
    ) -> None:
        self.engine, self.tuples = engine, tuples
        self.steps: deque[Step] = deque(maxlen=KEPT_STEPS)
        """The last micro-batches of the stages."""
        self.error: Exception | None = None
        """The error that ended the query."""
        self._results, self._unlock = results, unlock
        self._rejections = StreamLog(engine.folder.tuples, keep_notes=True)
        self._rejected = 0
        self._stop, self._finish = Event(), Event()
        self._stages = Thread(target=self._run, name="mead-preference", daemon=True)
        self._stages.start()

    @property
    def results(self) -> DataFrame:
        """The results as a stream, in the order of the windows; a window appears whole or not at all.

        Every DataFrame starts with the first window. Results are kept as long as the folder.
        """
        return self._results()

    @property
    def active(self) -> bool:
        """Whether the stages run."""
        return self._stages.is_alive()

    @property
    def dropped(self) -> int:
        """Tuples that arrived too late."""
        return self.engine.state.emitter.dropped

    @property
    def far(self) -> int:
        """Tuples set aside because their event times lie too far ahead."""
        return self.engine.state.emitter.far

    @property
    def rejected(self) -> int:
        """Tuples without a time, or without a number in a preferred column."""
        self._rejected += sum(note["rejected"] for note in self._rejections.take_notes())
        return self._rejected

    def windows(self) -> list[CompleteWindow]:
        """Return all complete windows of the folder, including those of earlier runs."""
        log, origin_us = StreamLog(self.engine.folder.results, keep_notes=True), self.engine.state.emitter.origin_us
        if origin_us is None:
            return []
        spec = self.engine.spec
        return [
            CompleteWindow(note["window"], *window_bounds(note["window"], origin_us, spec), note["rows"])
            for note in log.take_notes()
        ]

    def finish(self, tuples: int | None = None) -> None:
        """Wait for the stream to end, process all of it, and complete the open panes.

        With ``tuples``, end the stream after that many have been processed.
        """
        try:
            if tuples is None:
                self.tuples.awaitTermination()
            else:
                self._await(tuples)
        except Exception as error:
            self._stop.set()
            raise QueryFailedError.of(error) from error
        self._finish.set()
        self._join()

    def stop(self) -> None:
        """Stop after the present micro-batch. A query on the same folder continues from here."""
        self._end_input()
        self._stop.set()
        self._join()

    def _await(self, tuples: int) -> None:
        while self.engine.state.offset + self.rejected < tuples and self.active and self.tuples.isActive:
            sleep(POLL_S)
        self._end_input()
        if (failed := self.tuples.exception()) is not None:
            raise failed

    def _join(self) -> None:
        self._stages.join()
        if self.error is not None:
            raise QueryFailedError.of(self.error) from self.error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_input()
        self._stop.set()
        self._stages.join()

    def _run(self) -> None:
        """Run the stages, in their own thread."""
        try:
            with OverlappedStages(self.engine, self.steps.append) as stages:
                while not self._stop.is_set():
                    finishing = self._finish.is_set()
                    if stages.advance():
                        continue
                    if finishing:
                        stages.finish()
                        return
                    self._stop.wait(POLL_S)
        except Exception as error:  # noqa: BLE001 - raised by `finish` and `stop`
            self.error = error
            self._end_input()
        finally:
            self._unlock()

    def _end_input(self) -> None:
        """Stop the input, between its micro-batches if that is soon."""
        Query(self.tuples, self.engine.folder.checkpoint).stop(monotonic() + END_S)
