"""A tap of a RabbitMQ stream: a second consumer, on the driver.

Streams are not consumed by reading, so it needs no queue of its own. It attaches at the end: what waits there already
counts as waiting, and its arrivals are past.
"""

from __future__ import annotations

from threading import Event, Thread
from time import monotonic, time_ns

from mead.spark.sources.rabbitmq.connection import RabbitError, UnreachableError
from mead.spark.sources.rabbitmq.location import ARRIVAL_HEADER, StreamLocation
from mead.spark.sources.rabbitmq.source import read_arrival_us
from mead.spark.sources.rabbitmq.stream import EMPTY_S, Consumer, Message, RabbitStream
from mead.spark.sources.tap import ArrivalRecord, Tap, TapReading

MOST_PER_S = 5_000
"""Messages that a tap reads in a second. It skips the rest of that second, and counts it by the offsets."""

PAUSE_S = 0.005
"""Pause after messages, in which the next ones gather: each wake-up costs more than a message."""

IDLE_S = 0.25
"""How long it waits for a message before it notes that none has come."""

AGAIN_S = 2.0
"""Pause before it tries to reach a broker again."""

CLOSE_S = 2.0
"""How long to wait for the end of its thread."""

CREDIT = 1_000
"""Messages that the broker sends before the tap has taken earlier ones."""


class RabbitTap(Tap):
    """Reads offsets and time stamps of a stream from its end on, at a bounded cost."""

    def __init__(self, place: StreamLocation, *, from_end: bool = False, most_per_s: int = MOST_PER_S) -> None:
        self.place, self.most_per_s, self.problem = place, most_per_s, ""
        self._from_end = from_end
        self._first: int | None = None
        self._record: ArrivalRecord | None = None
        self._closing = Event()
        self._thread = Thread(target=self._run, name=f"tap of {place.stream}", daemon=True)

    def start(self, limit_s: float = 0.0) -> None:
        """Start the thread, and wait up to the limit until it has found the end of the stream."""
        self._thread.start()
        until_s = monotonic() + limit_s
        while self._record is None and not self.problem and monotonic() < until_s:
            self._closing.wait(0.01)

    @property
    def first(self) -> int | None:
        """The first message that is kept; None for a pipeline that begins at the end, or before the broker answers."""
        return self._first

    @property
    def end(self) -> int | None:
        """One more than the last offset in the stream; None while the broker does not answer."""
        return None if self._record is None or self.problem else self._record.end

    def read(self) -> TapReading:
        """Return the arrivals since the last call."""
        return TapReading((), 0) if self._record is None else self._record.take()

    def close(self) -> None:
        """End the thread and the connection."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_S)  # a broker that does not answer may hold it up

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                stream = self.place.open()
                try:
                    self._follow(stream)
                finally:
                    stream.connection.close()
            except RabbitError as error:
                self.problem = str(error)
                self._closing.wait(AGAIN_S)

    def _follow(self, stream: RabbitStream) -> None:
        """Read until the tap is closed; of a second with too many messages, only the beginning."""
        while not self._closing.is_set():
            record = self._attached_record(stream)
            consumer = stream.attach(record.end, min(CREDIT, self.most_per_s))
            until_s, read, came = monotonic() + 1.0, 0, 0
            while read < self.most_per_s and not self._closing.is_set():
                if monotonic() > until_s:
                    until_s, read = monotonic() + 1.0, 0
                came = self._receive(consumer, record, more=came > 0)
                read += came
            consumer.channel.close()
            self._closing.wait(max(until_s - monotonic(), 0.0))

    def _attached_record(self, stream: RabbitStream) -> ArrivalRecord:
        """Return the record with everything up to the end of the stream, as it is now."""
        end, now_us = stream.end(), time_ns() // 1000
        if self._record is None:
            self._first = None if self._from_end else stream.first(EMPTY_S) or 0
            self._record = ArrivalRecord(end, now_us)
        self._record.skip(end, now_us)
        self.problem = ""
        return self._record

    def _receive(self, consumer: Consumer, record: ArrivalRecord, *, more: bool) -> int:
        """Take the messages that have come; return their number.

        Where there were some, ``more`` may have gathered since. Others come while this waits for them.
        """

        def ready() -> bool:
            return bool(consumer.messages) or consumer.cancelled

        if more:
            self._closing.wait(PAUSE_S)
            more = consumer.channel.wait(ready, 0.0)
        if not more:
            consumer.channel.wait(ready, IDLE_S)
        if consumer.cancelled:
            raise UnreachableError(f"{self.place.stream} is no longer sent")
        messages, now_us = consumer.messages, time_ns() // 1000
        consumer.messages = []
        since_us = record.known_us if more else now_us
        record.add([(message.offset, _stamp_us(message, now_us)) for message in messages], since_us, now_us)
        if messages:
            consumer.acknowledge()
        return len(messages)


def _stamp_us(message: Message, now_us: int) -> int | None:
    """Return the time in the header; None if it has none. The tap knows better than a time stamp of whole seconds."""
    noted = ARRIVAL_HEADER in message.properties.headers
    return read_arrival_us(message.properties, now_us) if noted else None
