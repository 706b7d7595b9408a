"""Read a RabbitMQ stream by ranges of offsets.

The broker numbers everything in a stream: messages, and a few notes of its own, so gaps are no sign of loss. Messages
are only lost at the beginning, where retention removes whole segments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mead.spark.sources.rabbitmq.connection import (
    ANSWER_S,
    Channel,
    Connection,
    MissingError,
    RabbitError,
    UnreachableError,
)

CREDIT = 2000
"""Maximum number of unacknowledged messages that the broker sends."""

CHUNK = 65535
"""Maximum messages of a stored chunk: their number has 16 bits."""

EMPTY_S = 1.0
"""A stream that has sent nothing by then counts as empty."""


class DataLossError(RabbitError):
    """Requested messages are gone."""


@dataclass(frozen=True)
class Retention:
    """Retention of the broker: RabbitMQ's ``x-max-age`` (such as ``7D``) and ``x-max-length-bytes``."""

    max_age: str | None = None
    max_length_bytes: int | None = None
    segment_bytes: int | None = None
    """The unit in which the beginning is removed; the broker's default is 500 MB."""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for the declaration of a stream."""
        named = {
            "x-max-age": self.max_age,
            "x-max-length-bytes": self.max_length_bytes,
            "x-stream-max-segment-size-bytes": self.segment_bytes,
        }
        return {"x-queue-type": "stream"} | {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Message:
    """A message from a stream."""

    offset: int
    properties: Any
    body: bytes


@dataclass
class Consumer:
    """A consumer on its own channel."""

    channel: Channel
    messages: list[Message] = field(default_factory=list)
    cancelled: bool = False
    """Whether the broker cancelled it, because the stream was deleted or is moving."""
    _tag: int = 0

    def take(self, stream: str, at: int | str, credit: int) -> None:
        """Receive messages from an offset on, or from the ``first`` or the ``last`` chunk."""
        self.channel.raw.add_on_cancel_callback(self._on_cancel)
        self.channel.ask("basic_qos", prefetch_count=credit)
        self.channel.ask(
            "basic_consume", queue=stream, on_message_callback=self._on_message, arguments={"x-stream-offset": at}
        )

    def acknowledge(self) -> None:
        """Acknowledge the messages received, so that more are sent."""
        self.channel.raw.basic_ack(self._tag, multiple=True)

    def _on_cancel(self, _: object) -> None:
        self.cancelled = True

    def _on_message(self, _: object, method: Any, properties: Any, body: bytes) -> None:
        self.messages.append(Message(int(properties.headers["x-stream-offset"]), properties, body))
        self._tag = method.delivery_tag


@dataclass
class RabbitStream:
    """A stream on a broker, through one connection."""

    connection: Connection
    name: str

    def check(self, exchange: str | None = None, *, create: bool = False) -> None:
        """Raise `MissingError` if the exchange does not exist, or the stream, unless ``create`` would make it."""
        channel = self.connection.channel()
        try:
            channel.ask("queue_declare", queue=self.name, passive=True)
        except MissingError:
            if not create:
                raise MissingError(
                    f"{self.connection.place}: no stream {self.name}: declare it, or set option create to true"
                ) from None
        finally:
            channel.close()
        if exchange:
            self._ask_exchange("exchange_declare", exchange, passive=True)

    def create(self, retention: Retention, exchange: str | None) -> None:
        """Declare it, unless it exists, and bind it to an existing exchange if one is given."""
        try:
            self.check()
        except MissingError:
            channel = self.connection.channel()
            channel.ask("queue_declare", queue=self.name, durable=True, arguments=retention.arguments())
            channel.close()
        if exchange:
            self._ask_exchange("queue_bind", exchange, queue=self.name, routing_key=self.name)

    def _ask_exchange(self, method: str, exchange: str, **arguments: Any) -> None:
        channel = self.connection.channel()
        try:
            channel.ask(method, exchange=exchange, **arguments)
        except MissingError:
            raise MissingError(
                f"{self.connection.place}: no exchange {exchange}: declare it, or remove the option"
            ) from None
        finally:
            channel.close()

    def attach(self, at: int | str, credit: int) -> Consumer:
        """Start a consumer."""
        attached = Consumer(self.connection.channel())
        try:
            attached.take(self.name, at, credit)
        except RabbitError as error:
            if "x-stream-offset" in str(error):  # it was refused as an argument
                raise RabbitError(
                    f"{self.connection.place}: {self.name} is a queue, not a stream: declare a stream"
                ) from None
            raise
        return attached

    def first(self, wait_s: float = EMPTY_S) -> int | None:
        """Return the offset of the first message that is kept."""
        attached = self.attach("first", 1)
        found = attached.channel.wait(lambda: bool(attached.messages), wait_s)
        attached.channel.close()
        return attached.messages[0].offset if found else None

    def end(self, wait_s: float = EMPTY_S) -> int:
        """Return one more than the offset of the last message; 0 in an empty stream.

        The broker's count of messages is some seconds old, so this reads the last chunk. The rest of that chunk follows
        its first message at once, before the answer to any later request.
        """
        attached = self.attach("last", CHUNK)
        if attached.channel.wait(lambda: bool(attached.messages), wait_s):
            attached.channel.ask("basic_qos", prefetch_count=CHUNK)
        attached.channel.close()
        return attached.messages[-1].offset + 1 if attached.messages else 0

    def read(self, first: int, end: int, *, whole: bool = True, credit: int = CREDIT) -> Iterator[list[Message]]:
        """Yield the messages with offsets from ``first`` to before ``end``.

        There must be a message at ``end - 1`` or after it. Removed messages are an error, or are skipped if the range
        need not be ``whole``. ``credit`` limits unacknowledged messages, where they are large.
        """
        attached = self.attach(first, min(end - first, credit))
        due = first
        try:
            while due < end:
                attached.channel.wait(lambda: bool(attached.messages) or attached.cancelled)
                if not attached.messages:
                    raise UnreachableError(
                        f"{self.connection.place}: stream {self.name} sends nothing more, "
                        f"but offsets {due} to {end} are missing"
                    )
                came = [message for message in attached.messages if message.offset >= due]
                attached.messages.clear()
                attached.acknowledge()
                if whole and _gap(came, due):
                    self._check_kept(due, end)
                if came:
                    due = came[-1].offset + 1
                if wanted := [message for message in came if message.offset < end]:
                    yield wanted
        finally:
            attached.channel.close()

    def _check_kept(self, due: int, end: int) -> None:
        """Raise `DataLossError` if the stream now begins behind a gap; other gaps are notes of the broker."""
        kept = self.first(ANSWER_S)
        if kept is None or kept > due:
            raise DataLossError(
                f"{self.connection.place}: cannot read stream {self.name} from offset {due} to {end}: it begins at "
                f"{'its end' if kept is None else kept}. Raise its retention, or set failOnDataLoss to false"
            )


def _gap(messages: list[Message], due: int) -> bool:
    return bool(messages) and messages[-1].offset + 1 - due != len(messages)
