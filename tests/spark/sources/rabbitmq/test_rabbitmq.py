"""RabbitMQ streams on a real broker, under real streaming queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest
from pika.exceptions import ChannelClosed
from tests.spark.sources.rabbitmq.broker import all_of, read, reader
from tests.waiting import PATIENCE_S

from mead.spark.log.sink import write_stream
from mead.spark.log.stream_log import StreamLog
from mead.spark.log.tasks import write_number
from mead.spark.sources.broker_inputs import RabbitMQInput
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.connection import Connection, RabbitError, UnreachableError, explain_refusal
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, Patience, StreamLocation
from mead.spark.sources.rabbitmq.publisher import Outbox, OutgoingMessage, publish
from mead.spark.sources.rabbitmq.sink import RabbitWriter
from mead.spark.sources.rabbitmq.source import RabbitDataSource, RabbitReader, read_arrival_us
from mead.spark.sources.rabbitmq.stream import Message, Retention
from mead.spark.telemetry.complaints import COMPLAINTS, Complaints
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

MESSAGES = 20_000
FEW = 500
FIRST_STAMP_US = 1_700_000_000_000_000


@pytest.fixture(autouse=True)
def _fresh_connections() -> Iterator[None]:
    yield
    OPEN_STREAMS.drop()


@pytest.fixture(scope="module")
def sources(spark: SparkSession) -> SparkSession:
    spark.dataSource.register(RabbitDataSource)
    return spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_number(tmp_path / "tasks", 2)
    return tmp_path


@pytest.fixture(scope="module")
def full(broker: PrivateBroker) -> StreamLocation:
    """A stream of 20,000 messages."""
    place = StreamLocation(broker.url, "full", create=True)
    publish(place, numbered(0, MESSAGES))
    return place


@pytest.fixture(scope="module")
def few(broker: PrivateBroker) -> StreamLocation:
    """A stream of 500 messages."""
    place = StreamLocation(broker.url, "few", create=True)
    publish(place, numbered(0, FEW))
    return place


def numbered(first: int, end: int) -> Iterator[OutgoingMessage]:
    return (OutgoingMessage(b"message %d" % n, f"key {n}", FIRST_STAMP_US + n) for n in range(first, end))


def streamed(spark: SparkSession, place: StreamLocation, folder: Path, **options: str) -> DataFrame:
    told = {"url": place.url, "stream": place.stream, "tasks": str(folder / "tasks"), **options}
    return spark.readStream.format("mead-rabbitmq").options(**told).load()


def into(rows: DataFrame, folder: Path, name: str, sink: str, options: dict[str, str]) -> StreamingQuery:
    writer = rows.writeStream.format(sink).options(**options)
    return writer.option("checkpointLocation", str(folder / f"{name}.checkpoint")).start()


def logged(rows: DataFrame, folder: Path) -> StreamingQuery:
    return write_stream(rows, folder / "log").option("checkpointLocation", str(folder / "log.checkpoint")).start()


def wait_for(log: StreamLog, rows: int, query: StreamingQuery) -> None:
    until_s = monotonic() + PATIENCE_S
    while log.end < rows:
        assert query.exception() is None
        assert monotonic() < until_s, f"{log.end} of {rows} rows after {PATIENCE_S:g} s"
        sleep(0.05)


def column(log: StreamLog, name: str) -> list[Any]:
    return [value for pieces in log.divide(0, log.end, 1) for b in log.read(pieces) for value in b[name].to_pylist()]


@pytest.mark.parametrize("tasks", [1, 5])
def test_every_message_reaches_the_log_once(
    sources: SparkSession, full: StreamLocation, folder: Path, tasks: int
) -> None:
    write_number(folder / "tasks", tasks)
    log = StreamLog(folder / "log")
    query = logged(streamed(sources, full, folder, value="string"), folder)
    try:
        wait_for(log, MESSAGES, query)
    finally:
        query.stop()
    numbers = [int(value.removeprefix("message ")) for value in column(log, "value")]
    assert sorted(numbers) == list(range(MESSAGES))
    assert column(log, "arrival_us") == [FIRST_STAMP_US + n for n in numbers], "arrival stamps travel with the data"
    assert column(log, "key") == [f"key {n}" for n in numbers]


def test_a_range_of_offsets_has_the_same_rows_however_often_it_is_read(full: StreamLocation, folder: Path) -> None:
    source = reader(full, folder)
    start, end = {"offset": 1234}, {"offset": 9876}
    once = read(source, start, end)
    write_number(folder / "tasks", 7)
    again = read(source, start, end)
    assert once.num_rows == again.num_rows == 9876 - 1234
    assert once.equals(again)
    assert once["id"].to_pylist() == list(range(1234, 9876))


def test_the_end_follows_what_is_published(broker: PrivateBroker, folder: Path) -> None:
    place = StreamLocation(broker.url, "followed", create=True)
    source = reader(place, folder)
    offset = source.initialOffset()
    assert offset == source.latestOffset(offset, None) == {"offset": 0}
    for count in (1, 3000, 2):
        publish(place, numbered(0, count))
        end, until_s = offset, monotonic() + PATIENCE_S
        while end["offset"] < offset["offset"] + count and monotonic() < until_s:
            end = source.latestOffset(offset, None)
        assert end == {"offset": offset["offset"] + count}
        assert source.latestOffset(end, None) == end
        offset = end
    source.stop()


def test_the_controller_asks_on_a_connection_that_ends_with_the_run(
    broker: PrivateBroker, full: StreamLocation
) -> None:
    source = RabbitMQInput({"url": broker.url, "stream": full.stream})
    assert source.count_arrived(FinishedBatch(0, {"offset": 7})) == MESSAGES
    assert source._tail is not None
    connection = source._tail.stream().connection
    assert connection.is_open
    source.close()
    assert not connection.is_open


def test_a_query_may_begin_with_what_comes_next(full: StreamLocation, folder: Path) -> None:
    source = reader(full, folder, from_end=True)
    assert source.initialOffset() == {"offset": MESSAGES}
    source.stop()


@pytest.mark.slow
def test_a_broker_that_is_killed_in_mid_stream_costs_nothing(
    sources: SparkSession, broker: PrivateBroker, folder: Path
) -> None:
    place = StreamLocation(broker.url, "interrupted", create=True)
    publish(place, numbered(0, FEW))
    before = all_of(place, folder)
    log = StreamLog(folder / "log")
    query = logged(streamed(sources, place, folder), folder)
    restarted, published = Event(), [FEW]

    def publish_all_along() -> None:
        while not restarted.wait(0.05):
            publish(place, numbered(published[-1], published[-1] + 20), reached=True)
            published.append(published[-1] + 20)
        OPEN_STREAMS.drop()

    publisher = Thread(target=publish_all_along)
    publisher.start()
    try:
        wait_for(log, FEW + 100, query)
        sleep(1.0)  # the broker itself forgets streams that were declared less than half a second before a crash
        broker.kill()
        broker.start()
        wait_for(log, log.end + 1, query)
        restarted.set()
        publisher.join(PATIENCE_S)
        there = all_of(place, folder)
        wait_for(log, there.num_rows, query)
    finally:
        restarted.set()
        query.stop()
    assert set(there["key"].to_pylist()) == {f"key {n}" for n in range(published[-1])}, "nothing is lost"
    assert sorted(column(log, "id")) == there["id"].to_pylist(), "nothing is counted twice"
    assert there.slice(0, FEW).equals(before), "the same offsets have the same rows after the restart"


def test_an_exchange_that_exists_feeds_the_stream(broker: PrivateBroker, folder: Path) -> None:
    connection = Connection(broker.url)
    channel = connection.channel()
    channel.ask("exchange_declare", exchange="events", exchange_type="fanout", durable=True)
    options = {"url": broker.url, "stream": "fed", "exchange": "events", "tasks": str(folder / "tasks")}
    source = RabbitDataSource(options).streamReader(SimpleNamespace())  # type: ignore[arg-type]
    assert isinstance(source, RabbitReader)
    start = source.initialOffset()
    for n in range(100):
        channel.raw.basic_publish("events", "any", b"%d" % n)
    channel.ask("exchange_declare", exchange="events", passive=True)
    end, until_s = start, monotonic() + PATIENCE_S
    while end["offset"] < 100 and monotonic() < until_s:
        end = source.latestOffset(start, None)
    connection.close()
    assert read(source, start, end)["value"].to_pylist() == [b"%d" % n for n in range(100)]
    source.stop()


def test_what_a_repeated_batch_publishes_twice_is_known_by_its_key(
    sources: SparkSession, few: StreamLocation, folder: Path
) -> None:
    place = StreamLocation(few.url, "copy", create=True)
    options = {"url": place.url, "stream": place.stream, "create": "true", "key": "id"}

    def run() -> None:
        query = into(streamed(sources, few, folder), folder, "copy", "mead-rabbitmq", options)
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    run()
    once = all_of(place, folder)
    assert sorted(once["value"].to_pylist()) == sorted(message.body for message in numbered(0, FEW))
    assert sorted(once["arrival_us"].to_pylist()) == [FIRST_STAMP_US + n for n in range(FEW)]
    last = max((folder / "copy.checkpoint/commits").glob("[0-9]*"), key=lambda path: int(path.name))
    for file in (last, last.with_name(f".{last.name}.crc")):  # as if the application had ended just before
        file.unlink(missing_ok=True)
    write_number(folder / "tasks", 3)
    run()
    twice = all_of(place, folder)
    assert twice.num_rows > once.num_rows, "the batch was published again"
    assert set(twice["key"].to_pylist()) == set(once["key"].to_pylist())
    assert len(set(once["key"].to_pylist())) == FEW


def test_without_a_column_for_it_the_key_is_made_of_batch_task_and_row(
    sources: SparkSession, few: StreamLocation, folder: Path
) -> None:
    place = StreamLocation(few.url, "lines", create=True)
    rows = streamed(sources, few, folder, value="string").where("id < 10").select("value")
    query = into(rows, folder, "lines", "mead-rabbitmq", {"url": place.url, "stream": place.stream, "create": "true"})
    try:
        query.processAllAvailable()
        identity = query.id
    finally:
        query.stop()
    assert all_of(place, folder)["key"].to_pylist() == [f"{identity}:0:0:{n}" for n in range(10)]


def test_messages_that_were_cut_off_are_an_error_unless_they_may_be_missed(broker: PrivateBroker, folder: Path) -> None:
    retention = Retention(max_length_bytes=200_000, segment_bytes=50_000)
    place = StreamLocation(broker.url, "short", create=True, retention=retention)
    publish(place, (OutgoingMessage(b"x" * 200) for _ in range(5000)))
    source = reader(place, folder)
    kept, before, until_s = source.initialOffset(), None, monotonic() + PATIENCE_S
    while (kept["offset"] == 0 or kept != before) and monotonic() < until_s:  # the broker cuts some time after
        if kept["offset"] == 0:  # it has begun a segment
            publish(place, (OutgoingMessage(b"x" * 200) for _ in range(500)))
        sleep(1.0)
        kept, before = source.initialOffset(), kept
    end = source.latestOffset(kept, None)
    whole = read(source, kept, end)
    assert whole.num_rows < end["offset"] - kept["offset"], "some offsets are the broker's own, and no loss"
    with pytest.raises(RabbitError, match=f"begins at {kept['offset']}. Raise its retention, or set failOn"):
        read(source, {"offset": 0}, end)
    rest = read(reader(place, folder, fail_on_loss=False), {"offset": 0}, end)
    assert rest["id"].to_pylist() == whole["id"].to_pylist()
    source.stop()


def test_a_stream_that_is_deleted_while_it_is_followed_is_missed(broker: PrivateBroker, folder: Path) -> None:
    place = StreamLocation(broker.url, "deleted", create=True)
    publish(place, numbered(0, 10))
    source = reader(StreamLocation(broker.url, "deleted"), folder)
    assert source.latestOffset({"offset": 0}, None) == source.latestOffset({"offset": 5}, None) == {"offset": 10}
    connection = Connection(broker.url)
    connection.channel().ask("queue_delete", queue="deleted")
    connection.close()

    def ask_on() -> None:
        until_s = monotonic() + PATIENCE_S
        while monotonic() < until_s:
            source.latestOffset({"offset": 10}, None)

    with pytest.raises(RabbitError, match="no stream deleted"):
        ask_on()
    source.stop()


def test_a_stream_that_was_made_anew_is_not_taken_for_the_old_one(broker: PrivateBroker, folder: Path) -> None:
    place = StreamLocation(broker.url, "anew", create=True)
    publish(place, numbered(0, 10))
    source = reader(place, folder)
    with pytest.raises(RabbitError, match="ends at offset 10, but was read up to 500 before"):
        source.latestOffset({"offset": 500}, None)
    source.stop()


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("amqp://guest:guest@127.0.0.1:9/", "no connection to amqp://127.0.0.1:9/: start RabbitMQ there"),
        ("amqp://guest:wrong@{place}/", "refuses this user or password: correct them in the url"),
        ("amqp://guest:guest@{place}/nowhere", "no such virtual host, or this user may not use it"),
        ("amqp://guest:guest@{place}/", "no stream none: declare it, or set option create to true"),
        ("https://{place}/", "is not a url of RabbitMQ: write it as amqp://user:password@host:5672/"),
    ],
)
def test_what_cannot_be_reached_is_told_in_one_line(
    broker: PrivateBroker, folder: Path, address: str, message: str
) -> None:
    url = address.format(place=broker.url.rpartition("@")[2].strip("/"))
    with pytest.raises(RabbitError) as error:
        reader(StreamLocation(url, "none"), folder).latestOffset({"offset": 0}, None)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert "wrong" not in str(error.value), "no password is printed"


def test_a_query_without_a_broker_ends_with_that_line(sources: SparkSession, folder: Path) -> None:
    from pyspark.errors import StreamingQueryException

    query = logged(streamed(sources, StreamLocation("amqp://guest:guest@127.0.0.1:9/", "none"), folder), folder)
    with pytest.raises(StreamingQueryException, match=r"no connection to amqp://127\.0\.0\.1:9/: start RabbitMQ"):
        query.awaitTermination(int(PATIENCE_S))


def test_a_queue_is_not_taken_for_a_stream(broker: PrivateBroker, folder: Path) -> None:
    connection = Connection(broker.url)
    connection.channel().ask("queue_declare", queue="classic", durable=True)
    connection.close()
    source = reader(StreamLocation(broker.url, "classic"), folder)
    with pytest.raises(RabbitError, match="classic is a queue, not a stream: declare a stream"):
        source.latestOffset({"offset": 0}, None)
    source.stop()


def test_an_exchange_that_does_not_exist_is_named(broker: PrivateBroker) -> None:
    with pytest.raises(RabbitError, match="no exchange nobody: declare it"):
        StreamLocation(broker.url, "fed", create=True, exchange="nobody").open()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stream": "s"}, "needs the option url"),
        ({"url": "amqp://127.0.0.1/"}, "needs the option stream"),
        ({"url": "amqp://127.0.0.1/", "stream": "s", "create": "maybe"}, "create must be false or true, not maybe"),
        ({"url": "amqp://127.0.0.1/", "stream": "s", "max_length_bytes": "1GB"}, "a number of bytes, not 1GB"),
    ],
)
def test_options_that_are_missing_or_wrong_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(RabbitError, match=message):
        StreamLocation.of(options)


@pytest.mark.parametrize(
    ("column_name", "key", "message"),
    [
        ("id", None, "needs a column value, binary or string; there are id"),
        ("value", "id", "no column id for the key; there are value"),
    ],
)
def test_rows_that_cannot_be_written_are_refused_at_once(column_name: str, key: str | None, message: str) -> None:
    from pyspark.sql.types import StringType, StructType

    with pytest.raises(RabbitError, match=message):
        RabbitWriter(StreamLocation("amqp://127.0.0.1/", "s"), StructType().add(column_name, StringType()), key)


@pytest.mark.parametrize(
    ("headers", "timestamp", "expected"),
    [
        ({"arrival_us": 5_000_001}, 7, 5_000_001),
        ({}, 7, 7_000_000),
        ({}, None, 9_000_000),
        ({"arrival_us": "5000001"}, None, 5_000_001),
        ({"arrival_us": "soon"}, 7, None),
        ({"arrival_us": [5]}, 7, None),
        ({"arrival_us": -1}, 7, None),
        ({"arrival_us": 2**63}, 7, None),
        ({"arrival_us": float("inf")}, 7, None),
        ({}, 2**62, None),
    ],
)
def test_a_message_arrived_when_its_publisher_says_so_if_that_is_a_time(
    headers: dict[str, Any], timestamp: int | None, expected: int | None
) -> None:
    assert read_arrival_us(SimpleNamespace(headers=headers, timestamp=timestamp), 9_000_000) == expected


def test_messages_without_any_time_are_complained_about_once(tmp_path: Path) -> None:
    complaints = Complaints(tmp_path / COMPLAINTS)
    complaints.open()
    timeless = RabbitReader(StreamLocation("amqp://127.0.0.1/", "timeless"), tmp_path / "tasks")
    properties = SimpleNamespace(headers={}, timestamp=None, message_id=None)
    for _ in range(3):
        timeless._rows([Message(offset, properties, b"line") for offset in range(5)])
    timeless._rows([Message(5, SimpleNamespace(headers={}, timestamp=7, message_id=None), b"line")])
    (said,) = complaints.new()
    assert said.startswith("messages of stream timeless have no header arrival_us and no timestamp")
    assert complaints.counts == {said: 1}


def confirmed(tag: int, *, multiple: bool) -> Any:
    """What pika hands on when the broker has stored messages."""
    return SimpleNamespace(method=SimpleNamespace(NAME="Basic.Ack", delivery_tag=tag, multiple=multiple))


def test_confirmations_may_come_in_any_form_and_more_than_once() -> None:
    outbox = Outbox(StreamLocation("amqp://127.0.0.1/", "s"), reached=True)
    outbox._sent = {tag: OutgoingMessage(b"") for tag in range(1, 9)}
    for tag, multiple, left in [
        (2, False, [1, 3, 4, 5, 6, 7, 8]),
        (4, True, [5, 6, 7, 8]),
        (4, True, [5, 6, 7, 8]),
        (8, True, []),
        (8, True, []),
        (3, False, []),
    ]:
        outbox._on_confirm(confirmed(tag, multiple=multiple))
        assert list(outbox._sent) == left


def test_rows_without_a_key_do_not_pass_for_one_another() -> None:
    from pyspark.sql.types import LongType, StringType, StructType

    schema = StructType().add("id", LongType()).add("value", StringType())
    writer = RabbitWriter(StreamLocation("amqp://127.0.0.1/", "s"), schema, "id")
    batch = pa.record_batch({"id": pa.array([7, None, None]), "value": ["a", "b", None]})
    sent = list(writer._messages([batch, batch], "query", "3:1"))
    assert [message.key for message in sent] == [
        *("query:7", "query:3:1:1", "query:3:1:2"),
        *("query:7", "query:3:1:4", "query:3:1:5"),
    ]
    assert [message.body for message in sent[:3]] == [b"a", b"b", b""]


STARTING = "PRECONDITION_FAILED - queue 'few' in vhost '/' does not have a replica on the local node"
DOWN = "NOT_FOUND - home node 'rabbit@host' of durable queue 'few' in vhost '/' is down or inaccessible"
"""The answers of a broker that has just come back."""


class Restarting(StreamLocation):
    """A broker whose stream can be opened at the third attempt, and answers at the third question."""

    opened, asked = 0, 0

    def open(self) -> Any:
        type(self).opened += 1
        if type(self).opened < 3:
            raise explain_refusal(ChannelClosed(404, DOWN), "broker")
        return SimpleNamespace(connection=SimpleNamespace(close=lambda: None), first=self.first)

    def first(self) -> int:
        type(self).asked += 1
        if type(self).asked < 3:
            raise explain_refusal(ChannelClosed(406, STARTING), "broker")
        return 7


def test_a_broker_whose_stream_is_not_up_yet_is_asked_again(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert reader(Restarting("amqp://127.0.0.1/", "few"), folder).initialOffset() == {"offset": 7}
    assert capfd.readouterr().err == f"broker: {DOWN}; waiting for it for up to 60 s\n", "it is said once"


def test_a_stream_that_never_comes_up_is_named_with_the_time_that_was_waited() -> None:
    patience = Patience(StreamLocation("amqp://127.0.0.1/", "few", reconnect_s=0.0))
    said = r"a replica on the local node \(tried for 0 s\): the broker may have lost the stream in a crash; see its log"
    with pytest.raises(UnreachableError, match=said):
        patience.wait(cast("UnreachableError", explain_refusal(ChannelClosed(406, STARTING), "broker")))
