"""RabbitMQ streams between operators: tasks publish blocks of rows.

A broker does not know Spark's batches. A task that is killed and retried publishes its messages again, and a broker
that restarts may get a message twice. So every message has a key: query, batch, task and number of the block. It is the
same in every attempt if the batch has the same number of tasks. Readers in the pipeline do not rely on that: every
attempt has a name too, the index of the log names the one that succeeded, and readers take the blocks of that attempt,
each once. So a batch counts once or not at all, as with files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from time import monotonic
from uuid import uuid4

import pyarrow as pa

from mead.spark.log.store import Store
from mead.spark.log.stream_log import Extent
from mead.spark.sources.rabbitmq.connection import ANSWER_S, RabbitError
from mead.spark.sources.rabbitmq.location import ATTEMPT_HEADER, StreamLocation, ask_patiently, fetch
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish
from mead.spark.sources.rabbitmq.sink import Task
from mead.spark.sources.rabbitmq.stream import EMPTY_S, DataLossError, Message, Retention

BLOCK_BYTES = 256 * 1024
"""Approximate bytes of rows per message: enough to make rows cheap, far below the brokers' limit."""

AT_ONCE = 32
"""Maximum number of unconfirmed blocks."""

FRESH_S = 5.0
"""How long a worker remembers the end of the stream, so that readers skip few messages of other writers."""

_ENDS: dict[StreamLocation, tuple[float, int]] = {}
"""Times of the last query and ends of streams, for this process."""


@dataclass(frozen=True)
class RabbitStreams:
    """One stream for each operator whose output others read."""

    url: str = field(repr=False)
    prefix: str
    """Names of streams are the prefix and the operator's name."""
    retention: Retention

    def store(self, operator: str) -> RabbitStore:
        """Return the store for the output of an operator."""
        return RabbitStore(StreamLocation(self.url, f"{self.prefix}.{operator}", create=True, retention=self.retention))


@dataclass(frozen=True)
class Block:
    """The messages of one attempt of a task, somewhere between two offsets of the stream."""

    attempt: str
    first: int
    end: int
    messages: int

    @property
    def name(self) -> str:
        """The name of this block in the index of the log."""
        return f"{self.attempt}-{self.first}-{self.end}-{self.messages}"

    @classmethod
    def parse(cls, name: str) -> Block:
        """Parse a name.

        >>> Block.parse("a1b2-7-12-3")
        Block(attempt='a1b2', first=7, end=12, messages=3)
        """
        try:
            attempt, first, end, messages = name.split("-")
            return cls(attempt, int(first), int(end), int(messages))
        except ValueError:
            raise RabbitError(
                f"{name} is not a block of a RabbitMQ stream: the run began with other streams; use those, or "
                "start again in a new folder"
            ) from None


@dataclass(frozen=True)
class RabbitStore(Store):
    """Keeps the rows of a log in a stream."""

    place: StreamLocation

    def check(self) -> None:
        """Check that the broker answers, and change nothing."""
        self.place.check()

    def make(self) -> None:
        """Make the stream if it does not exist."""
        self.place.make()

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> str:
        """Publish rows; the broker has confirmed all when this returns. Without rows it is not contacted."""
        attempt, task = uuid4().hex, Task.current()
        messages = (
            OutgoingMessage(body, f"{task.query}:{task.batch}:{task.number}:{number}", attempt=attempt)
            for number, body in enumerate(_encode(batches, schema))
        )
        begun = next(messages, None)
        if begun is None:
            return Block(attempt, 0, 0, 0).name
        first = self._end_before()
        count = publish(self.place, chain([begun], messages), reached=True, at_once=AT_ONCE)
        end = ask_patiently(self.place, lambda stream: stream.end(ANSWER_S))
        if end < first + count:
            raise DataLossError(
                f"stream {self.place.stream} ends at offset {end}, and ended at {first} before {count} messages were "
                "added: it has been deleted and declared anew. Start again in a new folder"
            )
        _ENDS[self.place] = monotonic(), end
        return Block(attempt, first, end, count).name

    def read(self, extents: Iterable[Extent]) -> Iterator[pa.RecordBatch]:
        """Read extents in one pass over their range: each on its own would need a consumer."""
        wanted = [(extent, Block.parse(extent.file)) for extent in extents]
        found = self._find_attempts({block.attempt: block for _, block in wanted})
        bodies: dict[str, list[bytes]] = {}
        for extent, block in wanted:
            while block.attempt not in bodies:
                attempt, ready = next(found)
                bodies[attempt] = ready
            yield from _decode(bodies.pop(block.attempt), extent)

    def remove(self, files: Iterable[str]) -> None:
        """Do nothing: a stream forgets by its retention alone."""

    def _end_before(self) -> int:
        """Return an end of the stream no later than the next message. An empty stream sends nothing."""
        asked_s, end = _ENDS.get(self.place, (0.0, 0))
        if end and monotonic() < asked_s + FRESH_S:
            return end
        return ask_patiently(self.place, lambda stream: stream.end(ANSWER_S if end else EMPTY_S))

    def _find_attempts(self, wanted: Mapping[str, Block]) -> Iterator[tuple[str, list[bytes]]]:
        """Yield attempts with all their messages, each as soon as its last message has come."""
        if not wanted:
            return
        # A reader never makes the stream, and has its own connection: an operator may read its own output.
        place = replace(self.place, create=False)
        first, end = min(block.first for block in wanted.values()), max(block.end for block in wanted.values())
        parts: dict[str, dict[int, bytes]] = {attempt: {} for attempt in wanted}
        try:
            for message in _messages(place, first, end):
                attempt = message.properties.headers.get(ATTEMPT_HEADER)
                if attempt in parts:
                    parts[attempt].setdefault(_position(message), message.body)
                    if len(parts[attempt]) == wanted[attempt].messages:
                        yield attempt, [body for _, body in sorted(parts.pop(attempt).items())]
        except DataLossError as error:
            raise self._make_loss_error() from error
        if parts:
            raise self._make_loss_error()

    def _make_loss_error(self) -> DataLossError:
        return DataLossError(
            f"stream {self.place.stream} has lost unread rows: raise its retention (max_age, max_length_bytes), and "
            "start again in a new folder"
        )


def _messages(place: StreamLocation, first: int, end: int) -> Iterator[Message]:
    """Yield the messages between two offsets, and then all later ones, if the caller still misses some.

    In a cluster, the broker that reported the end may have known less than the one that confirmed the messages.
    """
    yield from chain.from_iterable(fetch(place, first, end, credit=AT_ONCE))
    now = ask_patiently(place, lambda stream: stream.end(ANSWER_S))
    yield from chain.from_iterable(fetch(place, end, now, credit=AT_ONCE))


def _position(message: Message) -> int:
    """Return the last part of its key."""
    return int(message.properties.message_id.rpartition(":")[2])


def _encode(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[bytes]:
    """Yield rows as Arrow streams, which carry their column names, of about `BLOCK_BYTES` each."""
    for batch in batches:
        most = max(batch.num_rows * BLOCK_BYTES // max(batch.nbytes, 1), 1)
        for first in range(0, batch.num_rows, most):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, schema) as writer:
                writer.write_batch(batch.slice(first, most))
            yield sink.getvalue().to_pybytes()


def _decode(bodies: list[bytes], extent: Extent) -> Iterator[pa.RecordBatch]:
    table = pa.concat_tables([pa.ipc.open_stream(body).read_all() for body in bodies])
    yield from table.slice(extent.skip, extent.count).to_batches()
