"""What a page shows when its run ends, breaks off or cannot be reached, in a real browser: what it has shown stays."""

from __future__ import annotations

from selenium.webdriver import Chrome, Keys
from tests.web import runs
from tests.web.browser import complaints
from tests.web.page import Page, served

from mead.reports.live import Board
from mead.web.server import serving

AGAIN = f"mead serve {runs.facts().workload} shows it again"
UNANSWERED = "The server does not answer; the data shown is old."


def test_views_that_are_open_when_a_run_ends_keep_what_they_show(driver: Chrome) -> None:
    rounds = runs.simulated().rounds
    board = runs.board(rounds[:-1])
    complaints(driver)  # of the page before
    with serving(board, port=0) as address:
        page = Page(driver, board, address)
        page.open("workload")
        page.until(lambda: "states" in page.text("#workload"))
        page.element("#tab-why").click()
        page.until(lambda: page.elements("#why ol > li"))
        board.add(rounds[-1])
        board.finish()
    page.until(lambda: page.text("#connection") == "finished")
    changes = sum(frame.changed for frame in board.since(0))
    page.until(lambda: len(page.elements("#why ol > li")) == changes)
    assert f"{changes} changes" in page.text("#why .card")
    page.element("#why-all").send_keys(Keys.SPACE)
    page.until(lambda: len(page.elements("#why ol > li")) == len(rounds))
    assert not page.elements("#why .note.bad:not([hidden])"), "all that was decided is known"

    page.run("performance.now = () => 1e9")  # much later
    page.element("#tab-workload").click()
    page.until(lambda: AGAIN in page.text("#workload"))
    assert "states" in page.text("#workload"), "the last fit is still the last fit"
    assert "drift" in page.text("#workload").lower()
    page.element("#tab-what-if").click()  # for the first time
    page.until(lambda: AGAIN in page.text("#what-if"))
    assert complaints(driver) == []
    driver.get("about:blank")


def test_a_page_that_stays_can_be_asked_when_the_run_is_over(driver: Chrome) -> None:
    board = Board(runs.facts(), wall_s=lambda: runs.STARTED_S, stays=True)
    for this in runs.simulated().rounds:
        board.add(this)
    board.finish()
    with served(driver, board) as page:
        page.open("what-if")
        page.until(lambda: page.text("#connection") == "finished" and page.text("#what-if-verdict"))
        page.element("#tab-workload").click()
        page.until(lambda: "states" in page.text("#workload"))


def test_without_a_connection_what_was_shown_stays(driver: Chrome) -> None:
    board = runs.board(runs.simulated().rounds)
    with serving(board, port=0) as address:
        page = Page(driver, board, address)
        page.open("workload")
        page.until(lambda: "states" in page.text("#workload"))
        page.element("#tab-why").click()
        listed = len(page.until(lambda: page.elements("#why ol > li")))
    page.until(lambda: "connection lost" in page.text("#connection"))
    page.element("#why-all").send_keys(Keys.SPACE)
    page.until(lambda: UNANSWERED in page.text("#why"))
    assert len(page.elements("#why ol > li")) == listed
    assert " changes" in page.text("#why .card")
    page.run("performance.now = () => 1e9")
    page.element("#tab-workload").click()
    page.until(lambda: UNANSWERED in page.text("#workload"))
    assert "states" in page.text("#workload")
    driver.get("about:blank")


def test_a_run_that_makes_no_more_rounds_is_said_to_be_silent(driver: Chrome) -> None:
    now_s, rounds = [runs.STARTED_S], runs.simulated().rounds
    board = runs.board(rounds[:-1], wall_s=lambda: now_s[0])
    now_s[0] += 3600.0
    with served(driver, board) as page:
        page.open("now")
        page.until(lambda: page.text("#connection").startswith("silent since "))
        moment = f"return new Date({runs.STARTED_S} * 1000).toLocaleTimeString('en-GB')"
        assert page.run(moment) in page.text("#connection")
        board.add(rounds[-1])
        page.until_live()
