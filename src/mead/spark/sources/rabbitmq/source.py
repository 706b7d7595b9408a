"""A RabbitMQ stream as a source, with the broker's offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamArrowWriter, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from mead.spark.log.tasks import divide_rows, read_tasks
from mead.spark.sources.rabbitmq.connection import NotReadyError, UnreachableError
from mead.spark.sources.rabbitmq.location import (
    ARRIVAL_HEADER,
    FORMAT,
    RETRY_S,
    StreamLocation,
    fetch,
    read_choice,
    say_waiting,
)
from mead.spark.sources.rabbitmq.sink import RabbitWriter
from mead.spark.sources.rabbitmq.stream import EMPTY_S, Consumer, DataLossError, Message, RabbitStream
from mead.spark.sources.trace import STAMPED
from mead.spark.telemetry.complaints import COMPLAINTS, complain

RECOVERY_S = 10.0
"""A stream known to have messages has lost them if it sends none for this long."""

TYPES = {"binary": pa.binary(), "string": pa.string()}

LAST_US = 2**63 - 1
"""The latest time that a column can hold."""


class RabbitDataSource(DataSource):
    """A stream by its name.

    Options to read and to write: ``url``, as amqp://user:password@host:5672/; ``stream``; ``create``, whether to
    declare a missing stream (default false), with the retention ``max_age``, such as 7D, ``max_length_bytes`` and
    ``segment_bytes``; ``reconnect_s``, how long to wait for a broker that has gone (default 60).

    To read: ``tasks``, a file with the number of tasks; ``value``, binary or string (default binary); ``exchange``, an
    existing exchange that feeds the stream (then ``create`` is true); ``startingOffsets`` (earliest or latest) and
    ``failOnDataLoss`` (default true), as for Kafka.

    To write: ``key``, a column that identifies rows.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format(...)``."""
        return FORMAT

    def schema(self) -> str:
        """Return offset, time of arrival, body, and key of a message."""
        return f"{STAMPED}, value {self._value()}, key string"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Return a reader of the stream."""
        del schema
        return RabbitReader(
            StreamLocation.of(self.options),
            Path(self.options["tasks"]),
            self._value(),
            read_choice(self.options, "startingOffsets", "earliest", "latest") == "latest",
            read_choice(self.options, "failOnDataLoss", "true", "false") == "true",
        )

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: FBT001, N802
        """Return a writer into the stream."""
        del overwrite
        return RabbitWriter(StreamLocation.of(self.options), schema, self.options.get("key"))

    def _value(self) -> str:
        return read_choice(self.options, "value", *TYPES)


class OffsetPartition(InputPartition):
    """The offsets that one task reads."""

    def __init__(self, first: int, end: int) -> None:
        super().__init__(None)
        self.first, self.end = first, end


@dataclass
class RabbitReader(DataSourceStreamReader):
    """Reader of a stream. It is sent to every task, so it holds a connection only in the driver."""

    place: StreamLocation
    tasks: Path
    value: str = "binary"
    from_end: bool = False
    fail_on_loss: bool = True
    _tail: Tail | None = field(default=None, repr=False)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Return the first message that is kept, or the next one that comes."""
        return {"offset": self._followed().ask(lambda stream: stream.end() if self.from_end else stream.first() or 0)}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """Return the end of the stream."""
        del limit
        return {"offset": self._followed().end(start["offset"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return one partition for each task, with its part of the offsets."""
        first, last = start["offset"], end["offset"]
        return [OffsetPartition(*part) for part in divide_rows(first, last, read_tasks(self.tasks)) or [(last, last)]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition; runs in a task. Waits for a broker that goes away."""
        if not isinstance(partition, OffsetPartition):
            raise TypeError(f"not a partition of this source: {type(partition).__name__}")
        for messages in fetch(self.place, partition.first, partition.end, whole=self.fail_on_loss):
            yield self._rows(messages)

    def _rows(self, messages: Sequence[Message]) -> pa.RecordBatch:
        """Convert messages to rows. A message with an invalid arrival time arrives when it is read."""
        read_us = time_ns() // 1000
        stamps_us = [read_arrival_us(message.properties, read_us) for message in messages]
        whose, folder = f"messages of stream {self.place.stream}", str(self.tasks.parent / COMPLAINTS)
        if nonsense := stamps_us.count(None):
            complain(f"{whose} have a header {ARRIVAL_HEADER} that is not a time; it is ignored", folder, nonsense)
        if read_us in stamps_us:
            complain(
                f"{whose} have no header {ARRIVAL_HEADER} and no timestamp: they count as arrived when they are read, "
                "so that their wait in the broker is not seen",
                folder,
                once=True,
            )
        return to_rows(messages, [read_us if stamp is None else stamp for stamp in stamps_us], self.value)

    def stop(self) -> None:
        """Close the connection: the query has ended."""
        if self._tail is not None:
            self._tail.close()

    def _followed(self) -> Tail:
        if self._tail is None:
            self._tail = Tail(self.place)
        return self._tail


@dataclass
class Tail:
    """Follows the end of a stream at little cost.

    A consumer with credit for one message waits at the known end, like a bell. The end is read again only when the bell
    has rung.
    """

    place: StreamLocation
    _stream: RabbitStream | None = None
    _bell: Consumer | None = None
    _end: int = 0
    """The offset at which the bell waits."""
    _lost_s: float | None = None
    """Since when the broker has not been reached."""
    _tried_s: float = 0.0

    def stream(self) -> RabbitStream:
        """Return the stream, through the open connection or a new one."""
        if self._stream is None:
            self._stream = self.place.open()
        return self._stream

    def ask(self, question: Callable[[RabbitStream], int]) -> int:
        """Call ``question`` with the stream, waiting for a broker that was reached before."""
        while True:
            try:
                answer = question(self.stream())
            except UnreachableError as error:
                if not self._patient(error):
                    raise
                sleep(RETRY_S)
            else:
                self._lost_s = None
                return answer

    def end(self, known: int) -> int:
        """Return one more than the last offset, at least ``known``. A missing broker has nothing new."""
        if self._lost_s is None or monotonic() > self._tried_s + RETRY_S:
            try:
                self._listen(known)
            except UnreachableError as error:
                if not self._patient(error):
                    raise
            else:
                self._lost_s = None
        return max(known, self._end)

    def close(self) -> None:
        """Drop the connection."""
        if self._stream is not None:
            self._stream.connection.close()
        self._stream = self._bell = None

    def _listen(self, known: int) -> None:
        stream = self.stream()
        if self._bell is not None:
            self._bell.channel.wait(lambda: False, 0.0)
            if self._bell.cancelled:
                stream.check()
            elif not self._bell.messages:
                return
            self._bell.channel.close()
        end = stream.end(min(RECOVERY_S, self.place.answer_s) if known else EMPTY_S)
        if end < known:
            raise DataLossError(
                f"{stream.connection.place}: stream {stream.name} ends at offset {end}, but was read up to {known} "
                "before: it has been deleted and declared anew. Start with a new checkpoint"
            )
        self._bell, self._end = stream.attach(end, 1), end

    def _patient(self, error: UnreachableError) -> bool:
        """Return whether to wait for a broker: for a while, if it was reached before."""
        begins = self._lost_s is None
        reached = self._stream is not None or not begins or isinstance(error, NotReadyError)
        self.close()
        self._tried_s = monotonic()
        self._lost_s = self._lost_s or self._tried_s
        patient = reached and self._tried_s - self._lost_s < self.place.reconnect_s
        if patient and begins:
            say_waiting(self.place, error)
        return patient


def to_rows(messages: Sequence[Message], stamps_us: Sequence[int], value: str) -> pa.RecordBatch:
    """Convert messages to rows."""
    return pa.record_batch(
        {
            "id": pa.array([message.offset for message in messages], pa.int64()),
            "arrival_us": pa.array(stamps_us, pa.int64()),
            "value": pa.array(
                [message.body if value == "binary" else message.body.decode(errors="replace") for message in messages],
                TYPES[value],
            ),
            "key": pa.array([message.properties.message_id for message in messages], pa.string()),
        }
    )


def read_arrival_us(properties: Any, read_us: int) -> int | None:
    """Return the arrival time from the header, or the time stamp (seconds), or else ``read_us``.

    None if the publisher noted something that is not a time.
    """
    noted, factor = properties.headers.get(ARRIVAL_HEADER), 1
    if noted is None:
        noted, factor = properties.timestamp, 1_000_000
    if noted is None:
        return read_us
    try:
        stamp_us = int(noted) * factor
    except (TypeError, ValueError, OverflowError):
        return None
    return stamp_us if 0 <= stamp_us <= LAST_US else None
