"""Bytes that are no HTTP, sent to a real server by the hundred: it refuses them, and goes on serving."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.effort import tried
from tests.waiting import PATIENCE_S
from tests.web import runs

from mead.web.server import serving

GOOD = b"GET /api/run HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\nConnection: close\r\n\r\n"
PARTS = [
    *(b"GET ", b"POST ", b"\r\n", b"\n", b" ", b"HTTP/1.1", b"HTTP/9.9", b"HTTP/2.0", b"\x00", b"\xff"),
    *(b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(
        b"Host: evil\r\n",
        b"Host:\r\n",
        b": no name\r\n",
        b"X: " + b"a" * 17_000 + b"\r\n",
        b"/" * 9000,
        b"%00",
        b"Upgrade: h2c\r\n",
    ),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    board = runs.board(runs.simulated().rounds)
    board.finish()
    with serving(board) as served:
        yield served


def answer(address: str, content: bytes) -> bytes:
    """All that comes back, until the server closes the connection."""
    place = urlsplit(address)
    assert place.hostname
    with socket.create_connection((place.hostname, place.port or 0), timeout=PATIENCE_S) as client:
        received = b""
        try:
            client.sendall(content)
            client.shutdown(socket.SHUT_WR)
            while piece := client.recv(65536):
                received += piece
        except (ConnectionResetError, BrokenPipeError):  # refused before all of it was sent
            pass
    return received


@given(
    st.lists(
        st.tuples(st.integers(0, len(GOOD)), st.integers(0, 20), st.sampled_from(PARTS) | st.binary(max_size=10)),
        min_size=1,
        max_size=4,
    )
)
@tried(300)
def test_a_request_with_other_bytes_is_answered_or_dropped(address: str, changes: list[tuple[int, int, bytes]]) -> None:
    content = GOOD
    for start, length, new in changes:
        content = content[:start] + new + content[start + length :]
    received = answer(address, content)
    if received:
        assert received.startswith(b"HTTP/1.1 ")
        assert not received.startswith(b"HTTP/1.1 5")
        assert b"Traceback" not in received


def test_it_still_serves_after_all_that(address: str) -> None:
    with urlopen(f"{address}api/run", timeout=PATIENCE_S) as found:  # noqa: S310 - ours
        assert json.load(found)["pipeline"]["name"] == "log-analysis"
