"""Server-sent events of a real server."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from threading import Thread
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from tests.waiting import PATIENCE_S
from tests.web import runs

from mead.reports.live import Board
from mead.web import events
from mead.web.server import ServeError, serving

CONNECTIONS: list[HTTPConnection] = []
RUN = runs.facts().id


@pytest.fixture(autouse=True)
def _no_connection_stays_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(events, "FAREWELL_S", 0.05)  # most clients here read until the end
    yield
    while CONNECTIONS:
        CONNECTIONS.pop().close()


def connected(address: str, path: str = "/events", last: str | None = None) -> HTTPResponse:
    connection = HTTPConnection(address.removeprefix("http://").rstrip("/"), timeout=PATIENCE_S)
    CONNECTIONS.append(connection)
    connection.request("GET", path, headers={} if last is None else {"Last-Event-ID": last})
    return connection.getresponse()


def read(stream: HTTPResponse) -> Iterator[tuple[str, Any]]:
    """Kind and content of every event that has any."""
    kind = ""
    while line := stream.readline().decode():
        if line.startswith("event: "):
            kind = line.removeprefix("event: ").strip()
        elif line.startswith("data: "):
            yield kind, json.loads(line.removeprefix("data: "))


def numbers(stream: HTTPResponse, until: int) -> list[int]:
    found: list[int] = []
    for kind, content in read(stream):
        assert kind == "rounds"
        found += [one["number"] for one in content["rounds"]]
        assert [one["path"] for one in content["requirements"]] == ["parser>matcher", "parser>counter"]
        if found[-1] >= until:
            break
    return found


def test_rounds_come_as_they_are_made_and_then_the_end() -> None:
    rounds = runs.simulated("threshold").rounds
    board = runs.board(rounds[:3])
    with serving(board, port=0) as address:
        stream = connected(address)
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert numbers(stream, 3) == [1, 2, 3]
        for this in rounds[3:]:
            board.add(this)
        assert numbers(stream, len(rounds)) == list(range(4, len(rounds) + 1))
        board.finish()
        assert [kind for kind, _ in read(stream)] == ["finished"]


def test_whoever_comes_again_gets_what_he_has_missed() -> None:
    board = runs.board(runs.simulated("threshold").rounds)
    board.finish()
    with serving(board, port=0) as address:
        for path, last in (
            ("/events", f"{RUN}/7"),
            (f"/events?last={RUN}/7", None),
            (f"/events?last={RUN}/3", f"{RUN}/7"),
        ):
            found = list(read(connected(address, path, last)))
            assert found[0][1]["rounds"][0]["number"] == 8
            assert found[0][1]["changes"] == sum(frame.changed for frame in board.since(0))
            assert found[-1][0] == "finished"


def test_whoever_comes_from_another_run_is_told_so_and_gets_all_of_this_one() -> None:
    board = runs.board(runs.simulated("threshold").rounds)
    board.finish()
    with serving(board, port=0) as address:
        found = list(read(connected(address, last="1700000000/7")))
    assert [kind for kind, _ in found] == ["another-run", "rounds", "finished"]
    assert found[1][1]["rounds"][0]["number"] == 1


@pytest.mark.parametrize("last", ["7", "x/7", f"{RUN}/", f"{RUN}/-1", f"{RUN}/²", "9" * 5000, ""])
def test_a_name_that_no_event_has_is_no_name(last: str) -> None:
    board = runs.board(runs.simulated("threshold").rounds[:2])
    board.finish()
    with serving(board, port=0) as address:
        found = list(read(connected(address, f"/events?last={quote(last)}")))
    assert [kind for kind, _ in found] == ["rounds", "finished"]
    assert found[0][1]["rounds"][0]["number"] == 1


def test_a_client_that_does_not_read_is_dropped_and_does_not_hold_up_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "AT_ONCE", 2000)
    monkeypatch.setattr(events, "SLOWEST_S", 0.5)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.2)
    rounds = runs.simulated("threshold").rounds
    board = Board(runs.facts(), wall_s=time.time, kept=2000)
    for _ in range(60):
        for this in rounds:
            board.add(this)
    with serving(board, port=0) as address:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        sleeper = socket.socket()
        sleeper.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sleeper.connect((host, int(port)))
        sleeper.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        _wait_until(lambda: bool(board._wake))
        board.add(rounds[0])  # does not wait for anybody
        _wait_until(lambda: not board._wake)
        sleeper.close()


def test_more_clients_than_there_is_room_for_are_asked_to_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_CLIENTS", 2)
    board = runs.board(runs.simulated().rounds)
    with serving(board, port=0) as address:
        looking = [connected(address) for _ in range(2)]
        _wait_until(lambda: len(board._wake) == 2)
        assert connected(address).status == 503
        assert all(stream.status == 200 for stream in looking)


def test_those_who_look_hear_of_the_end() -> None:
    board = runs.board(runs.simulated().rounds)
    with serving(board) as address:
        stream = connected(address)
        numbers(stream, len(runs.simulated().rounds))
        board.finish()
    assert [kind for kind, _ in read(stream)] == ["finished"]


def test_who_has_heard_of_the_end_may_ask_for_what_he_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "FAREWELL_S", 60.0)
    told: list[tuple[str, Any]] = []
    board = runs.board(runs.simulated().rounds)

    def leave() -> None:
        told.extend(one for one in read(stream) if one[0] == "finished")

    with serving(board, port=0) as address:
        stream = connected(address)
        listener = Thread(target=leave, daemon=True)
        listener.start()
        _wait_until(lambda: bool(board._wake))
        board.finish()
        _wait_until(lambda: board.finished)
        # He is still there, and so is the server.
        with urlopen(f"{address}api/decisions", timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
            assert json.load(answer)["decisions"]
        assert listener.is_alive()
    listener.join(30)
    assert told == [("finished", {"stays": False})]


def test_a_run_that_makes_no_more_rounds_is_said_to_be_silent() -> None:
    now_s = [runs.STARTED_S]
    board = runs.board(runs.simulated().rounds[:3], wall_s=lambda: now_s[0])
    now_s[0] += 101.0  # ten rounds, and one second
    with serving(board, port=0) as address:
        found = read(connected(address))
        assert [next(found)[0] for _ in range(2)] == ["rounds", "silent"]
        board.add(runs.simulated().rounds[3])
        assert next(found)[0] == "rounds"


def test_whoever_reads_the_metrics_now_and_then_reads_of_the_end() -> None:
    board, told = runs.board(runs.simulated().rounds), [""]

    def scrape() -> None:
        with suppress(OSError):  # until nobody answers any more
            while True:
                with urlopen(f"{address}metrics", timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
                    told.append(answer.read().decode())
                time.sleep(0.5)

    with serving(board, port=0) as address:
        reader = Thread(target=scrape, daemon=True)
        reader.start()
        _wait_until(lambda: len(told) > 2)
        board.finish()
    reader.join(30)
    assert "mead_run_finished 0.0" in told[2]
    assert "mead_run_finished 1.0" in told[-1]


def test_the_server_ends_while_clients_look() -> None:
    board = runs.board(runs.simulated().rounds)
    with serving(board, port=0) as address:
        stream = connected(address)
        numbers(stream, 3)
        reader = Thread(target=lambda: list(read(stream)), daemon=True)
        reader.start()
    reader.join(30)
    assert not reader.is_alive()


def test_a_port_that_is_taken_is_said_to_be_or_left_alone() -> None:
    with serving(runs.board([]), port=0) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        with pytest.raises(ServeError, match=f"127.0.0.1:{port}: cannot listen"), serving(runs.board([]), port=port):
            pass
        with serving(runs.board([]), port=port, or_any=True) as other:
            assert other != address
    with (
        pytest.raises(ServeError, match="is not an address of this machine"),
        serving(runs.board([]), "no.such.host.invalid"),
    ):
        pass


def _wait_until(holds: Any) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_quiet_run_shows_that_the_connection_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.05)
    with serving(runs.board([]), port=0) as address:
        stream = connected(address)
        lines = [stream.readline() for _ in range(6)]
        assert b": alive\n" in lines
