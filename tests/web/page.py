"""The live page in a real browser, as tests look at it and type into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, TimeoutException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait
from tests.waiting import PATIENCE_S
from tests.web.browser import Drawing, complaints, drawings

from mead.reports.live import Board
from mead.web.server import serving

VIEWS = ("now", "pipeline", "why", "workload", "what-if")

TAKEN = """window.saved = null;
    URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = text; }); return '#'; };
    HTMLAnchorElement.prototype.click = () => {};"""


@dataclass
class Page:
    driver: Chrome
    board: Board
    address: str

    def open(self, view: str) -> None:
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}#{view}")

    def text(self, selector: str) -> str:
        found: str = self.element(selector).text
        return found

    def element(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def elements(self, selector: str) -> list[WebElement]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def until(self, holds: Callable[[], Any]) -> Any:
        # What is redrawn while it is looked at is looked at again.
        redrawn = [NoSuchElementException, StaleElementReferenceException]
        return WebDriverWait(self.driver, PATIENCE_S, 0.1, redrawn).until(lambda _: holds())

    def until_live(self) -> None:
        self.until(lambda: self.text("#connection") == "live")

    def until_drawn(self, view: str) -> list[Drawing]:
        """The charts of a view, when every line that they name can be seen."""
        try:
            self.until(lambda: (found := self.drawn(view)) and all(one.complete for one in found))
        except TimeoutException:
            found = [f"{one.title}: no {one.missing or 'line'}" for one in self.drawn(view) if not one.complete]
            pytest.fail("; ".join(found) or "there is no chart")
        return self.drawn(view)

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def drawn(self, view: str) -> list[Drawing]:
        """The charts of a view."""
        return drawings(self.driver, f"#{view} figure.chart")

    def saved(self, button: WebElement) -> str:
        """What a button would have written to the disk."""
        self.run(TAKEN)
        button.click()
        return str(self.until(lambda: self.run("return window.saved")))


@contextmanager
def served(driver: Chrome, board: Board) -> Iterator[Page]:
    """The page of a board; whatever it complains about fails."""
    with serving(board, port=0) as address:
        complaints(driver)  # of the page before
        yield Page(driver, board, address)
        assert complaints(driver) == []
        driver.get("about:blank")
