"""The end of a RabbitMQ stream, asked for by the controller, who has other things to do."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from mead.spark.inputs import ASKED_AGAIN_S, RabbitMQInput
from mead.spark.progress import Done

pytest.importorskip("pika")

LAST = Done(3, {"offset": 7})


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
    source = RabbitMQInput(deaf.options, lambda: now_s)
    assert source.arrived(None) is None
    assert deaf.called() == 0, "nothing has been read of it yet"
    assert source.arrived(LAST) is None
    called = deaf.called()
    assert called > 0
    assert source.arrived(LAST) is None
    assert deaf.called() == called, "the controller is not held up a second time"
    now_s += ASKED_AGAIN_S
    assert source.arrived(LAST) is None
    assert deaf.called() > called
    assert all(caller.recv(100)[:4] in {b"AMQP", b""} for caller in deaf.callers)
    assert source._tail is None, "no connection is kept"
    source.close()


def test_an_address_that_is_wrong_stops_no_controller() -> None:
    assert RabbitMQInput({"url": "http://nowhere/", "stream": "lines"}).arrived(LAST) is None
