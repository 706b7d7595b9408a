from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome
from tests.web import runs
from tests.web.browser import browser, why_no_browser
from tests.web.page import Page, served


@pytest.fixture(scope="session")
def driver() -> Iterator[Chrome]:
    """One browser for all tests that do without one of their own."""
    if reason := why_no_browser():
        pytest.skip(reason)
    with browser() as found:
        yield found


@pytest.fixture
def page(driver: Chrome) -> Iterator[Page]:
    """Of a run that has got to its 18th round."""
    with served(driver, runs.board(runs.simulated("threshold").rounds[:18])) as found:
        yield found
