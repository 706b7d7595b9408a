"""What the server answers, and above all what it does not."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Event
from typing import Any
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import urlopen

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from tests.waiting import PATIENCE_S
from tests.web import runs

from mead.keys import LONGEST_NAME, MOST_OPERATORS
from mead.queueing import Edge
from mead.reports.live import Board
from mead.values import Operator, Pipeline, Resources
from mead.web.answers import prediction
from mead.web.application import STATIC, application
from mead.web.current_question import current_question
from mead.web.guard import LONGEST_QUERY, Hosts
from mead.web.model_process import BusyError, ModelProcess, WithdrawnError
from mead.web.question import Question
from mead.web.server import serving

VIEWS = ("now", "pipeline", "why", "workload", "what-if")
PATHS = [
    "/",
    "/metrics",
    "/api/run",
    "/api/rounds",
    "/api/decisions",
    "/api/now",
    "/static/page.js",
    "/static/vendor/uplot/LICENSE",
]


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    models = ModelProcess()
    app, _ = application(runs.board(runs.simulated().rounds), models, Hosts("127.0.0.1"))
    with TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=False) as found:
        yield found
    models.close()


def answer(client: TestClient, path: str) -> Any:
    found = client.get(path)
    assert found.status_code == 200, found.text
    return found.json()


def test_the_page_and_all_it_loads_come_from_here(client: TestClient) -> None:
    page = client.get("/").text
    for view in VIEWS:
        assert f'id="{view}"' in page
    files = [path.relative_to(STATIC) for path in STATIC.rglob("*") if path.is_file()]
    assert len(files) > 10
    for file in files:
        found = client.get(f"/static/{file}")
        assert found.status_code == 200
        if file.suffix in {".html", ".css", ".js"} and "vendor" not in file.parts:
            assert "https://" not in found.text.replace("https://www.w3.org", "")
    assert client.get("/").headers["content-security-policy"].startswith("default-src 'self'")


def test_the_run_is_described(client: TestClient) -> None:
    found = answer(client, "/api/run")
    assert found["pipeline"]["name"] == "log-analysis"
    assert [o["name"] for o in found["pipeline"]["operators"]] == ["parser", "counter", "matcher"]
    assert (found["id"], found["started"]) == ("1767268800", runs.STARTED)
    assert found["changes"] == sum(frame.changed for frame in runs.board(runs.simulated().rounds).since(0))
    assert [(r["path"], r["statistic"]) for r in found["requirements"]] == [
        ("parser>matcher", "mean"),
        ("parser>counter", "p95"),
    ]


def test_rounds_are_read_on_from_a_number(client: TestClient) -> None:
    every = answer(client, "/api/rounds")["rounds"]
    assert [one["number"] for one in every] == list(range(1, len(runs.simulated().rounds) + 1))
    assert answer(client, "/api/rounds?after=3&limit=2")["rounds"] == every[3:5]


def test_decisions_have_reason_inputs_and_effect(client: TestClient) -> None:
    changes = answer(client, "/api/decisions")["decisions"]
    assert changes
    assert all(one["changed"] and one["reason"] for one in changes)
    assert changes[0]["inputs"]["operators"]["matcher"]["rate_per_s"] > 0
    assert changes[0]["paths"]["parser>matcher"]["observed"]["mean_s"] > 0
    assert len(answer(client, "/api/decisions?changes=0&limit=1000")["decisions"]) == len(runs.simulated().rounds)


def test_the_models_answer_what_they_would_say_themselves(client: TestClient) -> None:
    found = answer(client, "/api/what-if?rate_per_s=250&idc=100&share.parser=1&share.counter=1&share.matcher=0.85")
    pipeline = runs.board(runs.simulated().rounds).pipeline
    asked = pipeline.most.with_("matcher", Resources(0.85))
    assert found == prediction(pipeline, Question(250.0, 100.0, 1.0, asked))


def test_the_sliders_begin_where_the_run_is(client: TestClient) -> None:
    now, last = answer(client, "/api/now"), runs.board(runs.simulated().rounds).last
    assert last is not None
    assert {name: held["share"] for name, held in now["allocation"].items()} == {
        name: operator.share for name, operator in last.operators.items()
    }
    assert 100 < now["rate_per_s"] < 900
    assert now["idc"] > 10


def test_the_frontier_and_the_workload_are_answered(client: TestClient) -> None:
    assert len(answer(client, "/api/frontier?idc=20")["points"]) == 9
    assert answer(client, "/api/workload")["fitted"]["rate_per_s"] > 0


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/api/rounds?after=-1", "after: must be a whole number"),
        ("/api/rounds?limit=0", "limit: must be a whole number"),
        ("/api/decisions?limit=1e3", "limit: must be a whole number"),
        ("/api/what-if?rate_per_s=-3", "rate_per_s: must lie between"),
        ("/api/what-if?share.matcher=0.41", "share.matcher: must be one of"),
        ("/api/frontier?idc=inf", "idc: must lie between"),
        ("/api/what-if?requirement=1", "'requirement': unknown key"),
    ],
)
def test_bad_questions_are_refused_in_one_line(client: TestClient, path: str, complaint: str) -> None:
    found = client.get(path)
    assert found.status_code == 400
    assert found.json()["error"].startswith(complaint)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"])
@pytest.mark.parametrize("path", [*PATHS, "/events", "/api/what-if"])
def test_nothing_can_be_changed(client: TestClient, method: str, path: str) -> None:
    found = client.request(method, path, content=b"{}")
    assert found.status_code == 405


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]"]
)
def test_a_name_that_is_not_ours_is_not_served(client: TestClient, host: str) -> None:
    for path in PATHS:
        assert client.get(path, headers={"host": host}).status_code == 421


def test_a_server_for_everybody_takes_addresses_but_no_foreign_names() -> None:
    everybody = Hosts("0.0.0.0")  # noqa: S104 - not bound to, only thought of
    assert everybody.allow("192.168.1.7:8765")
    assert everybody.allow("[fe80::1]:8765")
    assert not everybody.allow("evil.example")
    assert Hosts("0.0.0.0", ("spark.example",)).allow("Spark.example:8765")  # noqa: S104 - as above


def test_other_sites_may_not_have_it_computed(client: TestClient) -> None:
    assert client.get("/api/what-if", headers={"sec-fetch-site": "cross-site"}).status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/static/vendor/../../guard.py",
        "/static/%00",
        "/static",
        "/static/",
        "/../../etc/passwd",
    ],
)
def test_there_is_no_way_out_of_the_folder(client: TestClient, path: str) -> None:
    found = client.get(path, follow_redirects=True)
    assert found.status_code in {400, 404, 405}


def test_a_query_has_an_end(client: TestClient) -> None:
    assert client.get("/api/rounds?after=" + "1" * LONGEST_QUERY).status_code == 414


def test_the_largest_pipeline_can_be_asked_about() -> None:
    names = [f"{number:03}-{'x' * (LONGEST_NAME - 4)}" for number in range(MOST_OPERATORS)]
    operators = [Operator(name, 0.001, max_replicas=2) for name in names]
    wide = Pipeline("wide", operators, [Edge(names[0], name) for name in names[1:]])
    board = Board(replace(runs.facts(), pipeline=wide), wall_s=lambda: 0.0)
    keys = {"rate_per_s": "100.125", "idc": "12.5", "bound_factor": "1"}
    for name in names:
        keys |= {f"share.{name}": "0.85", f"replicas.{name}": "2"}
    with serving(board) as address, urlopen(f"{address}api/now?{urlencode(keys)}", timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
        assert len(json.load(answer)["allocation"]) == MOST_OPERATORS
    asked = Question.parse(keys.items(), wide, current_question(board))
    assert {str(held) for held in asked.allocation.values()} == {"2 x 0.85"}


def test_somebody_elses_question_is_waited_for_and_then_refused() -> None:
    class Busy(ModelProcess):
        def ask(self, *_: object, **__: object) -> dict[str, Any]:
            raise BusyError("another question is being answered; ask again in a moment")

    app, _ = application(runs.board(runs.simulated().rounds), Busy(), Hosts("127.0.0.1"))
    found = TestClient(app, base_url="http://localhost").get("/api/workload")
    assert (found.status_code, found.headers["retry-after"]) == (503, "5")


@given(
    path=st.sampled_from(["/api/rounds", "/api/decisions", "/api/run", "/api/now", "/metrics", "/static/"]) | st.text(),
    query=st.dictionaries(st.sampled_from(["after", "limit", "changes"]) | st.text(), st.text(), max_size=5),
    headers=st.dictionaries(
        st.sampled_from(["host", "last-event-id", "range", "if-none-match", "sec-fetch-site", "accept"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=126)),
        max_size=3,
    ),
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_malformed_requests_are_refused_and_never_break_it(
    client: TestClient, path: str, query: dict[str, str], headers: dict[str, str]
) -> None:
    try:
        found = client.get("/" + quote(path.lstrip("/"), errors="replace"), params=query, headers=headers)
    except (ValueError, UnicodeError):
        return  # the client itself refuses to send it
    assert found.status_code < 500
    assert found.headers["x-content-type-options"] == "nosniff"


@given(
    st.dictionaries(
        st.sampled_from(["rate_per_s", "idc", "bound_factor", "share.parser", "replicas.parser"]) | st.text(),
        st.floats().map(str) | st.text(),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_malformed_questions_reach_no_model(client: TestClient, values: dict[str, str]) -> None:
    found = client.get("/api/what-if", params=values | {"no such key": "1"})
    assert found.status_code in {400, 414}
    assert found.status_code == 414 or found.json()["error"].isprintable()


class Queue(ModelProcess):
    """Counts the questions that come to their turn."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.asked, self.taken_back = Event(), 0, 0

    def ask(
        self, function: Callable[..., dict[str, Any]], *values: object, wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        self.waiting.set()
        try:
            answer = super().ask(function, *values, wanted=wanted)
        except WithdrawnError:
            self.taken_back += 1
            raise
        self.asked += 1
        return answer


def test_a_question_whose_client_has_gone_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    models = Queue()
    monkeypatch.setattr("mead.web.server.ModelProcess", lambda: models)
    with serving(runs.board(runs.simulated().rounds), port=0) as address:
        place = urlsplit(address)
        with models._asking:  # somebody else's question is being answered
            with socket.create_connection((place.hostname, place.port)) as gone:
                gone.sendall(f"GET /api/what-if HTTP/1.1\r\nHost: {place.netloc}\r\n\r\n".encode())
                assert models.waiting.wait(60)
            time.sleep(0.5)  # until the server has noticed
        with urlopen(f"{address}api/what-if", timeout=PATIENCE_S) as stayed:  # noqa: S310 - ours
            assert json.load(stayed)["cores"] > 0
    assert (models.asked, models.taken_back) == (1, 1)
