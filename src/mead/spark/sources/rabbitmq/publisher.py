"""Publish into a RabbitMQ stream until the broker has confirmed all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from mead.spark.sources.rabbitmq.connection import ANSWER_S, Channel, NotReadyError, RabbitError, UnreachableError
from mead.spark.sources.rabbitmq.location import ARRIVAL_HEADER, ATTEMPT_HEADER, OPEN_STREAMS, Patience, StreamLocation

UNCONFIRMED = 2000
"""Maximum number of unconfirmed messages."""


@dataclass(frozen=True)
class OutgoingMessage:
    """A message before it is sent."""

    body: bytes
    key: str | None = None
    """Its message id, by which readers recognize duplicates."""
    arrival_us: int | None = None
    attempt: str | None = None
    """The attempt of a task that sends it."""


def publish(
    place: StreamLocation, messages: Iterable[OutgoingMessage], *, reached: bool = False, at_once: int = UNCONFIRMED
) -> int:
    """Publish messages in their order, and return their number. All are confirmed when this returns.

    If the broker goes away, wait for it and send unconfirmed messages again; some may then be there twice. If it is
    missing from the start, wait only if it was ``reached`` before; one that answers but is not ready is waited for in
    any case. ``at_once`` limits unconfirmed messages.
    """
    outbox, count = Outbox(place, reached, at_once), 0
    for message in messages:
        outbox.put(message)
        count += 1
    outbox.empty()
    return count


@dataclass
class Outbox:
    """The messages that have not been confirmed yet."""

    place: StreamLocation
    reached: bool
    at_once: int = UNCONFIRMED
    _unsent: list[OutgoingMessage] = field(default_factory=list)
    _sent: dict[int, OutgoingMessage] = field(default_factory=dict)
    _channel: Channel | None = None
    _next: int = 1
    _refused: str | None = None

    def put(self, message: OutgoingMessage) -> None:
        """Send the message soon, with others."""
        self._unsent.append(message)
        if len(self._unsent) >= self.at_once // 2:
            self._send_until(self.at_once // 2)

    def empty(self) -> None:
        """Wait until all are confirmed."""
        self._send_until(0)
        if self._channel is not None:
            self._channel.close()

    def _send_until(self, left: int) -> None:
        patience = Patience(self.place)
        while self._unsent or len(self._sent) > left:
            try:
                self._send()
                self._await(left)
            except UnreachableError as error:
                self._unsent = [*self._sent.values(), *self._unsent]
                self._sent, self._channel = {}, None
                if not self.reached and not isinstance(error, NotReadyError):
                    OPEN_STREAMS.drop(self.place)
                    raise
                patience.wait(error)

    def _send(self) -> None:
        from pika import BasicProperties, DeliveryMode  # noqa: PLC0415 - an extra

        channel = self._channel or self._open()
        for message in self._unsent:
            headers = {ARRIVAL_HEADER: message.arrival_us, ATTEMPT_HEADER: message.attempt}
            properties = BasicProperties(
                delivery_mode=DeliveryMode.Persistent,
                message_id=message.key,
                headers={name: value for name, value in headers.items() if value is not None},
            )
            channel.raw.basic_publish("", self.place.stream, message.body, properties, mandatory=True)
            self._sent[self._next] = message
            self._next += 1
        self._unsent = []

    def _await(self, left: int) -> None:
        if self._channel is None:
            return
        in_time = self._channel.wait(lambda: len(self._sent) <= left or self._refused is not None)
        if self._refused is not None:
            raise RabbitError(self._refused)
        if not in_time:
            raise UnreachableError(
                f"{self._channel.connection.place}: {len(self._sent)} messages into {self.place.stream} were not "
                f"confirmed within {ANSWER_S:g} s: check the broker's disk and memory"
            )

    def _open(self) -> Channel:
        channel = OPEN_STREAMS.open(self.place).connection.channel()
        channel.raw.add_on_return_callback(self._on_return)
        channel.ask("confirm_delivery", ack_nack_callback=self._on_confirm)
        self._channel, self._next, self.reached = channel, 1, True
        return channel

    def _on_confirm(self, frame: Any) -> None:
        confirmed = frame.method
        if confirmed.NAME != "Basic.Ack":
            self._refused = f"the broker could not store messages in {self.place.stream}: see its log"
            return
        last = confirmed.delivery_tag
        tags = list(takewhile(lambda tag: tag <= last, self._sent)) if confirmed.multiple else [last]
        for tag in tags:  # tags grow, so the confirmed ones come first
            self._sent.pop(tag, None)

    def _on_return(self, *_: object) -> None:
        self._refused = f"the stream {self.place.stream} has been deleted"
