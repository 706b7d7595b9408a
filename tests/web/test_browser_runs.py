"""Runs that are unlike others, in a real browser: not begun, replaced by the next, wide, long, hardly known."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from selenium.webdriver import Chrome, Keys
from starlette.responses import PlainTextResponse
from tests.web import runs
from tests.web.page import Page, served

from mead.policies.predictive.mg1 import MG1Options
from mead.queueing import Edge
from mead.reports.live import Board
from mead.session import RunFacts
from mead.simulator import run
from mead.values import Operator, Pipeline, Requirement
from mead.web import events
from mead.web.current_question import current_question
from mead.web.server import serving
from mead.workload import Trace

RATE = "output[for=rate_per_s]"


def test_a_page_that_was_opened_before_the_first_round_begins_with_it(driver: Chrome) -> None:
    rounds, board = runs.simulated("threshold").rounds, runs.board([])
    with served(driver, board) as page:
        page.open("workload")
        page.until(lambda: "too few" in page.text("#workload"))
        assert "history" not in page.text("#workload"), "the run is a live one"
        page.open("what-if")
        page.until(lambda: page.text(RATE) == "1 /s")
        for this in rounds[:12]:
            board.add(this)
        page.until(lambda: page.text(RATE) == f"{current_question(board).rate_per_s:,.0f} /s")
        for this in rounds[12:]:
            board.add(this)
        page.element("#what-if form button").click()  # as it is now
        page.until(lambda: page.text(RATE) == f"{current_question(board).rate_per_s:,.0f} /s")


def test_a_page_goes_over_to_the_next_run_at_its_address(driver: Chrome, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, refused = runs.simulated("threshold").rounds, []
    named = replace(runs.PIPELINE, name="the next")
    facts = replace(runs.facts(), pipeline=named, started="2026-01-02T12:00:00+00:00")
    first, second = runs.board(rounds[:9]), Board(facts, wall_s=time.time)
    for this in rounds[:3]:
        second.add(this)
    with serving(first, port=0) as address:
        page = Page(driver, first, address)
        page.open("now")
        page.until_live()

    def full(*words: Any) -> Any:
        refused.append(words)
        return PlainTextResponse(*words)

    monkeypatch.setattr(events, "PlainTextResponse", full)
    monkeypatch.setattr(events, "MOST_CLIENTS", 0)
    with serving(second, port=urlsplit(address).port or 0):
        page.until(lambda: refused and "reconnecting" in page.text("#connection"))
        monkeypatch.undo()
        page.until(lambda: page.text("#name") == "the next" and page.text("#connection") == "live")
        page.until(lambda: "0:15: " in page.text("#now"))
    driver.get("about:blank")


def test_many_lines_can_be_told_apart(driver: Chrome) -> None:
    """Of one operator before seven others, with a requirement on every path."""
    names = [f"matcher {number}" for number in range(1, 8)]
    operators = [Operator("parser", 0.0001), *(Operator(name, 0.002) for name in names)]
    asked = [Requirement(f"parser>{name}", 0.5) for name in names]
    wide = Pipeline("wide", operators, [Edge("parser", name) for name in names], asked)
    board = Board(RunFacts(wide, "mg1", "act", "simulator", "", runs.STARTED, 5.0), wall_s=time.time)
    trace = Trace.from_iats_s(np.random.default_rng(1).exponential(0.01, 4000))
    for this in run(wide, trace, MG1Options(interval_s=5.0, windows=(500,)), seed=1).rounds:
        board.add(this)
    with served(driver, board) as page:
        for view, most in (("pipeline", 8), ("why", 14)):
            page.open(view)
            page.until(partial(_has_lines, page, view, most))
            assert all(len(set(one.dashes.values())) == len(one.dashes) for one in page.drawn(view))


def _has_lines(page: Page, view: str, most: int) -> bool:
    return max((len(one.dashes) for one in page.drawn(view)), default=0) == most


def test_changes_are_drawn_however_long_ago_and_cells_are_no_formulas(driver: Chrome) -> None:
    board = Board(runs.facts(), wall_s=time.time)
    last = runs.board(runs.simulated("threshold").rounds).since(0)[-1]
    for number in range(1, 301):  # more than the page asks for; of the last ones none is a change
        this = replace(last, number=number, time_s=float(number), changed=number <= 3, cores=None, reason="=1+1")
        board.put(this, 0.0)
    with served(driver, board) as page:
        page.open("why")
        page.until(lambda: len(page.elements("#why ol > li")) == 3)
        page.element("#why-all").send_keys(Keys.SPACE)
        page.until(lambda: len(page.elements("#why ol > li")) == 100)
        drawn = list(csv.DictReader(io.StringIO(page.saved(page.element("#why figure .get button")))))
        assert [row["time_s"] for row in drawn] == ["1", "2", "3"]
        table = list(csv.DictReader(io.StringIO(page.saved(page.elements("#why .card .get button")[1]))))
        assert {row["reason"] for row in table} == {"'=1+1"}
        assert table[-1]["time_s"] == "300"
        page.open("now")
        page.until(lambda: "the cores in force are unknown" in page.text("#now"))
        assert "saved" not in page.text("#now")
