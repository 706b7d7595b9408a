"""Location of a RabbitMQ stream, and patient access to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import local
from time import monotonic, sleep
from typing import TypeVar

from mead.spark.sources.rabbitmq.connection import (
    ANSWER_S,
    Connection,
    NotReadyError,
    RabbitError,
    UnreachableError,
)
from mead.spark.sources.rabbitmq.stream import CREDIT, Message, RabbitStream, Retention
from mead.spark.telemetry.complaints import COMPLAINTS_VARIABLE, complain

Answer = TypeVar("Answer")

FORMAT = "mead-rabbitmq"

ARRIVAL_HEADER = "arrival_us"
"""Header with the time of arrival, in microseconds since 1970."""

ATTEMPT_HEADER = "attempt"
"""Header that distinguishes attempts of a task."""

RETRY_S, LONGEST_RETRY_S = 0.2, 2.0
"""Pause between two attempts to reach a broker: the first, and the longest; each is twice the last."""


@dataclass(frozen=True)
class StreamLocation:
    """A stream and how to reach it."""

    url: str = field(repr=False)
    stream: str
    create: bool = False
    exchange: str | None = None
    retention: Retention = field(default_factory=Retention)
    reconnect_s: float = 60.0
    """How long to wait for a broker that was reached before."""
    answer_s: float = ANSWER_S
    """How long to wait for one answer."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> StreamLocation:
        """Read the location from the options of a query."""
        for name in ("url", "stream"):
            if name not in options:
                raise RabbitError(f"format {FORMAT} needs the option {name}")
        exchange = options.get("exchange")
        return cls(
            options["url"],
            options["stream"],
            read_choice(options, "create", "false", "true") == "true" or exchange is not None,
            exchange,
            Retention(options.get("max_age"), _number(options, "max_length_bytes"), _number(options, "segment_bytes")),
            float(options.get("reconnect_s", "60")),
        )

    @property
    def options(self) -> dict[str, str]:
        """The inverse of `of`; ``answer_s`` is not an option."""
        told: dict[str, object] = {
            "url": self.url,
            "stream": self.stream,
            "create": "true" if self.create else "false",
            "exchange": self.exchange,
            "max_age": self.retention.max_age,
            "max_length_bytes": self.retention.max_length_bytes,
            "segment_bytes": self.retention.segment_bytes,
            "reconnect_s": self.reconnect_s,
        }
        return {name: str(value) for name, value in told.items() if value is not None}

    def open(self) -> RabbitStream:
        """Open the stream through a new connection. It must exist, or is made if ``create`` is set."""
        return self._open(
            lambda stream: stream.create(self.retention, self.exchange) if self.create else stream.check()
        )

    def check(self) -> None:
        """Check that the stream can be opened, and change nothing. Waits for a broker that is not ready."""
        self._wait_until_ready(lambda: self._open(lambda stream: stream.check(self.exchange, create=self.create)))

    def make(self) -> None:
        """Open the stream and close it again. Waits for a broker that is not ready."""
        self._wait_until_ready(self.open)

    def _open(self, use: Callable[[RabbitStream], None]) -> RabbitStream:
        connection = Connection(self.url, self.answer_s)
        stream = RabbitStream(connection, self.stream)
        try:
            use(stream)
        except RabbitError:
            connection.close()
            raise
        return stream

    def _wait_until_ready(self, opened: Callable[[], RabbitStream]) -> None:
        patience = Patience(self)
        while True:
            try:
                opened().connection.close()
            except NotReadyError as error:
                patience.wait(error)
            else:
                return


class OpenStreams(local):
    """Streams that a worker keeps open for its next task. Each thread has its own."""

    def __init__(self) -> None:
        self._streams: dict[StreamLocation, RabbitStream] = {}

    def open(self, place: StreamLocation) -> RabbitStream:
        """Return the open stream, or a new one."""
        if place not in self._streams:
            self._streams[place] = place.open()
        return self._streams[place]

    def drop(self, place: StreamLocation | None = None) -> None:
        """Close one stream, which may be broken, or all of them."""
        for one in [place] if place else list(self._streams):
            if stream := self._streams.pop(one, None):
                stream.connection.close()


OPEN_STREAMS = OpenStreams()


class Patience:
    """Waits for a broker that has gone or is not ready, up to the location's limit, and says so."""

    def __init__(self, place: StreamLocation) -> None:
        self.place = place
        self.renew()

    def renew(self) -> None:
        """Begin again: the broker has answered."""
        self._until_s = monotonic() + self.place.reconnect_s
        self._pause_s = RETRY_S

    def wait(self, error: UnreachableError) -> None:
        """Drop the connection and pause before the next attempt; raise the error when the time is up."""
        OPEN_STREAMS.drop(self.place)
        if monotonic() > self._until_s:
            remedy = ""
            if isinstance(error, NotReadyError):
                remedy = ": the broker may have lost the stream in a crash; see its log, or start with a new stream"
            raise UnreachableError(f"{error} (tried for {self.place.reconnect_s:g} s){remedy}") from error
        if self._pause_s == RETRY_S:
            say_waiting(self.place, error)
        sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, LONGEST_RETRY_S)


def say_waiting(place: StreamLocation, error: UnreachableError) -> None:
    """Write that a broker is waited for; call it when the wait begins."""
    text = f"{error}; waiting for it for up to {place.reconnect_s:g} s"
    complain(text, os.environ.get(COMPLAINTS_VARIABLE, ""))


def ask_patiently(place: StreamLocation, ask: Callable[[RabbitStream], Answer]) -> Answer:
    """Call ``ask`` with a stream, waiting for a broker that goes away and comes back."""
    patience = Patience(place)
    while True:
        try:
            return ask(OPEN_STREAMS.open(place))
        except UnreachableError as error:
            patience.wait(error)


def fetch(
    place: StreamLocation, first: int, end: int, *, whole: bool = True, credit: int = CREDIT
) -> Iterator[list[Message]]:
    """Yield messages as `RabbitStream.read`, waiting for a broker that goes away and comes back."""
    due, patience = first, Patience(place)
    while due < end:
        try:
            for messages in OPEN_STREAMS.open(place).read(due, end, whole=whole, credit=credit):
                yield messages
                due = messages[-1].offset + 1
                patience.renew()
        except UnreachableError as error:
            patience.wait(error)
        else:
            return


def read_choice(options: Mapping[str, str], name: str, *choices: str) -> str:
    """Return the value of an option; the first choice if it is not given."""
    chosen = options.get(name, choices[0])
    if chosen not in choices:
        raise RabbitError(f"format {FORMAT}: option {name} must be {' or '.join(choices)}, not {chosen}")
    return chosen


def _number(options: Mapping[str, str], name: str) -> int | None:
    if name in options and not options[name].isdecimal():
        raise RabbitError(f"format {FORMAT}: option {name} must be a number of bytes, not {options[name]}")
    return int(options[name]) if name in options else None
