"""Pictures of the live page for the documentation, taken in a real browser. `make pictures` keeps them."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver import Chrome, Keys
from tests.web.browser import browser, complaints, why_no_browser
from tests.web.page import VIEWS, Page

from mead.config import read_pipeline
from mead.demo import pipeline_path
from mead.policies import make_policy
from mead.queueing import MAP
from mead.reports.live import Board
from mead.session import RunFacts
from mead.simulator import run
from mead.web.server import serving
from mead.workload import Trace

PICTURES = os.environ.get("MEAD_PICTURES")
SHIPPED = pipeline_path()
TAKEN = {view: f"{view}-light.png" for view in VIEWS}
"""A picture of every view, each shown by a page of the documentation."""

WIDTH, MOST_HEIGHT = 1180, 1400


@pytest.mark.slow
def test_pictures_are_taken(tmp_path: Path) -> None:
    if reason := why_no_browser():
        pytest.skip(reason)
    folder = Path(PICTURES or tmp_path)
    board = _demo_in_virtual_time()
    with serving(board, port=0) as address, browser(WIDTH, 800) as driver:
        page = Page(driver, board, address)
        for view, file in TAKEN.items():
            _sized(driver, 800)
            page.open(view)
            page.until_drawn(view)
            page.element("#range").send_keys(Keys.HOME)
            page.run("document.activeElement.blur()")
            page.until(lambda: not page.elements(".busy"))
            _sized(driver, min(MOST_HEIGHT, page.run("return document.documentElement.scrollHeight")))
            time.sleep(0.5)  # until it is painted at that height
            assert driver.save_screenshot(str(folder / file))
        assert complaints(driver) == []


def _sized(driver: Chrome, height: int) -> None:
    size = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def _demo_in_virtual_time() -> Board:
    """What `mead demo` runs, five minutes of it."""
    file = read_pipeline(SHIPPED)
    iats_s = MAP.two_state(rate_per_s=250.0, idc=200.0).sample(75_000, np.random.default_rng(1))
    policy = make_policy(file.policy)
    started = "2026-01-01T12:00:00+00:00"
    facts = RunFacts(file.pipeline, policy.name, "act", "simulator", "", started, policy.interval_s)
    board = Board(facts, wall_s=lambda: facts.started_s)  # no time passes while the pictures are taken
    for this in run(file.pipeline, Trace.from_iats_s(iats_s), file.policy, seed=1).rounds:
        board.add(this)
    return board
