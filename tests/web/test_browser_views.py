"""What every view is there for, in a real browser: of a run whose policy predicts, so that there is something to hold
against what came."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from tests.web import runs
from tests.web.page import VIEWS, Page, served

from mead.reports.frames import Frame
from mead.reports.live import Board, list_decisions

CURSORS = """return [...document.querySelectorAll('#%s figure.chart')].map((chart) => {
    const line = chart.querySelector('.u-cursor-x'), over = chart.querySelector('.u-over');
    return new DOMMatrix(getComputedStyle(line).transform).e / over.clientWidth; })"""

NOTHING = "\N{EN DASH}"
FORETOLD_S = 0.1
HELD_BACK = {"parser": 0.0, "counter": None, "matcher": 0.3}


@pytest.fixture
def page(driver: Chrome) -> Iterator[Page]:
    """Of a run under mg1."""
    with served(driver, _seen(runs.board(runs.simulated().rounds))) as found:
        yield found


@pytest.fixture
def advised(driver: Chrome) -> Iterator[Page]:
    """Of a run in which a policy may only advise, and changes its mind."""
    with served(driver, runs.board(runs.simulated("adaptive", "advise").rounds, mode="advise")) as found:
        yield found


def _seen(board: Board) -> Board:
    """With what only real workers tell, how far shares held them back and single response times.

    And with another prediction for the faster path: where the two come to nearly nothing, one line hides the other.
    """
    shown = Board(board.facts, wall_s=lambda: runs.STARTED_S)
    shown.arrivals = board.arrivals
    for frame in board.since(0):
        operators = {name: replace(o, throttled=HELD_BACK[name]) for name, o in frame.operators.items()}
        paths = {
            name: replace(
                p,
                p95_s=3 * (p.mean_s or 0.0),
                predicted_mean_s=FORETOLD_S if name == "parser>counter" else p.predicted_mean_s,
                predicted_p95_s=2 * FORETOLD_S if name == "parser>counter" else p.predicted_p95_s,
            )
            for name, p in frame.paths.items()
        }
        shown.put(replace(frame, operators=operators, paths=paths), runs.STARTED_S)
    return shown


def changes(board: Board) -> list[Frame]:
    return [frame for frame in board.since(0) if frame.changed]


@pytest.mark.parametrize("view", VIEWS)
def test_every_line_of_every_view_can_be_seen_and_told_from_others(page: Page, view: str) -> None:
    page.open(view)
    for chart in page.until_drawn(view):
        dashes = [dash for _, dash in chart.dashes.values()]
        assert len(set(dashes)) == len(dashes), "without colours they could not be told apart"
    assert page.text("#name") == "log-analysis"
    assert "policy mg1, mode act" in page.text("#facts")


@pytest.mark.parametrize(("view", "timed"), [("now", 4), ("pipeline", 4), ("why", 2), ("workload", 1)])
def test_changes_are_marked_on_every_chart_that_has_a_time(page: Page, view: str, timed: int) -> None:
    page.open(view)
    charts, all_of_them = page.until_drawn(view), len(changes(page.board))
    assert max(one.ticks for one in charts) == all_of_them > 5
    # One may be hidden, where a line reaches the edge.
    assert [one.ticks >= all_of_them - 1 for one in charts] == [place < timed for place in range(len(charts))]
    assert len(page.elements(f"#{view} .keys .tick")) == timed


def test_changes_that_are_only_advised_are_marked_in_another_way(advised: Page) -> None:
    assert len(changes(advised.board)) > 3
    advised.open("now")
    for chart in advised.until_drawn("now"):
        assert chart.rings > 10 > chart.ticks  # two rings side by side may look like a tick
    assert "change that was planned, not applied" in advised.text("#now .keys")
    assert not advised.elements("#now .keys .tick")


def test_now_shows_the_predicted_band_and_names_it(page: Page) -> None:
    page.open("now")
    response, *_, cores, arrivals = page.until_drawn("now")
    assert response.band > 10_000 > 10 * max(cores.band, arrivals.band)
    names = set(response.lines)
    assert {"mean of the last 30 s", "mean of a round", "p95", "predicted mean"} < names
    assert any(name.startswith("required: ") for name in names)
    assert "predicted, mean to p95" in page.text("#now .keys")


def test_now_says_what_is_paid_and_what_the_controller_does(page: Page) -> None:
    page.open("now")
    last = page.board.last
    assert last is not None
    assert last.cores is not None
    page.until(lambda: "Mode" in page.text("#now .cards"))
    cards = {card.find_element(By.CSS_SELECTOR, "h2").text: card.text for card in page.elements("#now .cards .card")}
    assert f"{round(last.cores, 2):g} cores" in cards["CPU cost"]
    assert "of 3; " in cards["CPU cost"]
    assert "saved" in cards["CPU cost"]
    assert "act" in cards["Mode"]
    assert f"shares are changed; {len(changes(page.board))} changes so far" in cards["Mode"]
    assert "the predicted ones" in cards["Mode"]


@pytest.mark.parametrize("view", ["now", "pipeline"])
def test_all_charts_have_one_time_axis_and_one_cursor(page: Page, view: str) -> None:
    page.open(view)
    page.until_drawn(view)
    frames = page.board.since(0)
    page.element(f"#{view} .plot").send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    first_s, last_s, at_s = frames[0].time_s, frames[-1].time_s, frames[-3].time_s
    places = page.until(lambda: len(set(found := page.run(CURSORS % view))) >= 1 and found[0] > 0 and found)
    assert len(places) == 4
    assert places == pytest.approx([(at_s - first_s) / (last_s - first_s)] * 4, abs=0.01)


def test_the_pipeline_says_what_holds_an_operator_back(page: Page) -> None:
    page.open("pipeline")
    page.until(lambda: page.elements("#pipeline svg.dag text"))
    boxes = [box.text for box in page.elements("#pipeline svg.dag g")]
    for box in boxes:
        name = box.split()[0]
        held = HELD_BACK[name]
        said = f"throttled {NOTHING}" if held is None else f"throttled {held:g} cores" if held else "not throttled"
        assert said in box, name
        assert "tuples/s" in box
        assert "% utilized" in box
    rows = {row.split()[0]: row for row in page.text("#pipeline tbody").splitlines()}
    assert rows["counter"].endswith(NOTHING)
    assert rows["matcher"].endswith("0.3 cores")


def test_the_pipeline_shows_what_an_operator_has_and_what_it_shall_have(advised: Page) -> None:
    last = advised.board.last
    assert last is not None
    advised.open("pipeline")
    advised.until(lambda: advised.elements("#pipeline svg.dag text"))
    boxes = {box.text.split()[0]: box.text for box in advised.elements("#pipeline svg.dag g")}
    moving = {name: o for name, o in last.operators.items() if o.share != o.planned_share}
    assert moving
    for name, operator in last.operators.items():
        arrow = f"share {operator.share:g} → {operator.planned_share:g}"
        assert (arrow in boxes[name]) == (name in moving)


def test_why_holds_what_was_predicted_against_what_came(page: Page) -> None:
    page.open("why")
    page.until(lambda: len(page.elements("#why ol > li")) == len(changes(page.board)))
    told = list(list_decisions(page.board.since(0), changes_only=True))[::-1]
    shown = [entry.text for entry in page.elements("#why summary .effect")]
    known = 0
    for one, text in zip(told, shown, strict=True):
        for path in ("parser>counter", "parser>matcher"):
            effect = one.effects[path]
            known += effect.predicted_mean_s is not None and effect.observed_mean_s is not None
            assert f"{_seconds(effect.predicted_mean_s)} → {_seconds(effect.observed_mean_s)}" in text
    assert known > 3


def _seconds(value: float | None) -> str:
    """As format.js writes it; no response time here is as long as ten seconds."""
    if value is None:
        return NOTHING
    short = abs(value) < 0.0995
    digits = value * 1000 if short else value
    whole = len(str(int(digits))) if digits >= 1 else 0
    places = max(0, 3 - whole) if digits >= 0.1 else 2 - int(f"{digits:e}".split("e")[1])
    return f"{digits:.{places}f} {'ms' if short else 's'}"


@pytest.mark.parametrize(
    ("slider", "key", "changed"),
    [
        ("rate_per_s", Keys.ARROW_LEFT, "#what-if table"),
        ("idc", Keys.ARROW_RIGHT, "#what-if table"),
        ("share.matcher", Keys.HOME, "#what-if table"),
        ("bound_factor", Keys.ARROW_RIGHT, "#what-if .cards"),
    ],
)
def test_every_kind_of_slider_changes_what_is_predicted(page: Page, slider: str, key: str, changed: str) -> None:
    page.open("what-if")
    page.until(lambda: page.text("#what-if-cheapest") and not page.elements("#what-if .busy"))
    before = page.text(changed), page.text("#what-if-cheapest"), page.text(f"output[for='{slider}']")
    page.element(f"[id='{slider}']").send_keys(*[key] * 40)
    page.until(lambda: page.text(changed) != before[0] and not page.elements("#what-if .busy"))
    assert page.text(f"output[for='{slider}']") != before[2]
    if slider == "bound_factor":
        assert page.text("#what-if-cheapest") != before[1], "a longer bound costs less"
    page.element("#what-if form button").click()  # as it is now
    page.until(lambda: page.text(changed) == before[0])


def test_too_many_arrivals_are_called_an_overload(page: Page) -> None:
    page.open("what-if")
    page.until(lambda: page.text("#what-if-verdict"))
    page.element("#rate_per_s").send_keys(Keys.END)
    page.until(lambda: page.text("#what-if-verdict") == "overloaded")


@pytest.mark.parametrize(
    ("view", "x"),
    [
        ("now", ["time_s"] * 4),
        ("pipeline", ["time_s"] * 4),
        ("why", ["time_s"] * 2),
        ("workload", ["time_s", "span_s", "lag"]),
        ("what-if", ["bound_s"]),
    ],
)
def test_every_chart_of_every_view_gives_its_numbers_away(page: Page, view: str, x: list[str]) -> None:
    page.open(view)
    page.until_drawn(view)
    charts = page.elements(f"#{view} figure.chart")
    assert len(charts) == len(x)
    for chart, first in zip(charts, x, strict=True):
        as_csv, as_json = chart.find_elements(By.CSS_SELECTOR, ".get button")
        rows, values = list(csv.DictReader(io.StringIO(page.saved(as_csv)))), json.loads(page.saved(as_json))
        assert list(rows[0]) == list(values[0])
        assert next(iter(rows[0])) == first
        assert len(rows) == len(values) > 1
        for row, value in zip(rows, values, strict=True):
            assert {k: None if v == "" else float(v) for k, v in row.items()} == pytest.approx(value)
        empty = {name for name in rows[0] if not any(row[name] for row in rows)}
        unknown = {name for name, held in HELD_BACK.items() if held is None}
        assert empty <= {"cores", "cores_closest"} or empty == unknown  # a bound is met, or closest to being met


def test_the_numbers_of_a_chart_are_those_of_the_run(page: Page) -> None:
    page.open("now")
    page.until_drawn("now")
    as_csv = page.elements("#now figure.chart .get button")[0]
    rows = list(csv.DictReader(io.StringIO(page.saved(as_csv))))
    frames, path = page.board.since(0), page.text("#now figure.chart figcaption b").split(" of ")[1].split(",")[0]
    assert [float(row["time_s"]) for row in rows] == [frame.time_s for frame in frames]
    assert [float(row["mean_s"] or "nan") for row in rows] == pytest.approx(
        [frame.paths[path].mean_s for frame in frames], nan_ok=True
    )
    predicted = [frame.paths[path].predicted_mean_s for frame in frames]
    assert [float(row["predicted_mean_s"]) if row["predicted_mean_s"] else None for row in rows] == predicted
