"""What `mead top` reads of others: pages that are none, and histories that are broken, by the thousand."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.fuzz.asgi import asked
from tests.fuzz.effort import tried
from tests.web import runs

from mead.reports.live import Snapshot, snapshot_table
from mead.web import watcher
from mead.web.watcher import HistoryWatcher, PageWatcher, WatchError


class Elsewhere(BaseHTTPRequestHandler):
    """A server of somebody else. What it answers with is set from outside."""

    answers: dict[str, bytes] = {}  # noqa: RUF012 - one server, one test at a time

    def do_GET(self) -> None:
        body = self.answers.get(self.path.partition("?")[0], b"")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@cache
def good() -> dict[str, Any]:
    """What a page of ours answers with."""
    return {part: json.loads(asked(f"/api/{part}")[2]) for part in ("run", "rounds")}


scalars = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=10)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something could be wrong in a document."""
    yield before
    keys = value if isinstance(value, dict) else range(min(len(value), 2)) if isinstance(value, list) else ()
    for key in keys:
        yield from places(value[key], (*before, key))


def with_other(document: Any, place: tuple[Any, ...], other: Any) -> Any:
    """The same with something else in one place."""
    if not place:
        return other
    changed = dict(document) if isinstance(document, dict) else list(document)
    changed[place[0]] = with_other(document[place[0]], place[1:], other)
    return changed


def show(look: Snapshot) -> None:
    console = Console(width=80, force_terminal=False)
    with console.capture() as captured:
        console.print(snapshot_table(look))
    assert "\x1b" not in captured.get()
    json.dumps(look.as_json())


@given(st.deferred(lambda: st.sampled_from(list(places(good())))), anything)
@tried(400)
def test_a_page_that_says_something_else_is_shown_or_refused_in_one_line(
    address: str, place: tuple[Any, ...], other: Any
) -> None:
    document = with_other(good(), place, other)
    parts = document if isinstance(document, dict) else {}
    Elsewhere.answers = {
        "/api/run": json.dumps(parts.get("run")).encode(),
        "/api/rounds": json.dumps(parts.get("rounds")).encode(),
    }
    said = f"{address}: nothing"
    try:
        show(PageWatcher(address).snapshot())
    except WatchError as error:
        said = str(error)
    assert said.startswith(f"{address}: ")
    assert "\n" not in said


@given(st.binary(max_size=100), st.binary(max_size=100))
@tried(100)
def test_bytes_of_nothing_are_no_page(address: str, run: bytes, rounds: bytes) -> None:
    Elsewhere.answers = {"/api/run": run, "/api/rounds": rounds}
    with pytest.raises(WatchError, match="this is not the page of a run"):
        PageWatcher(address).snapshot()


def test_an_answer_without_an_end_is_not_read_to_it(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "MOST_BYTES", 100)
    Elsewhere.answers = {"/api/run": b" " * 101}
    with pytest.raises(WatchError, match="the answer is too long"):
        PageWatcher(address).snapshot()


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.written(tmp_path_factory.mktemp("broken") / "history.sqlite", runs.simulated())


@given(
    st.lists(st.tuples(st.integers(0, 60_000), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6),
    st.integers(0, 60_000),
)
@tried(200)
def test_a_history_with_other_bytes_is_shown_or_refused_in_one_line(
    history: Path, changes: list[tuple[int, bytes]], cut: int
) -> None:
    content = bytearray(history.read_bytes())
    for start, new in changes:
        content[start : start + len(new)] = new
    broken = history.with_name("broken.sqlite")
    broken.write_bytes(content[:cut] if cut % 3 == 0 else content)
    said = f"{broken}: nothing"
    try:
        with closing(HistoryWatcher(broken)) as found:
            show(found.snapshot())
    except WatchError as error:
        said = str(error)
    assert said.startswith(str(broken))
    assert "\n" not in said
