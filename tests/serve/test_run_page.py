"""The page of a live run: well formed, complete, and safe whatever people call things."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from tests.evaluate.live_results import at_share, live_result, seen

from mead.evaluate.live_report import LiveReport
from mead.evaluate.tables import number
from mead.knowledge.pipeline import Operator, Pipeline
from mead.knowledge.plan import Plan
from mead.knowledge.requirement import Requirement
from mead.models.network.graph import Edge
from mead.serve.run_page import MOST_DECISIONS, run_page

VOID = {"meta", "br", "hr", "img", "input", "link"}
PARSER, MATCHER, REASON = "<b parser & co", "$x_{$", "queue > 5 & \"rate\" <script>alert('x')</script>"


class Reader(HTMLParser):
    """Collects the cells of tables, and refuses tags that do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as HTMLParser has it
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.cells.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - as above
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"td", "th"}:
            self.cells[-1] += data


def report(changes: int = 1) -> LiveReport:
    pipeline = Pipeline(
        "lines & <i>more</i>",
        [Operator(PARSER, 0.001, shares=(0.5, 1.0)), Operator(MATCHER, 0.002, shares=(0.5, 1.0))],
        [Edge(PARSER, MATCHER)],
        [Requirement(f"{PARSER}>{MATCHER}", 0.2)],
    )
    rounds = []
    for turn in range(changes):
        plan = Plan(at_share(pipeline, 0.5 if turn % 2 == 0 else 1.0), pipeline.most, REASON)
        rounds.append(seen(30.0 + turn, pipeline, backlog=7, plan=plan, in_force=plan.allocation))
    tuples = [(float(second), 0.25 + 0.001 * second) for second in range(60)]
    return LiveReport.of(live_result(pipeline, 60.0, {f"{PARSER}>{MATCHER}": tuples}, rounds=rounds))


@pytest.fixture(scope="module")
def page() -> str:
    return run_page(report(), ["A note with <u>tags</u> & signs."])


def test_tags_nest_and_the_picture_is_well_formed(page: str) -> None:
    assert page.startswith("<!doctype html>")
    assert {"table", "caption", "figure", "svg"} <= Reader(page).tags
    (picture,) = re.findall(r"<svg.*</svg>", page, re.DOTALL)
    assert ET.fromstring(picture).tag.endswith("svg")  # noqa: S314 - it is our own


def test_every_number_of_the_report_is_there(page: str) -> None:
    this, cells = report(), Reader(page).cells
    (responses,) = this.result.responses.values()
    for value in (responses.mean_s, *(responses.percentile_s(percent) for percent in (50, 95, 99))):
        assert value is not None
        assert number(value) in cells
    for name, given in this.result.cores.items():
        at = cells.index(name, cells.index("throttled"))
        assert cells[at + 1 : at + 4] == [f"{given:.3f}", "0.400", "0.250"]
    assert f"{this.result.mean_cores:.3f}" in cells
    assert {"Spark (Java)", "0.500", "driver (Python)", "0.030", "of it the control loop", "0.010"} <= set(cells)
    (verdict,) = this.verdicts
    at = cells.index(str(verdict.requirement))
    assert cells[at + 1 : at + 4] == [f"{number(verdict.response_s or 0)} s", "NO", "100.0%"]
    assert "60" in cells, "how many tuples"


def test_what_people_call_things_is_text_and_never_a_tag(page: str) -> None:
    read = Reader(page)
    assert not {"b", "i", "u", "script"} & read.tags
    assert {PARSER, MATCHER, REASON} <= set(read.cells)
    assert "A note with &lt;u&gt;tags&lt;/u&gt; &amp; signs." in page
    assert "<title>lines &amp; &lt;i&gt;more&lt;/i&gt; under static</title>" in page


def test_of_many_changes_the_last_are_listed() -> None:
    page = run_page(report(changes=MOST_DECISIONS + 5))
    assert f"Changes: {MOST_DECISIONS + 5}, the last {MOST_DECISIONS}" in page
    assert Reader(page).cells.count(REASON) == MOST_DECISIONS


def test_a_run_of_which_nothing_was_seen_has_a_page_too() -> None:
    pipeline = Pipeline("none", [Operator("matcher", 0.001)], requirements=[Requirement("matcher", 1.0)])
    assert "NO" in Reader(run_page(LiveReport.of(live_result(pipeline, 10.0, {})))).cells
