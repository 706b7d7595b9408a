"""The report of a run: well formed, complete, and safe whatever people call things."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.web import runs

from mead.history import History
from mead.queueing import Edge
from mead.reports.judge import DRAINED
from mead.reports.pages import RunFigures, render_comparison
from mead.reports.pages.report_page import render_report
from mead.reports.pages.run_figures import MOST_DECISIONS
from mead.reports.runs import SimulatedReport
from mead.reports.tables import number
from mead.values import Cause, Note, Operator, Pipeline, Plan, Reason, Requirement, Round

VOID = {"meta", "br", "hr", "img", "input", "link"}
PARSER, MATCHER, REASON = "<b parser & co", "$x_{$", "queue > 5 & \"rate\" </script><script>alert('x')</script>"


class Reader(HTMLParser):
    """Collects the cells of tables and the texts of scripts, and refuses tags that do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.scripts: dict[str, str] = {}
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.cells.append("")
        if tag == "script":
            self.kind = str(dict(attrs)["type"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"td", "th"}:
            self.cells[-1] += data
        if self.open and self.open[-1] == "script":
            self.scripts[self.kind] = self.scripts.get(self.kind, "") + data

    @property
    def numbers(self) -> Any:
        return json.loads(self.scripts["application/json"], parse_constant=pytest.fail)


def figures(file: Path) -> RunFigures:
    with History.read(file) as history:
        return RunFigures.of(history, history.runs()[-1].number)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> RunFigures:
    """With what is concluded at the end of a simulation."""
    file = tmp_path_factory.mktemp("past") / "history.sqlite"
    result = runs.simulated()
    with History.open(file) as history:
        record = history.begin("log-analysis", runs.PIPELINE, policy="mg1", started=runs.STARTED)
        for this in result.rounds:
            record(this)
        record.conclude(SimulatedReport.of(result, seed=1).figures)
    return figures(file)


@pytest.fixture(scope="module")
def page(simulated: RunFigures) -> Reader:
    return Reader(render_report(simulated, ["A note with <u>tags</u> & signs."]))


def test_the_figures_are_those_of_the_simulation(simulated: RunFigures) -> None:
    result = runs.simulated()
    report = SimulatedReport.of(result, seed=1)
    for path, one in simulated.paths.items():
        assert one.mean_s == pytest.approx(report.paths[path].mean_s)
        for name in ("p50", "p95", "p99"):
            assert one.percentiles_s[name] == pytest.approx(report.paths[path].percentiles_s[f"{name}_s"])
    for kept, verdict in zip(simulated.verdicts, report.outcome.verdicts, strict=True):
        assert kept.response_s == pytest.approx(verdict.response_s)
        assert (kept.met, kept.broken_windows) == (verdict.met, verdict.broken_windows)
    until_s = simulated.run.duration_s
    for name, found in simulated.operators.items():
        assert found.given == pytest.approx(result.simulation.timeline.mean_cores(name, until_s))
        demand_s = runs.PIPELINE.operator(name).demand_s
        arrived = result.simulation.responses("parser>matcher").arrival_s
        assert found.used == pytest.approx((arrived < until_s).mean() * arrived.size * demand_s / until_s, rel=0.05)


def test_without_conclusions_the_rounds_are_judged_themselves(tmp_path: Path, simulated: RunFigures) -> None:
    plain = figures(runs.written(tmp_path / "history.sqlite", runs.simulated()))
    for path, one in plain.paths.items():
        assert one.percentiles_s == {"p50": None, "p95": None, "p99": None}
        assert one.mean_s == pytest.approx(simulated.paths[path].mean_s, rel=0.1)
    assert [one.met for one in plain.verdicts] == [one.met for one in simulated.verdicts]
    assert plain.operators == simulated.operators


def test_what_did_not_go_through_leaves_it_open_whether_a_requirement_was_met(
    tmp_path: Path, simulated: RunFigures
) -> None:
    file, result = tmp_path / "history.sqlite", runs.simulated()
    with History.open(file) as history:
        record = history.begin("log-analysis", runs.PIPELINE, policy="mg1", started=runs.STARTED)
        for this in result.rounds:
            record(this)
        record.conclude(SimulatedReport.of(result, seed=1).figures | {"": {DRAINED: 0.0}})
    met = [one.met for one in simulated.verdicts]
    assert True in met
    assert [one.met for one in figures(file).verdicts] == [None if one else one for one in met]


def written(file: Path, *, rounds: int | None = None) -> RunFigures:
    """A run that broke off, of whose p99 a history has counted nothing: it counts by one bound for each path."""
    path = "parser>counter"
    asked = (Requirement(path, 0.002, percent=95.0), Requirement(path, 0.01, percent=99.0))
    history = History.open(file)
    record = history.begin("log-analysis", runs.PIPELINE.with_requirements(asked), policy="mg1", started=runs.STARTED)
    for this in runs.simulated().rounds[:rounds]:
        record(this)
    record.flush()
    return figures(file)


def test_what_nobody_has_counted_is_neither_met_nor_broken(tmp_path: Path) -> None:
    found = written(tmp_path / "history.sqlite")
    p95, p99 = found.verdicts
    assert p95.met is not None
    assert (p99.response_s, p99.late, p99.met, p99.broken_windows) == (None, None, None, None)
    assert found.met is (None if p95.met else False)
    assert [one["met"] for one in found.as_json()["requirements"]] == [p95.met, None]
    read = Reader(render_report(found))
    at = read.cells.index(str(p99.requirement))
    assert read.cells[at + 1 : at + 5] == ["-", "-", "-", "-"]
    (judged,) = [one for one in read.numbers["run"]["requirements"] if one["statistic"] == "p99"]
    assert (judged["used"], judged["completed"] > 0) == (None, True)


def test_of_a_run_without_rounds_nothing_is_known_to_be_met(tmp_path: Path) -> None:
    found = written(tmp_path / "history.sqlite", rounds=0)
    assert [one.met for one in found.verdicts] == [None, None]
    compared = Reader(render_comparison([found, found], ["one", "other"])).cells
    assert compared[compared.index("one") + 3] == "-"


def test_the_changes_of_a_long_run_are_counted_in_all_its_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mead.reports.pages.report_page.MOST_ROUNDS", 10)
    found = named_run(tmp_path / "history.sqlite", 35)
    numbers = Reader(render_report(found)).numbers
    assert len(numbers["rounds"]["time_s"]) <= 10
    assert numbers["run"]["changes"] == found.run.changes == 35


def test_every_figure_is_in_the_tables_and_in_the_numbers(page: Reader, simulated: RunFigures) -> None:
    for path, one in simulated.paths.items():
        at = page.cells.index(path)
        values = (one.mean_s, *one.percentiles_s.values())
        assert page.cells[at + 1 : at + 5] == [number(value or 0.0) for value in values]
        assert page.cells[at + 5] == f"{one.completed:,}"
        assert page.cells[at + 6] == f"{one.model_error:+.0%}"
    for kept in simulated.verdicts:
        at = page.cells.index(str(kept.requirement))
        assert page.cells[at + 3] == ("yes" if kept.met else "NO")
    assert page.numbers["figures"] == simulated.as_json()
    assert len(page.numbers["rounds"]["time_s"]) == len(simulated.frames)
    assert len(page.numbers["decisions"]["changes"]) == simulated.run.changes


def test_nothing_has_to_be_loaded(simulated: RunFigures) -> None:
    text = render_report(simulated)
    assert not re.search(r'(src|href)="', text)
    assert "url(" not in text
    imports = json.loads(Reader(text).scripts["importmap"])["imports"]
    assert {"mead/report.js", "mead/chart.js", "mead/vendor/uplot/uPlot.esm.js"} <= set(imports)
    assert all(address.startswith("data:text/javascript;base64,") for address in imports.values())


def named_run(file: Path, changes: int) -> RunFigures:
    pipeline = Pipeline(
        "lines & <i>more</i>",
        [Operator(PARSER, 0.0001), Operator(MATCHER, 0.0015)],
        [Edge(PARSER, MATCHER)],
        [Requirement(f"{PARSER}>{MATCHER}", 0.2)],
    )
    low = pipeline.most.with_(MATCHER, replace(pipeline.most[MATCHER], share=0.4))
    with History.open(file) as history:
        record = history.begin(pipeline.name, pipeline, policy="<u>p</u>", started=runs.STARTED, batch=100)
        for turn in range(changes):
            plan = Plan(low if turn % 2 == 0 else pipeline.most, pipeline.most, Reason(Cause.UNSAID, (Note(REASON),)))
            record(Round(float(turn + 1), plan=plan, in_force=plan.allocation))
    return figures(file)


def test_what_people_call_things_is_text_and_never_a_tag(tmp_path: Path) -> None:
    read = Reader(render_report(named_run(tmp_path / "history.sqlite", 2), ["A note with <u>tags</u> & signs."]))
    assert not {"b", "i", "u"} & read.tags
    assert {PARSER, MATCHER} <= set(read.cells)
    assert set(read.scripts) == {"importmap", "application/json", "module"}
    assert {one["reason"] for one in read.numbers["decisions"]["all"]} == {REASON}


def test_of_many_changes_the_last_are_listed(tmp_path: Path) -> None:
    read = Reader(render_report(named_run(tmp_path / "history.sqlite", MOST_DECISIONS + 5)))
    changes = read.numbers["decisions"]["changes"]
    assert len(changes) == MOST_DECISIONS
    assert changes[-1]["round"] == MOST_DECISIONS + 5


def test_a_run_of_which_nothing_was_seen_has_a_page_too(tmp_path: Path) -> None:
    read = Reader(render_report(named_run(tmp_path / "history.sqlite", 0)))
    assert read.numbers["rounds"]["time_s"] == []


def test_a_comparison_has_all_runs_on_one_time_axis(simulated: RunFigures, tmp_path: Path) -> None:
    other = figures(runs.written(tmp_path / "history.sqlite", runs.simulated("threshold")))
    read = Reader(render_comparison([simulated, other], ["mg1", "<b>threshold"]))
    numbers = read.numbers
    assert [one["name"] for one in numbers["runs"]] == ["mg1", "<b>threshold"]
    assert "b" not in read.tags
    for found, run in zip(numbers["runs"], (simulated, other), strict=True):
        assert found["figures"] == run.as_json()
        for path in run.required_paths:
            seen_s = [value for value in found["paths"][path] if value is not None]
            assert len(found["paths"][path]) == len(numbers["time_s"])
            assert seen_s
            assert min(seen_s) > 0
    # Rounds of threshold are as long as a bin, so that its means by bin are those of its rounds.
    by_round = [frame.paths["parser>matcher"].mean_s for frame in other.frames]
    drawn = [value for value in numbers["runs"][1]["paths"]["parser>matcher"] if value is not None]
    assert drawn == pytest.approx(by_round[: len(drawn)], rel=1e-5)


@pytest.mark.parametrize("policy", ["mg1", "adaptive"])
def test_a_report_of_advice_says_how_far_its_model_can_be_believed(tmp_path: Path, policy: str) -> None:
    found = figures(runs.written(tmp_path / "history.sqlite", runs.simulated(policy, "advise"), "advise"))
    asked = found.run.pipeline.requirements[0].path
    error = found.paths[asked].model_error
    assert error is not None
    assert found.savings is not None
    assert found.savings.model_error[asked] == error
    page = Reader(render_report(found))
    assert f"{error:+.0%}" in page.cells
    said = render_report(found)
    assert f"Model error of {policy} (observed over predicted mean response time of the allocation in force" in said
    assert "predicted nothing" not in said
    assert page.numbers["figures"]["paths"][asked]["model_error"] == error
    rounds = page.numbers["rounds"]["paths"][asked]["expected_mean_s"]
    assert any(value is not None for value in rounds)  # what the chart of trust is drawn from
    decided = page.numbers["decisions"]["all"][-2]["paths"][asked]["in_force"]
    assert decided["times_predicted"] == pytest.approx(decided["observed_mean_s"] / decided["predicted_mean_s"])


def test_a_report_says_where_nothing_was_predicted(tmp_path: Path) -> None:
    found = figures(runs.written(tmp_path / "history.sqlite", runs.simulated("threshold", "advise"), "advise"))
    assert "threshold predicted nothing for the allocation in force: there is no model error." in render_report(found)
