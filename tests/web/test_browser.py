"""The page in a real browser: every view shows live data, answers to the keyboard, and complains about nothing."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from tests.web import runs
from tests.web.browser import browser, complaints, why_no_browser
from tests.web.page import VIEWS, Page, served

from mead.demo import pipeline_path
from mead.reports.live import Board
from mead.web.server import serving

PICTURES = os.environ.get("MEAD_PICTURES")
SHIPPED = pipeline_path()
NO_STORAGE = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } });"


@pytest.fixture(scope="module", autouse=True)
def _needs_a_browser() -> None:
    if reason := why_no_browser():
        pytest.skip(reason)


def test_rounds_appear_while_they_are_made(page: Page) -> None:
    page.open("now")
    page.until_live()
    page.until(lambda: "1:30" in page.text("#now"))
    rounds = runs.simulated("threshold").rounds
    for this in rounds[18:]:
        page.board.add(this)
    last = page.board.last
    assert last is not None
    page.until(lambda: f"{int(last.time_s) // 60}:{int(last.time_s) % 60:02d}" in page.text("#now"))
    page.board.finish()
    page.until(lambda: page.text("#connection") == "finished")


def test_the_pipeline_shows_what_every_operator_has_and_shall_have(page: Page) -> None:
    page.open("pipeline")
    last = page.board.last
    assert last is not None
    page.until(lambda: "matcher" in page.text("#pipeline table"))
    rows = {row.split()[0]: row for row in page.text("#pipeline tbody").splitlines()}
    for name, operator in last.operators.items():
        assert f" {operator.share:g} " in rows[name]
    assert len(page.elements("#pipeline svg.dag path.edge")) == 2


def test_why_lists_changes_with_reason_and_effect_and_opens_by_keyboard(page: Page) -> None:
    page.open("why")
    entries = page.until(lambda: page.elements("#why ol > li"))
    changes = [frame for frame in page.board.since(0) if frame.changed]
    assert len(entries) == len(changes)
    summary = entries[0].find_element(By.CSS_SELECTOR, "summary")
    assert changes[-1].kind.value in summary.text
    summary.send_keys(Keys.ENTER)
    page.until(lambda: changes[-1].reason in entries[0].text)
    page.element("#why-all").send_keys(Keys.SPACE)
    page.until(lambda: len(page.elements("#why ol > li")) == len(page.board.since(0)))

    at = "const at = document.activeElement;"
    at += " return at.matches('#why summary') && at.querySelector('time').textContent"
    page.run("document.querySelectorAll('#why summary')[3].focus()")
    before = page.run(at)
    assert before
    for this in runs.simulated("threshold").rounds[18:]:
        page.board.add(this)
    page.until(lambda: len(page.elements("#why ol > li")) == len(page.board.since(0)) > 18)
    assert page.run(at) == before, "rounds that come do not take the focus away"
    assert entries[0].find_element(By.CSS_SELECTOR, "details").get_attribute("open")
    page.until(lambda: f"{page.board.totals.changes} changes" in page.text("#why"))


def test_the_workload_stands_beside_its_model(page: Page) -> None:
    page.open("workload")
    page.until(lambda: "states" in page.text("#workload"))
    assert "drift" in page.text("#workload").lower()


def test_tabs_are_reached_by_the_keyboard_alone(page: Page) -> None:
    page.open("now")
    page.until_live()
    page.element("#tab-now").send_keys(Keys.ARROW_RIGHT)
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-pipeline"
    assert page.element("#pipeline").is_displayed()
    page.driver.switch_to.active_element.send_keys(Keys.END)
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-what-if"
    assert not page.element("#pipeline").is_displayed()


def test_the_values_of_a_chart_are_reached_by_the_keyboard_alone(page: Page) -> None:
    page.open("now")
    page.until_drawn("now")
    plot, last = page.element("#now .plot"), page.board.since(0)[-2:]
    plot.send_keys(Keys.ARROW_LEFT)
    page.until(lambda: page.text("#now .tip").startswith(_clock(last[1].time_s)))
    plot.send_keys(Keys.ARROW_LEFT)
    page.until(lambda: page.text("#now .tip").startswith(_clock(last[0].time_s)))
    mean_s = last[0].paths["parser>counter"].mean_s
    assert mean_s is not None
    assert f"mean of a round: {float(f'{mean_s:.3g}'):g}" in page.text("#now .tip")
    said = page.run("return document.querySelector('#now figure [role=status]').textContent")
    assert said.split("; ") == page.text("#now .tip").splitlines()
    plot.send_keys(Keys.ESCAPE)
    page.until(lambda: not page.text("#now .tip"))


def _clock(time_s: float) -> str:
    return f"{round(time_s) // 60}:{round(time_s) % 60:02d}"


def test_light_and_dark_are_chosen_and_remembered(page: Page) -> None:
    page.open("now")
    page.until_live()
    seen = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(seen)
    page.element("#theme").click()
    dark = page.run(seen)
    assert dark != light
    page.driver.refresh()
    page.until(lambda: page.run(seen) == dark)
    page.element("#theme").click()
    added = page.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NO_STORAGE})
    page.driver.refresh()  # in a browser that keeps nothing
    page.until_live()
    page.element("#theme").click()
    assert page.run(seen) == dark
    page.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)


def test_a_name_is_text_and_never_markup(driver: Chrome) -> None:
    named = replace(runs.PIPELINE, name="<img src=x onerror=alert(1)>")
    shown = Board(replace(runs.facts(), pipeline=named, policy="<b>p</b>"), wall_s=time.time)
    with served(driver, shown) as page:
        page.open("now")
        page.until(lambda: "<img" in page.text("#name"))
        assert page.elements("img, b:not(figcaption b)") == []


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_no_view_is_wider_than_the_screen(width: int, dark: bool) -> None:  # noqa: FBT001 - a parameter of the test
    board = runs.board(runs.simulated("threshold").rounds)
    with serving(board, port=0) as address, browser(width, 900, dark=dark) as driver:
        page = Page(driver, board, address)
        for view in VIEWS:
            page.open(view)
            page.until_drawn(view)
            assert page.run("return document.documentElement.scrollWidth") <= width
        assert complaints(driver) == []
