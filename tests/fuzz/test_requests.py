"""Requests that no browser would send, by the thousand, to the application itself: no filter of a client before it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.asgi import asked
from tests.fuzz.effort import tried

from mead.web.application import MOST_DECISIONS, MOST_ROUNDS
from mead.web.guard import LONGEST_QUERY

ROUTES = ("/", "/metrics", "/events", "/api/run", "/api/rounds", "/api/decisions", "/api/workload", "/api/now")
ASKING = ("/api/what-if", "/api/frontier")
ANSWERS = {200, 206, 304, 307, 400, 403, 404, 405, 413, 414, 416, 421, 422}
"""Of a server that works. 5xx would be one that does not."""


def check(status: int, headers: dict[str, str], body: bytes) -> None:
    assert status in ANSWERS
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"].startswith("default-src 'self'")
    if status >= 400 and headers.get("content-type", "").startswith("application/json"):
        assert json.loads(body)["error"]
    if status >= 400:
        assert len(body) < 1000
        assert b"Traceback" not in body


texts = st.text(max_size=20)
names = st.sampled_from(
    ["after", "limit", "changes", "rate_per_s", "idc", "bound_factor", "share.matcher", "replicas.parser"]
)
numbers = (
    st.integers(-(10**20), 10**20).map(str)
    | st.floats().map(str)
    | st.sampled_from(["", "²", "0x1", "1e3", "٣", "1_0"])
)
queries = st.lists(st.tuples(names | texts, numbers | texts).map("=".join), max_size=4).map(
    lambda pairs: "&".join(pairs).encode(errors="replace")
)
header_names = st.sampled_from(
    [
        b"host",
        b"Host",
        b"range",
        b"if-none-match",
        b"if-modified-since",
        b"last-event-id",
        b"sec-fetch-site",
        b"accept",
        b"cookie",
    ]
)
header_values = st.binary(max_size=30) | st.sampled_from(
    [
        b"127.0.0.1",
        b"localhost:1",
        b"[::1",
        b"[",
        b":",
        b"evil.example",
        b"bytes=0-",
        b"bytes=9-1",
        b"bytes=-1,-1",
        b"99999999999999999999",
        b"cross-site",
        b"\xff\xfe",
    ]
)
paths = st.sampled_from([*ROUTES, *ASKING]) | st.lists(
    st.sampled_from(
        ["static", "..", ".", "", "%2e%2e", "vendor", "index.html", "\x00", "api", "~", "C:", "\\..\\", "page.css"]
    )
    | texts,
    max_size=5,
).map(lambda parts: "/" + "/".join(parts))


@given(paths, queries | st.binary(max_size=40), st.lists(st.tuples(header_names, header_values), max_size=3))
@tried(1000)
def test_any_request_is_answered_or_refused(path: str, query: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    check(*asked(path, query, headers))


@given(st.sampled_from(ASKING), queries)
@tried(400)
def test_any_question_is_answered_or_refused_with_the_key_that_is_wrong(path: str, query: bytes) -> None:
    status, headers, body = asked(path, query)
    check(status, headers, body)
    if status == 400 and query.isascii():
        assert json.loads(body)["error"].isprintable()


@given(
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW", "get", ""]),
    st.sampled_from([*ROUTES, *ASKING, "/static/page.css"]),
    st.binary(max_size=50),
)
@tried(600)
def test_nothing_is_taken_from_anybody(method: str, path: str, body: bytes) -> None:
    length = [(b"content-length", str(len(body)).encode())] if body else []
    status, headers, answer = asked(path, headers=length, method=method, body=body)
    check(status, headers, answer)
    if method not in {"GET", "HEAD"}:
        assert status == 405
    elif body:
        assert status == 413


@given(
    st.lists(
        st.sampled_from(["..", ".", "", "%2e%2e", "..%2f", "etc", "passwd", "guard.py", "serve", "\x00"]), max_size=8
    )
)
@tried(500)
def test_no_path_leads_out_of_the_folder(parts: list[str]) -> None:
    status, headers, body = asked("/static/" + "/".join(parts))
    check(status, headers, body)
    assert status in {404, 405}, f"{parts} was answered: {body[:100]!r}"


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_body_is_refused_however_it_is_announced() -> None:
    assert asked("/api/run", headers=[(b"content-length", b"1000000000000")])[0] == 413
    assert asked("/api/run", headers=[(b"transfer-encoding", b"chunked")])[0] == 413
    assert asked("/api/run", headers=[(b"content-length", b"0")])[0] == 200


def test_an_answer_has_so_many_rounds_and_decisions_at_most() -> None:
    assert asked("/api/rounds", b"limit=%d" % (MOST_ROUNDS + 1))[0] == 400
    assert asked("/api/decisions", b"limit=%d" % (MOST_DECISIONS + 1))[0] == 400


@pytest.mark.parametrize("length", [LONGEST_QUERY, LONGEST_QUERY + 1])
def test_a_query_is_so_long_at_most(length: int) -> None:
    assert asked("/api/run", b"a" * length)[0] == (200 if length == LONGEST_QUERY else 414)
