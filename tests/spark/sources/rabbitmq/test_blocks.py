"""Rows of a log that a RabbitMQ stream keeps: what the index names is found, once, among all that was published."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.log.log_writer import commit
from tests.waiting import PATIENCE_S

from mead.spark.log.store import FileStore, LogError
from mead.spark.log.stream_log import Extent, StreamLog, WrittenFile
from mead.spark.sources.rabbitmq import blocks
from mead.spark.sources.rabbitmq.blocks import Block, RabbitStore, RabbitStreams
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.connection import Connection, RabbitError
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish
from mead.spark.sources.rabbitmq.sink import Task
from mead.spark.sources.rabbitmq.stream import Retention

pytest.importorskip("pika")

SCHEMA = pa.schema([("number", pa.int64()), ("to", pa.list_(pa.string()))])


@pytest.fixture(autouse=True)
def _task(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if in the first task of a query."""
    monkeypatch.setattr(Task, "current", lambda: Task("query", "7", 0))
    blocks._ENDS.clear()
    yield
    OPEN_STREAMS.drop()


def store(broker: PrivateBroker, name: str) -> RabbitStore:
    return RabbitStore(
        replace(RabbitStreams(broker.url, "blocks", Retention()).store(name).place, reconnect_s=PATIENCE_S)
    )


def rows(numbers: range) -> pa.RecordBatch:
    to = pa.array([None if n % 2 else ["odd"] for n in numbers], SCHEMA.field("to").type)
    return pa.record_batch([pa.array(numbers, pa.int64()), to], schema=SCHEMA)


def written(log: StreamLog, *numbers: range) -> WrittenFile:
    return log.write([rows(some) for some in numbers], SCHEMA)


def numbers(log: StreamLog, start: int, end: int, tasks: int = 1) -> list[int]:
    pieces = log.divide(start, end, tasks)
    return [n for part in pieces for batch in log.read(part) for n in batch["number"].to_pylist()]


def log_of(broker: PrivateBroker, folder: Path, name: str) -> StreamLog:
    log = StreamLog(folder, store=store(broker, name))
    log.register("odd")
    return log


def test_any_range_is_read_in_order_by_any_number_of_tasks(
    broker: PrivateBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 200)  # some rows in each message
    log = log_of(broker, tmp_path, "ranges")
    commit(log, 0, [written(log, range(50)), written(log), written(log, range(50, 60), range(60, 61))])
    written(log, range(1000, 1100))  # a task that was tried again
    commit(log, 1, [written(log, range(61, 100))])
    assert log.end == 100
    assert log.count_for_reader("other", 100) == 50
    for start, end, tasks in ((0, 100, 1), (0, 100, 7), (3, 98, 2), (49, 51, 1), (70, 70, 1)):
        assert numbers(log, start, end, tasks) == list(range(start, end))
    log.release("odd", 100)
    assert numbers(StreamLog(tmp_path, store=log.store), 100, 100) == []


def test_what_the_broker_got_twice_counts_once(broker: PrivateBroker, tmp_path: Path) -> None:
    log = log_of(broker, tmp_path, "twice")
    file = written(log, range(10), range(10, 20))
    block = Block.parse(file.file)
    place = store(broker, "twice").place
    stream = OPEN_STREAMS.open(place)
    first, second = [message for some in stream.read(block.first, block.end) for message in some]
    assert [message.properties.message_id for message in (first, second)] == ["query:7:0:0", "query:7:0:1"]
    again = [
        OutgoingMessage(message.body, message.properties.message_id, attempt=block.attempt)
        for message in (second, first, second)
    ]
    publish(place, again)
    # As the task has found the end; as one that asks later finds it; and as a broker that lags behind tells it.
    for end in (block.end, stream.end(), block.first + 1):
        named = Block(block.attempt, block.first, end, block.messages)
        read = log.read([Extent(named.name, 0, 20)])
        assert [n for batch in read for n in batch["number"].to_pylist()] == list(range(20))


@pytest.mark.slow
def test_a_broker_that_was_killed_in_between_has_all_of_it(broker: PrivateBroker, tmp_path: Path) -> None:
    log = log_of(broker, tmp_path, "killed")
    commit(log, 0, [written(log, range(10))])
    broker.kill()
    broker.start()
    commit(log, 1, [written(log, range(10, 20))])
    broker.kill()
    broker.start()
    assert numbers(log, 0, 20) == list(range(20))


def test_a_stream_that_has_lost_rows_says_so(broker: PrivateBroker, tmp_path: Path) -> None:
    log = log_of(broker, tmp_path, "lost")
    commit(log, 0, [written(log, range(10))])
    place = store(broker, "lost").place
    connection = Connection(broker.url)
    connection.channel().ask("queue_delete", queue=place.stream)
    with pytest.raises(RabbitError, match=r"no stream blocks\.lost"):
        numbers(log, 0, 10)
    OPEN_STREAMS.drop()
    publish(StreamLocation(broker.url, place.stream, create=True), [OutgoingMessage(b"of somebody else")] * 5)
    with pytest.raises(RabbitError, match=r"stream blocks\.lost has lost unread rows"):
        numbers(log, 0, 10)
    connection.close()


def test_a_stream_that_is_declared_anew_takes_no_rows(broker: PrivateBroker, tmp_path: Path) -> None:
    log = log_of(broker, tmp_path, "anew")
    for _ in range(3):
        written(log, range(10))
    connection = Connection(broker.url)
    connection.channel().ask("queue_delete", queue="blocks.anew")
    connection.close()
    OPEN_STREAMS.drop()
    with pytest.raises(RabbitError, match="it has been deleted and declared anew"):
        written(log, range(10))


def test_files_and_streams_are_not_taken_for_each_other(tmp_path: Path) -> None:
    nowhere = RabbitStreams("amqp://127.0.0.1:1/", "none", Retention()).store("any")
    with pytest.raises(RabbitError, match=r"a1\.arrow is not a block of a RabbitMQ stream: the run began with other"):
        list(nowhere.read([Extent("a1.arrow", 0, 1)]))
    with pytest.raises(LogError, match="a1-0-1-1: missing or damaged"):
        list(FileStore(tmp_path).read([Extent(Block("a1", 0, 1, 1).name, 0, 1)]))


def test_where_a_stream_is_can_be_told_in_options() -> None:
    place = StreamLocation("amqp://host/", "s", create=True, retention=Retention("7D", 10**9, 10**6), reconnect_s=2.5)
    assert StreamLocation.of(place.options) == place
    assert StreamLocation.of(StreamLocation("amqp://host/", "s").options) == StreamLocation("amqp://host/", "s")
