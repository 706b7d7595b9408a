"""A broker that has just come back answers before its streams are up: readers and writers wait for them, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
from tests.spark.sources.rabbitmq.broker import all_of
from tests.waiting import PATIENCE_S

from mead.spark.log.tasks import write_number
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.spark.sources.rabbitmq.broker import PrivateBroker
from mead.spark.sources.rabbitmq.location import OPEN_STREAMS, StreamLocation, fetch
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish
from mead.spark.sources.rabbitmq.stream import Retention
from mead.spark.telemetry import complaints

pytest.importorskip("pika")

pytestmark = pytest.mark.slow

MESSAGES = [OutgoingMessage(b"one")] * 10
STARTING = ("is down or inaccessible", "does not have a replica on the local node")


@pytest.fixture
def place(broker: PrivateBroker, tmp_path: Path) -> Iterator[StreamLocation]:
    """A stream on a broker that was killed and answers again."""
    write_number(tmp_path / "tasks", 1)
    publish(StreamLocation(broker.url, "back.again", create=True), MESSAGES)
    OPEN_STREAMS.drop()
    sleep(1.0)  # the broker itself forgets streams that were declared less than half a second before a crash
    broker.kill()
    broker.start()
    complaints._SAID.clear()
    yield StreamLocation(broker.url, "back.again", reconnect_s=PATIENCE_S)
    OPEN_STREAMS.drop()


def test_new_readers_and_writers_wait_for_a_stream_that_is_not_up_yet(
    place: StreamLocation, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = RabbitStreams(place.url, "back", Retention()).store("again")

    def read_part() -> int:
        found = sum(len(messages) for messages in fetch(place, 0, len(MESSAGES)))
        OPEN_STREAMS.drop()
        return found

    def write() -> int:
        written = publish(place, MESSAGES)
        OPEN_STREAMS.drop()
        return written

    def read_all() -> int:
        found = len(all_of(place, tmp_path))
        OPEN_STREAMS.drop()
        return found

    with ThreadPoolExecutor() as pool:  # all at once: the stream is up in less than a second
        whole, part, written, checked = (pool.submit(use) for use in (read_all, read_part, write, store.check))
    assert whole.result() in {len(MESSAGES), 2 * len(MESSAGES)}
    assert (part.result(), written.result(), checked.result()) == (len(MESSAGES), len(MESSAGES), None)
    said = [line for line in capfd.readouterr().err.splitlines() if "waiting for it for up to" in line]
    assert len(said) == len(set(said)), "each is said once"
    assert all(any(words in line for words in STARTING) for line in said)
