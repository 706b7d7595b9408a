"""The page in a real browser: every view shows live data, answers to the keyboard, and complains about nothing.

`make pictures` runs the test that takes pictures, for the documentation.
"""

from __future__ import annotations

import csv
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.serve import runs
from tests.serve.browser import browser, complaints, painted, why_no_browser

from mead.config.pipeline_file import read_pipeline
from mead.evaluate.experiment import run
from mead.knowledge.pipeline import Pipeline
from mead.models.map import MAP
from mead.plan import registry
from mead.serve.board import Board, RunFacts
from mead.serve.server import serving
from mead.workload.trace import Trace

PICTURES = os.environ.get("MEAD_PICTURES")
SHIPPED = Path(__file__).parents[2] / "src/mead/applications/log_analysis/pipeline.yaml"
VIEWS = ("now", "pipeline", "why", "workload", "what-if")
PATIENCE_S = 90


@pytest.fixture(scope="module", autouse=True)
def _needs_a_browser() -> None:
    if reason := why_no_browser():
        pytest.skip(reason)


@dataclass
class Page:
    driver: Chrome
    board: Board
    address: str

    def open(self, view: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{view}")

    def text(self, selector: str) -> str:
        found: str = self.driver.find_element(By.CSS_SELECTOR, selector).text
        return found

    def until(self, holds: Callable[[], Any]) -> Any:
        # What is redrawn while it is looked at is looked at again.
        redrawn = [NoSuchElementException, StaleElementReferenceException]
        return WebDriverWait(self.driver, PATIENCE_S, ignored_exceptions=redrawn).until(lambda _: holds())

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def until_drawn(self, view: str) -> None:
        self.until(lambda: self.drawn(view) and all(self.drawn(view)))

    def drawn(self, view: str) -> list[bool]:
        """Of every chart of a view, whether something is painted on it besides the grid."""
        return painted(self.driver, f"#{view} figure.chart canvas")


@pytest.fixture(scope="module")
def driver() -> Iterator[Chrome]:
    with browser() as found:
        yield found


@pytest.fixture
def page(driver: Chrome) -> Iterator[Page]:
    board = runs.board(runs.simulated("threshold").rounds[:18])
    with serving(board, port=0) as address:
        complaints(driver)  # of the page before
        yield Page(driver, board, address)
        assert complaints(driver) == []
        driver.get("about:blank")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_drawn(page: Page, view: str) -> None:
    page.open(view)
    page.until_drawn(view)
    assert page.text("#name") == "log-analysis"
    assert "policy mg1, mode act" in page.text("#facts")


def test_rounds_appear_while_they_are_made(page: Page) -> None:
    page.open("now")
    page.until(lambda: page.text("#connection") == "live")
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
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "#pipeline svg.dag path.edge")) == 2


def test_why_lists_changes_with_reason_and_effect_and_opens_by_keyboard(page: Page) -> None:
    page.open("why")
    entries = page.until(lambda: page.driver.find_elements(By.CSS_SELECTOR, "#why ol > li"))
    changes = [frame for frame in page.board.since(0) if frame.changed]
    assert len(entries) == len(changes)
    summary = entries[0].find_element(By.CSS_SELECTOR, "summary")
    assert changes[-1].kind.value in summary.text
    summary.send_keys(Keys.ENTER)
    page.until(lambda: "utilizations" in entries[0].text)
    page.driver.find_element(By.ID, "why-all").send_keys(Keys.SPACE)
    page.until(lambda: len(page.driver.find_elements(By.CSS_SELECTOR, "#why ol > li")) == len(page.board.since(0)))


def test_the_workload_stands_beside_its_model(page: Page) -> None:
    page.open("workload")
    page.until(lambda: "states" in page.text("#workload"))
    assert "drift" in page.text("#workload").lower()


def test_sliders_change_what_is_predicted(page: Page) -> None:
    page.open("what-if")
    before = page.until(lambda: page.text("#what-if table"))
    page.until(lambda: not page.driver.find_elements(By.CSS_SELECTOR, "#what-if .busy"))
    slider = page.driver.find_element(By.ID, "idc")
    for _ in range(30):
        slider.send_keys(Keys.ARROW_RIGHT)
    after = page.until(lambda: page.text("#what-if table") != before and page.text("#what-if table"))
    assert "parser>matcher" in after
    page.until(lambda: "cores" in page.text("#what-if-cheapest"))
    rate = page.driver.find_element(By.ID, "rate_per_s")
    rate.send_keys(Keys.END)
    page.until(lambda: page.text("#what-if-verdict") == "overloaded")
    for button in page.driver.find_elements(By.CSS_SELECTOR, "#what-if form button"):
        button.click()
    page.until(lambda: page.text("#what-if table") == before)


def test_tabs_are_reached_by_the_keyboard_alone(page: Page) -> None:
    page.open("now")
    page.until(lambda: page.text("#connection") == "live")
    page.driver.find_element(By.ID, "tab-now").send_keys(Keys.ARROW_RIGHT)
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-pipeline"
    assert page.driver.find_element(By.ID, "pipeline").is_displayed()
    page.driver.switch_to.active_element.send_keys(Keys.END)
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-what-if"
    assert not page.driver.find_element(By.ID, "pipeline").is_displayed()


def test_light_and_dark_are_chosen_and_remembered(page: Page) -> None:
    page.open("now")
    page.until(lambda: page.text("#connection") == "live")
    seen = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(seen)
    page.driver.find_element(By.ID, "theme").click()
    dark = page.run(seen)
    assert dark != light
    page.driver.refresh()
    page.until(lambda: page.run(seen) == dark)
    page.driver.find_element(By.ID, "theme").click()


def test_every_chart_gives_its_numbers_away(page: Page) -> None:
    page.open("now")
    page.until_drawn("now")
    taken = """window.saved = {};
        URL.createObjectURL = (blob) => { blob.text().then((text) => { saved[blob.type] = text; }); return '#'; };
        HTMLAnchorElement.prototype.click = () => {};"""
    page.run(taken)
    chart = page.driver.find_element(By.CSS_SELECTOR, "#now figure.chart")
    for button in chart.find_elements(By.CSS_SELECTOR, ".get button"):
        button.click()
    saved = page.until(lambda: len(page.run("return window.saved")) == 2 and page.run("return window.saved"))
    rows = list(csv.DictReader(io.StringIO(saved["text/csv"])))
    frames = page.board.since(0)
    assert [float(row["time_s"]) for row in rows] == [frame.time_s for frame in frames]
    assert [row["time_s"] for row in json.loads(saved["application/json"])] == [frame.time_s for frame in frames]
    charts, buttons = ("#now figure.chart", "#now figure.chart .get button")
    count = "return document.querySelectorAll('{}').length"
    assert page.run(count.format(buttons)) == 2 * page.run(count.format(charts))


def test_a_name_is_text_and_never_markup(driver: Chrome) -> None:
    shown = Board(
        RunFacts(_named("<img src=x onerror=alert(1)>"), "<b>p</b>", "act", "simulator", "", runs.STARTED, 1.0),
        wall_s=time.time,
    )
    with serving(shown, port=0) as address:
        complaints(driver)  # of the page before
        driver.get(address)
        WebDriverWait(driver, PATIENCE_S).until(lambda d: "<img" in d.find_element(By.ID, "name").text)
        assert driver.find_elements(By.CSS_SELECTOR, "img, b:not(figcaption b)") == []
        assert complaints(driver) == []


def _named(name: str) -> Pipeline:
    return Pipeline(name, runs.PIPELINE.operators, runs.PIPELINE.edges, runs.PIPELINE.requirements)


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


@pytest.mark.parametrize(
    ("look", "width", "dark", "views"),
    [("light", 1180, False, VIEWS), ("dark", 1180, True, ("now",)), ("phone", 390, False, ("now",))],
)
def test_pictures_are_taken(  # `make pictures` keeps them
    look: str,
    width: int,
    dark: bool,  # noqa: FBT001 - a parameter of the test
    views: tuple[str, ...],
    tmp_path: Path,
) -> None:
    folder = Path(PICTURES or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    board = _demo_in_virtual_time()
    with serving(board, port=0) as address, browser(width, 800, dark=dark) as driver:
        page = Page(driver, board, address)
        for view in views:
            _sized(driver, width, 800)
            page.open(view)
            page.until_drawn(view)
            page.driver.find_element(By.ID, "range").send_keys(Keys.HOME)
            page.until(lambda: not driver.find_elements(By.CSS_SELECTOR, ".busy"))
            height = min(1400, page.run("return document.documentElement.scrollHeight"))
            _sized(driver, width, height)
            time.sleep(0.5)  # until it is painted at that height
            assert driver.save_screenshot(str(folder / f"{view}-{look}.png"))


def _sized(driver: Chrome, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def _demo_in_virtual_time() -> Board:
    """What `mead demo` runs, five minutes of it."""
    file = read_pipeline(SHIPPED)
    iats_s = MAP.two_state(rate_per_s=250.0, idc=200.0).sample(75_000, np.random.default_rng(1))
    policy = registry.policy(file.policy)
    started = "2026-01-01T12:00:00+00:00"
    board = Board(
        RunFacts(file.pipeline, policy.name, "act", "simulator", "", started, policy.interval_s), wall_s=time.time
    )
    run(file.pipeline, Trace.from_iats_s(iats_s), policy, seed=1, progress=board.add)
    return board
