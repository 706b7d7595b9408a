"""A RabbitMQ stream as the input of a pipeline; and its end, asked for by a controller who has other things to do."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.config import read_pipeline
from mead.cpu import DryRunShares
from mead.keys import ConfigError
from mead.spark.pipeline.build import live_pipeline, load_source
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnBatches
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.broker_inputs import ASKED_AGAIN_S, RabbitMQInput
from mead.spark.sources.rabbitmq.blocks import RabbitStore
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.connection import MissingError
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.importorskip("pika")

LAST = FinishedBatch(3, {"offset": 7})
OLD, AT_A_TIME, MORE, EVERY = 30, 10, 400, 8
"""Lines that were there before, that come until the first is seen, and that come then; of these, one in so many has a
header that is no time."""

PIPELINE = """
name: shouting
operators: [{name: shouter, demand_s: 0.0001, batch: {overhead_s: 0.05, trigger_s: 0.1}, function: "math:sqrt"}]
source: {rabbitmq: {url: "%s", stream: spoken, start: latest}}
"""


class Deaf:
    """Something that takes connections and says nothing."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.2)
        self.callers: list[socket.socket] = []

    @property
    def options(self) -> dict[str, str]:
        return {"url": f"amqp://guest:guest@127.0.0.1:{self.listener.getsockname()[1]}/", "stream": "lines"}

    def called(self) -> int:
        """How often somebody has connected."""
        with suppress(TimeoutError):
            while True:
                self.callers.append(self.listener.accept()[0])
        return len(self.callers)


@pytest.fixture
def deaf() -> Iterator[Deaf]:
    server = Deaf()
    yield server
    for one in (server.listener, *server.callers):
        one.close()


def test_a_broker_that_does_not_answer_is_left_alone_for_a_while(deaf: Deaf) -> None:
    now_s = 100.0
    source = RabbitMQInput(deaf.options, now_s=lambda: now_s)
    assert source.count_arrived(None) is None
    assert deaf.called() == 0, "nothing has been read of it yet"
    assert source.count_arrived(LAST) is None
    called = deaf.called()
    assert called > 0
    assert source.count_arrived(LAST) is None
    assert deaf.called() == called, "the controller is not held up a second time"
    source.insist()
    assert source.count_arrived(LAST) is None
    assert deaf.called() > called, "who insists is"
    called = deaf.called()
    now_s += ASKED_AGAIN_S
    assert source.count_arrived(LAST) is None
    assert deaf.called() > called
    assert all(caller.recv(100)[:4] in {b"AMQP", b""} for caller in deaf.callers)
    assert source._tail is None, "no connection is kept"
    source.close()


def test_an_address_that_is_wrong_stops_no_controller() -> None:
    assert RabbitMQInput({"url": "http://nowhere/", "stream": "lines"}).count_arrived(LAST) is None


def test_a_check_makes_no_stream(broker: PrivateBroker) -> None:
    place = StreamLocation(broker.url, "not.yet", create=True)
    source = RabbitMQInput(place.options)
    source.check()
    RabbitStore(place).check()
    with pytest.raises(MissingError, match=r"no stream not\.yet"):
        replace(place, create=False).check()
    with pytest.raises(ConfigError, match=r"source\.rabbitmq: .*: no exchange nowhere"):
        RabbitMQInput(replace(place, exchange="nowhere").options).check()
    RabbitMQInput(replace(place, exchange="amq.topic").options).check()
    RabbitStore(place).make()
    replace(place, create=False).check()


def lines(first: int, end: int, untimely: Callable[[int], bool] = lambda _: False) -> Iterator[OutgoingMessage]:
    """Numbered, and stamped with the present time, or with nonsense."""
    for n in range(first, end):
        stamp: Any = "soon" if untimely(n) else time_ns() // 1000
        yield OutgoingMessage(b"line %d" % n, f"key {n}", stamp)


def wait(running: RunningPipeline, until: Callable[[], bool]) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        assert running.revive() == "", running.restarts
        assert monotonic() < limit_s, "nothing comes of it"
        sleep(0.05)


def test_a_pipeline_reads_in_place_what_comes_next_and_no_header_stops_it(
    spark: SparkSession, broker: PrivateBroker, tmp_path: Path
) -> None:
    def shout(batch: pa.RecordBatch) -> pa.RecordBatch:  # here: workers cannot import tests
        return batch.set_column(2, "value", pc.utf8_upper(batch["value"]))

    place, folder, told = StreamLocation(broker.url, "spoken", create=True), tmp_path / "run", list[str]()
    publish(place, lines(0, OLD))
    (tmp_path / "pipeline.yaml").write_text(PIPELINE % broker.url)
    file = read_pipeline(tmp_path / "pipeline.yaml")
    source = load_source(file, tmp_path, folder, None, tmp_path / "warm-up")
    work = {"shouter": OnBatches(shout, "id bigint, arrival_us bigint, value string, key string")}
    pipeline, shares = live_pipeline(file.pipeline), DryRunShares(["shouter"])
    running = RunningPipeline(spark, pipeline, source, work, folder, shares, on_restart=told.append)
    log, published, began_us = logs.stream(folder, "shouter"), OLD, time_ns() // 1000
    log.register("test")  # nothing is removed that somebody has read
    try:
        running.start()
        engine = SparkEngine(running, kept_iats=MORE)
        while log.end == 0:  # where it begins is known to Spark alone
            publish(place, lines(published, published := published + AT_A_TIME))
            assert running.revive() == "", running.restarts
            sleep(0.2)
        publish(place, lines(published, published + MORE, lambda n: n % EVERY == 0))
        untimely, published = len(range(-(-published // EVERY) * EVERY, published + MORE, EVERY)), published + MORE
        wait(running, lambda: source.count_completed(running.queries["shouter"].last or LAST) == published)
        assert source.count_arrived(running.queries["shouter"].last) == published
        assert running.drain(PATIENCE_S), running.restarts
        observation = engine.observe(monotonic())
        engine.close()
    finally:
        running.stop()
        OPEN_STREAMS.drop()
    rows = pa.Table.from_batches([rows for pieces in log.divide(0, log.end, 1) for rows in log.read(pieces)])
    numbers = [int(value.removeprefix("LINE ")) for value in rows["value"].to_pylist()]
    first = min(numbers)
    assert first >= OLD, "what was there before is not read"
    assert sorted(numbers) == list(range(first, published)), "and what has come since is, once"
    assert rows["key"].to_pylist() == [f"key {n}" for n in numbers]
    assert all(began_us <= stamp <= time_ns() // 1000 for stamp in rows["arrival_us"].to_pylist())
    state = engine.states["shouter"]
    assert (state.before, state.arrived, state.completed) == (first, published, published)
    assert observation.operators["shouter"].backlog == 0
    (complaint,) = told
    assert complaint == "messages of stream spoken have a header arrival_us that is not a time; it is ignored"
    assert running.complaints.counts == {complaint: untimely}
