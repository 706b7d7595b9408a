"""Reports in a real browser: opened from a disk, on a phone and on a screen, light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.common.exceptions import TimeoutException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.waiting import PATIENCE_S
from tests.web import runs
from tests.web.browser import browser, complaints, drawings, why_no_browser

from mead.history import History
from mead.reports.pages import RunFigures, render_comparison, render_report


@pytest.fixture(scope="module", autouse=True)
def _needs_a_browser() -> None:
    if reason := why_no_browser():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run, two of them beside each other, and a run of more rounds than a page draws."""
    place = tmp_path_factory.mktemp("pages")
    found = []
    for policy in ("mg1", "threshold"):
        with History.read(runs.written(place / f"{policy}.sqlite", runs.simulated(policy))) as history:
            found.append(RunFigures.of(history, 1))
    texts = {"report": render_report(found[0]), "comparison": render_comparison(found, ["mg1", "threshold"])}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mead.reports.pages.report_page.MOST_ROUNDS", 4)
        texts["coarse"] = render_report(found[0])
    for name, text in texts.items():
        (place / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: place / f"{name}.html" for name in texts}


def opened(driver: Chrome, page: Path, charts: int) -> None:
    """From the disk, until all charts are painted; whatever it has to complain about fails."""
    complaints(driver)  # of the page before
    driver.get(page.as_uri())

    def drawn(_: Chrome) -> bool:
        found = drawings(driver)
        return len(found) == charts and all(one.complete for one in found)

    try:
        WebDriverWait(driver, PATIENCE_S).until(drawn)
    except TimeoutException:
        pytest.fail("; ".join(f"{one.title}: no {one.missing}" for one in drawings(driver) if not one.complete))
    assert complaints(driver) == []


@pytest.mark.parametrize(("width", "dark"), [(390, False), (390, True), (1280, False)])
def test_charts_are_drawn_from_the_file_alone_and_fit_the_screen(
    pages: dict[str, Path],
    width: int,
    dark: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    with browser(width, 800, dark=dark) as driver:
        # Two paths, cores, arrivals; four of the operators; effects, trust.
        for name, charts in (("report", 10), ("comparison", 4)):
            opened(driver, pages[name], charts)
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width
            ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, ground[4:-1].split(","))) < 128) == dark


def test_the_report_shows_decisions_and_changes_its_look(pages: dict[str, Path], driver: Chrome) -> None:
    opened(driver, pages["report"], 10)
    entries = driver.find_elements(By.CSS_SELECTOR, "#why ol > li")
    with History.read(pages["report"].with_name("mg1.sqlite")) as history:
        changes = history.decisions(1, changes_only=True)
    assert len(entries) == len(changes)
    far = [one for one in changes if any(effect.surprising for effect in one.effects)]
    assert len(driver.find_elements(By.CSS_SELECTOR, "#why summary .effect .bad")) == len(far)
    driver.find_element(By.ID, "why-all").click()
    WebDriverWait(driver, PATIENCE_S).until(
        lambda _: len(driver.find_elements(By.CSS_SELECTOR, "#why ol > li")) > len(changes)
    )
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = driver.execute_script(ground)
    driver.find_element(By.ID, "theme").click()
    assert driver.execute_script(ground) != light
    assert complaints(driver) == []
    opened(driver, pages["coarse"], 10)
    for view in ("now", "why"):  # rounds that are drawn as one have changed something more than once
        assert f"{len(changes)} changes" in driver.find_element(By.ID, view).text
