"""Connections that send nothing, too little or too slowly, on real sockets: they never keep others out."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPResponse
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from tests.waiting import PATIENCE_S
from tests.web import runs

from mead.web import connections, guard
from mead.web.connections import MOST_CONNECTIONS
from mead.web.guard import MOST_REQUESTS
from mead.web.server import serving


@contextmanager
def clients(address: str, number: int, sent: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections, each of which has sent so much."""
    place = urlsplit(address)
    with ExitStack() as stack:
        found = []
        for _ in range(number):
            one = socket.create_connection((place.hostname, place.port), timeout=PATIENCE_S)
            found.append(stack.enter_context(one))
            with suppress(ConnectionError):  # it has lost its place again
                one.sendall(sent.replace(b"HOST", place.netloc.encode()))
        yield found


def answers(address: str, path: str) -> bool:
    with urlopen(f"{address}{path}", timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
        return bool(answer.status == 200 and answer.read())


def is_closed(one: socket.socket) -> bool:
    try:
        return one.recv(1 << 16) == b""
    except ConnectionResetError:
        return True


HEAD = b"GET /api/run HTTP/1.1\r\nHost: HOST\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD, HEAD + b"\r\n"], ids=["nothing", "word", "half", "whole"])
def test_idle_connections_do_not_keep_others_out(sent: bytes) -> None:
    with serving(runs.board(runs.simulated().rounds)) as address, clients(address, 100, sent):
        assert answers(address, "metrics")
        assert answers(address, "api/run")


def test_there_are_never_more_connections_than_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", PATIENCE_S)
    with serving(runs.board(runs.simulated().rounds)) as address, clients(address, 100) as found:
        assert answers(address, "metrics")
        assert all(is_closed(one) for one in found[: 100 - MOST_CONNECTIONS]), "the oldest have lost their places"
        found[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            found[-1].recv(1)


@pytest.mark.parametrize("sent", [b"", b"GET /metrics HTTP/1.1\r\nHost: HOST\r\n"], ids=["nothing", "half"])
def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.3)
    with serving(runs.board(runs.simulated().rounds)) as address, clients(address, 3, sent) as found:
        assert all(is_closed(one) for one in found)
        assert answers(address, "metrics")


def test_bytes_one_by_one_buy_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.5)
    with serving(runs.board(runs.simulated().rounds)) as address, clients(address, 1) as (slow,):
        until_s = time.monotonic() + PATIENCE_S
        with suppress(ConnectionError):
            while time.monotonic() < until_s:
                slow.sendall(b"G")
                time.sleep(0.05)
        assert time.monotonic() < until_s, "it is still connected"


def test_the_second_request_of_a_connection_has_a_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.5)
    with serving(runs.board(runs.simulated().rounds)) as address, clients(address, 1, HEAD + b"\r\n") as (one,):
        first = HTTPResponse(one)
        first.begin()
        assert (first.status, first.read()[:1]) == (200, b"{")
        one.sendall(HEAD[:5])
        assert is_closed(one)


def test_a_client_that_waits_for_events_longer_than_for_a_head_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_S", 0.2)
    sent = b"GET /events HTTP/1.1\r\nHost: HOST\r\n\r\n"
    board = runs.board(runs.simulated().rounds[:3])
    with serving(board) as address, clients(address, 1, sent) as (one,):
        assert one.recv(1 << 16).startswith(b"HTTP/1.1 200 OK")
        time.sleep(0.6)
        one.settimeout(0.2)
        try:
            while True:
                assert one.recv(1 << 16) != b"", "it was disconnected"
        except TimeoutError:
            pass


def test_requests_that_take_long_leave_places_for_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """More questions at a time than the server takes: some are refused, and metrics are answered."""
    monkeypatch.setattr(guard, "MOST_REQUESTS", 5)
    sent = b"GET /events HTTP/1.1\r\nHost: HOST\r\n\r\n"
    board = runs.board(runs.simulated().rounds[:3])
    with serving(board) as address, clients(address, 5, sent) as taken:
        assert all(one.recv(1 << 16).startswith(b"HTTP/1.1 200 OK") for one in taken)
        with clients(address, 1, HEAD + b"\r\n") as (refused,):
            assert refused.recv(1 << 16).startswith(b"HTTP/1.1 503 Service Unavailable")
        assert answers(address, "metrics")


def test_the_limits_leave_places_for_metrics() -> None:
    assert MOST_REQUESTS < MOST_CONNECTIONS
