"""Inputs from outside: RabbitMQ, and all that Spark can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader

from mead.keys import ConfigError
from mead.spark.sources.inputs import Input, make_reader, open_stream
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from mead.spark.sources.rabbitmq.source import Tail
    from mead.spark.sources.rabbitmq.tap import RabbitTap
    from mead.spark.sources.tap import Tap

ASKED_S, ASKED_AGAIN_S = 0.5, 5.0
"""How long the controller waits for a broker's answer, and then until it asks again."""

TAP_S = 10.0
"""How long a run waits at its start for a tap to find the end of the stream."""


@dataclass
class RabbitMQInput(Input):
    """A RabbitMQ stream."""

    options: Mapping[str, str] = field(repr=False)
    """Options of the data source `RabbitDataSource`."""
    tapped: bool = False
    """Whether a reader of its own tells the arrivals (`tap`)."""
    now_s: Callable[[], float] = field(default=monotonic, repr=False)
    _tail: Tail | None = field(default=None, repr=False)
    """Reads the end of the stream on its own connection, opened on first use."""
    _tap: RabbitTap | None = field(default=None, repr=False)
    _silent_until_s: float = field(default=-inf, repr=False)

    def check(self) -> None:
        """Raise ConfigError if the broker does not answer. A stream that does not exist is made later."""
        from mead.spark.sources.rabbitmq.connection import RabbitError  # noqa: PLC0415 - pika is an extra
        from mead.spark.sources.rabbitmq.location import StreamLocation  # noqa: PLC0415

        try:
            StreamLocation.of(self.options).check()
        except RabbitError as error:
            raise ConfigError(str(error), ("source", "rabbitmq")) from None

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        from mead.spark.sources.rabbitmq.source import RabbitDataSource  # noqa: PLC0415 - pika is an extra

        return open_stream(spark, operator, RabbitDataSource, {**self.options, "tasks": str(tasks)})

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Return a reader for use inside a worker."""
        from mead.spark.sources.rabbitmq.source import RabbitDataSource  # noqa: PLC0415 - as above

        return make_reader(RabbitDataSource, {**self.options, "tasks": str(tasks)})

    def count_completed(self, done: FinishedBatch) -> int:
        """Return the rows done: the broker's offset."""
        return sum_offsets(done.end_offset)

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """Return the messages that the broker has; None while it does not answer.

        The controller must not be held up, so a broker that did not answer is left alone for a while. A tap knows the
        end of the stream without asking, and before the first micro-batch.
        """
        if self._tap is not None and (end := self._tap.end) is not None and (last or self._tap.first is not None):
            return max(end, self.count_completed(last) if last else 0)
        if last is None or self.now_s() < self._silent_until_s:
            return None
        from mead.spark.sources.rabbitmq.connection import RabbitError  # noqa: PLC0415 - as above
        from mead.spark.sources.rabbitmq.location import StreamLocation  # noqa: PLC0415
        from mead.spark.sources.rabbitmq.source import Tail  # noqa: PLC0415

        try:
            if self._tail is None:
                self._tail = Tail(replace(StreamLocation.of(self.options), answer_s=ASKED_S, reconnect_s=0.0))
            return self._tail.end(self.count_completed(last))
        except RabbitError:
            self._drop_tail()
            self._silent_until_s = self.now_s() + ASKED_AGAIN_S
            return None

    def tap(self) -> Tap | None:
        """Return a started second reader, on the driver; None unless the source is tapped."""
        if not self.tapped:
            return None
        from mead.spark.sources.rabbitmq.location import StreamLocation  # noqa: PLC0415 - pika is an extra
        from mead.spark.sources.rabbitmq.tap import RabbitTap  # noqa: PLC0415

        self._end_tap()
        place = replace(StreamLocation.of(self.options), answer_s=TAP_S, reconnect_s=0.0)
        self._tap = RabbitTap(place, from_end=self.options.get("startingOffsets") == "latest")
        self._tap.start(TAP_S)
        return self._tap

    def _end_tap(self) -> None:
        if self._tap is not None:
            self._tap.close()
        self._tap = None

    def insist(self) -> None:
        """Ask the broker next time, even if it has not answered lately, or a tap may be a moment behind."""
        self._silent_until_s = -inf
        self._end_tap()

    def close(self) -> None:
        """End the connections."""
        self._end_tap()
        self._drop_tail()

    def _drop_tail(self) -> None:
        if self._tail is not None:
            self._tail.close()
        self._tail = None


@dataclass
class SparkInput(Input):
    """Any streaming DataFrame: files, sockets, rates, Kafka.

    Spark decides the number of tasks. The backlog is known where the source reports it (Kafka).
    """

    open: Callable[[SparkSession], DataFrame]
    """Makes the stream; its rows have ``arrival_us``."""
    _completed: int = 0
    _last: int = -1
    """The last micro-batch that was added."""

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        del operator, tasks
        return self.open(spark)

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Return None: only Spark can read it."""
        del tasks
        return None

    def count_completed(self, done: FinishedBatch) -> int:
        """Add up rows, each micro-batch once: offsets need not be numbers of rows.

        Rows done before this run are not counted.
        """
        if done.batch > self._last:
            self._completed, self._last = self._completed + done.rows, done.batch
        return self._completed

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """Return rows done plus those that the source reports as waiting (Kafka)."""
        if last is None or not last.latest_offset or not all(isinstance(o, dict) for o in last.latest_offset.values()):
            return None
        waiting = sum_offsets(last.latest_offset) - sum_offsets(last.end_offset)
        return self._completed + max(waiting, 0)


def sum_offsets(offset: Mapping[str, Any]) -> int:
    """Add up Kafka's offsets, which are numbers by topic and partition.

    >>> sum_offsets({"topic": {"0": 5, "1": 7}})
    12
    """
    return sum(sum_offsets(value) if isinstance(value, dict) else int(value) for value in offset.values())
