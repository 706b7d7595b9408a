"""``mead report`` and ``mead explain`` as a user meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.program import answer, complaint, run
from tests.paths import EXAMPLES
from tests.web import runs

from mead.queueing import MAP

LOG_ANALYSIS = EXAMPLES / "log-analysis.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With arrivals, and the history of three simulations."""
    place = tmp_path_factory.mktemp("past")
    iats_s = MAP.two_state(rate_per_s=300.0, idc=100.0).sample(30_000, np.random.default_rng(1))
    np.save(place / "arrivals.npy", np.cumsum(iats_s))
    for policy in ("threshold", "mg1", "adaptive"):
        interval = () if policy == "adaptive" else ("--option", "interval_s=10")
        words = ("--policy", policy, *interval, "--history", place / "history.sqlite")
        answer("simulate", LOG_ANALYSIS, "--trace", place / "arrivals.npy", *words)
    return place


def numbers(page: Path) -> Any:
    found = re.search(r'<script type="application/json" id="numbers">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_a_folder_gets_its_report(folder: Path) -> None:
    document = answer("report", folder)
    assert document["report"] == str(folder / "report.html")
    assert [one["policy"] for one in document["runs"]] == ["adaptive"]
    assert numbers(folder / "report.html")["figures"] == document["runs"][0]


def test_a_report_takes_the_place_of_the_one_before_and_of_nothing_else(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "one.part"
    mine.write_text("of somebody")
    for _ in range(2):
        answer("report", folder, "-o", tmp_path / "one.html")
    assert mine.read_text() == "of somebody"
    assert {path.name for path in tmp_path.iterdir()} == {"one.html", "one.part"}


def test_the_figures_are_those_that_the_simulation_printed(folder: Path, tmp_path: Path) -> None:
    words = ("--policy", "mg1", "--option", "interval_s=10", "--history", tmp_path / "past.sqlite")
    told = answer("simulate", LOG_ANALYSIS, "--trace", folder / "arrivals.npy", *words)
    (found,) = answer("report", tmp_path / "past.sqlite", "-o", tmp_path / "one.html")["runs"]
    for path, one in told["paths"].items():
        for name in ("mean_s", "p50_s", "p95_s", "p99_s"):
            assert found["paths"][path][name] == pytest.approx(one[name])
    assert found["requirements"][0]["met"] == told["paths"]["parser>matcher"]["met"]
    assert (tmp_path / "one.html").exists()


def test_several_runs_are_compared(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = answer("report", folder / "history.sqlite", "--run", 1, "--run", 2)
    assert document["report"] == "comparison.html"
    assert [one["name"] for one in numbers(tmp_path / "comparison.html")["runs"]] == ["threshold", "mg1"]
    result = run("report", folder, folder / "history.sqlite", "-o", tmp_path / "two.html")
    assert result.stdout == f"Report: {tmp_path / 'two.html'}\n"
    names = [one["name"] for one in numbers(tmp_path / "two.html")["runs"]]
    assert names == [f"adaptive, {folder.name}", "adaptive, history"]


def test_what_cannot_be_reported_is_one_line(folder: Path, tmp_path: Path) -> None:
    assert complaint("report", tmp_path / "none.sqlite").endswith(
        "there is no such file; a run with --history makes one"
    )
    assert "there is no run 9" in complaint("report", folder, "--run", 9)
    assert "--run needs a single history" in complaint("report", folder, folder, "--run", 1)
    assert "the name must end in one of .html" in complaint("report", folder, "-o", tmp_path / "page.pdf")


def test_a_decision_is_explained_by_what_was_weighed(folder: Path) -> None:
    found = answer("explain", "change", folder, "--run", 2)
    decision = found["decision"]
    past = {one["round"]: one for one in answer("history", folder / "history.sqlite", "--run", 2)["decisions"]}
    assert decision == past[decision["round"]]
    assert decision["changed"]
    assert "Poisson arrivals" in found["models"][0]
    (bound,) = found["candidates"][0]["predicted_s"]
    assert bound.startswith("mean of parser>matcher <= ")
    bound_s = float(bound.split("<= ")[1].removesuffix(" s"))
    by_verdict = {one["verdict"].split(" ")[0]: one for one in found["candidates"]}
    taken = by_verdict.get("chosen") or by_verdict["wanted"]
    assert taken["allocation"] in (decision["target"], decision["after"])
    for one in found["candidates"]:
        predicted_s = one["predicted_s"][bound]
        if one["verdict"].startswith("breaks"):
            assert predicted_s is None or predicted_s > bound_s / found["caution"]
        if predicted_s is not None:
            assert one["margin"] == pytest.approx(1 - predicted_s / bound_s)
        assert one["cores"] == pytest.approx(sum(o["share"] * o["replicas"] for o in one["allocation"].values()))
    assert found["observed"]["operators"]["matcher"]["arrived"] > 0


def test_every_round_can_be_explained_in_words(folder: Path) -> None:
    rounds = answer("history", folder / "history.sqlite", "--run", 2)["decisions"]
    for nth in range(1, len(rounds) + 1):
        result = run("explain", nth, folder, "--run", 2, columns=100)
        assert result.exit_code == 0, result.stderr
        assert f"Round {nth} of run 2, log-analysis under mg1" in result.stdout
        assert "tuples/s arrived" in result.stdout
        assert "Effect: mean response time" in result.stdout


def test_a_rule_that_weighs_costs_shows_them(folder: Path) -> None:
    found = answer("explain", "last", folder)
    costs = [one["extra_cost"] for one in found["candidates"]]
    assert 0.0 in costs
    assert any("core-seconds more" in one["verdict"] for one in found["candidates"])
    assert "of the cores that its path needs" in found["models"][0]


def test_a_policy_that_weighs_nothing_says_so(folder: Path) -> None:
    result = run("explain", 3, folder, "--run", 1)
    assert "The history has no candidates" in " ".join(result.stdout.split())
    assert answer("explain", 3, folder, "--run", 1)["candidates"] == []


@pytest.mark.parametrize("decision", ["0", "99", "9" * 5000, "first", "-1", "1.5", "²", ""])
def test_a_decision_that_is_none_is_one_line(decision: str, folder: Path) -> None:
    said = complaint("explain", "--run", 2, "--", decision, folder)
    assert len(said) < 300
    assert "a decision is the number of a round" in said or "has rounds 1 to" in said


def test_model_errors_are_listed_by_run(folder: Path) -> None:
    listed = {one["policy"]: one["model_error"] for one in answer("history", folder / "history.sqlite")["runs"]}
    assert listed["threshold"] == {}
    assert set(listed["mg1"]) == {"parser>counter", "parser>matcher"}
    table = run("history", folder / "history.sqlite", columns=100).stdout
    assert f"{listed['mg1']['parser>matcher']:+.0%}" in table
    assert "model: observed over predicted mean response time, less 1" in " ".join(table.split())


def test_advice_that_was_not_applied_is_explained_with_what_was_in_force(tmp_path: Path) -> None:
    file = runs.written(tmp_path / "history.sqlite", runs.simulated("mg1", "advise"), "advise")
    found = answer("explain", 5, file)
    assert not found["decision"]["applied"]
    path = found["decision"]["paths"]["parser>matcher"]
    assert path["observed"]["mean_s"] is None
    assert path["in_force"]["times_predicted"] == pytest.approx(
        path["in_force"]["observed_mean_s"] / path["in_force"]["predicted_mean_s"]
    )
    said = run("explain", 5, file, columns=100).stdout
    assert "The plan was not applied. Mean response time of the allocation in force" in " ".join(said.split())
    assert re.search(r"parser>matcher +[\d.]+ +[\d.,]+ +[\d.]+", said)
