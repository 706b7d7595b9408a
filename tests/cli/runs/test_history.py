"""``mead history`` as a user meets it."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.program import Word, answer, complaint, run
from tests.paths import EXAMPLES
from tests.web import runs

from mead.history import History
from mead.values import (
    Allocation,
    Candidate,
    Cause,
    Grounds,
    Note,
    Operator,
    Pipeline,
    Plan,
    Prediction,
    Reason,
    Requirement,
    Round,
)

LOG_ANALYSIS = EXAMPLES / "log-analysis.yaml"


def shown(*words: Word) -> str:
    result = run("history", *words, columns=100)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "arrivals.npy"
    np.save(path, np.cumsum(np.random.default_rng(1).exponential(1 / 300, 30_000)))
    return path


@pytest.fixture(scope="module")
def simulated(trace: Path) -> dict[str, Any]:
    """What the two simulations said themselves, by policy."""
    documents = {}
    for policy in ("threshold", "mg1"):
        words = ("--policy", policy, "--option", "interval_s=10", "--history", trace.with_name("past.sqlite"))
        documents[policy] = answer("simulate", LOG_ANALYSIS, "--trace", trace, *words)
    return documents


@pytest.fixture
def past(trace: Path, simulated: dict[str, Any]) -> Path:
    assert simulated
    return trace.with_name("past.sqlite")


def test_runs_are_listed(past: Path, simulated: dict[str, Any]) -> None:
    listed = answer("history", past)["runs"]
    assert [(one["run"], one["name"], one["policy"]) for one in listed] == [
        (1, "log-analysis", "threshold"),
        (2, "log-analysis", "mg1"),
    ]
    assert all(one["finished"] and one["workload"] == "arrivals.npy, seed 0" for one in listed)
    assert listed[0]["options"]["interval_s"] == 10.0
    assert [one["changes"] for one in listed] == [simulated[one["policy"]]["changes"] for one in listed]
    table = shown(past)
    assert "threshold" in table
    assert "mg1" in table


def test_decisions_are_those_of_the_run(past: Path, simulated: dict[str, Any]) -> None:
    document = answer("history", past, "--run", 2)
    assert document["run"]["policy"] == "mg1"
    told = simulated["mg1"]["timeline"][1:]
    assert [(d["time_s"], d["after"], d["reason"]) for d in document["decisions"]] == [
        (entry["time_s"], entry["allocation"], entry["reason"]) for entry in told
    ]
    for decision, entry in zip(document["decisions"], told, strict=True):
        assert decision["paths"]["parser>matcher"]["predicted"] == entry["predicted"]["parser>matcher"]
    assert all(d["paths"]["parser>matcher"]["observed"]["completed"] > 0 for d in document["decisions"][:-1])


def test_changes_are_those_decisions_that_changed_something(past: Path) -> None:
    everything, changes = (
        answer("history", past, "--run", 1)["decisions"],
        answer("history", past, "--run", 1, "--changes")["decisions"],
    )
    assert 0 < len(changes) < len(everything)
    assert [d["round"] for d in changes] == [d["round"] for d in everything if d["before"] != d["after"]]


def test_a_table_shows_the_last_decisions_and_says_that_there_are_more(past: Path) -> None:
    table = shown(past, "--run", "-1", "--limit", 2)
    assert "Run 2, log-analysis under mg1" in table
    assert "The last 2 of 9; --limit shows more." in table
    assert "80" in table
    assert "until the next decision" in table
    changes = " ".join(shown(past, "--run", 2, "--changes").split())
    assert "Lower parser from 1.0 to 0.85 cores and counter from 1.0 to" in changes


def test_times_of_a_live_run_are_shown_to_a_tenth_of_a_second(tmp_path: Path) -> None:
    with History.open(tmp_path / "live.sqlite") as history:
        record = history.begin(
            "live", Pipeline("live", [Operator("one", 0.001)]), policy="static", started=runs.STARTED
        )
        for time_s in (13.0001427, 14.26):
            record(Round(time_s=time_s))
    table = shown(tmp_path / "live.sqlite", "--run", 1)
    assert re.findall(r"^ *[12] +([\d.]+)", table, re.MULTILINE) == ["13", "14.3"]


def test_the_default_is_a_file_in_the_current_folder(
    past: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint("history") == (
        "mead history: mead-history.sqlite: there is no such file; a run with --history makes one"
    )
    (tmp_path / "mead-history.sqlite").write_bytes(past.read_bytes())
    assert len(answer("history")["runs"]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mead-history.sqlite"]  # looking leaves nothing behind


def test_old_runs_can_be_forgotten(past: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(past.read_bytes())
    document = answer("history", copy, "--keep", 1)
    assert ([one["run"] for one in document["runs"]], document["forgotten"]) == ([2], 1)
    assert "deleted: 0 runs" in shown(copy, "--keep", 1)
    assert answer("history", copy, "--keep", 1, "--run", "-1")["forgotten"] == 0
    assert copy.stat().st_size < past.stat().st_size
    missing = tmp_path / "missing.sqlite"
    assert "no such file" in complaint("history", missing, "--keep", 1)
    assert not missing.exists()


def test_the_folder_of_a_run_is_as_good_as_its_history(past: Path, tmp_path: Path) -> None:
    (tmp_path / "history.sqlite").write_bytes(past.read_bytes())
    assert answer("history", tmp_path) == answer("history", past)
    assert complaint("history", tmp_path.parent).endswith("there is no such file; a run with --history makes one")


def test_the_hint_names_the_file_and_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = runs.written(Path("other.sqlite"), runs.simulated())  # bursts that M/G/1 does not see coming
    table = " ".join(shown(file, "--run", 1).split())
    hint = re.search(r"`mead (explain) ROUND (\S+) --run (\d+)`", table)
    assert hint, table
    command, named, number = hint.groups()
    found = answer(command, "last", named, "--run", int(number))
    assert found["run"]["started"] == runs.STARTED


def test_a_run_that_only_observed_says_so(tmp_path: Path) -> None:
    pipeline = Pipeline("one", [Operator("a", 0.001)])
    with History.open(tmp_path / "history.sqlite") as history:
        record = history.begin("one", pipeline, policy="static", started=runs.STARTED, mode="observe")
        record(Round(1.0, in_force=pipeline.most))
    assert "observed only" in shown(tmp_path, "--run", 1)
    assert "observed only" in run("explain", "last", tmp_path).stdout


EVIL = "\x1b]0;gone\x07\x1b[2J[bold]x[/nothing]"


def test_names_and_reasons_of_somebody_elses_file_cannot_steer_the_terminal(tmp_path: Path) -> None:
    one = f"{EVIL}one"
    asked = [Requirement(one, 0.5), Requirement(one, 0.9, percent=95.0)]
    pipeline = Pipeline(EVIL, [Operator(one, 0.001)], requirements=asked)
    most, least = pipeline.most, Allocation.of({one: pipeline.operators[0].least})
    candidates = (Candidate(least, (0.7, None)), Candidate(most, (0.1, 0.2)))
    grounds = Grounds((EVIL,), candidates, caution=2.0)
    with History.open(tmp_path / "history.sqlite") as history:
        record = history.begin(EVIL, pipeline, policy=EVIL, started=runs.STARTED, engine=EVIL, workload=EVIL)
        for second, plan in enumerate((most, least, most)):
            decided = Plan(plan, plan, Reason(Cause.UNSAID, (Note(EVIL),)), {one: Prediction(0.1, 0.2)}, grounds)
            record(Round(float(second), plan=decided, error=f"plan: {EVIL}", in_force=plan))
    for words in (("history", tmp_path), ("history", tmp_path, "--run", 1), ("explain", "last", tmp_path)):
        said = run(*words, columns=200)
        assert said.exit_code == 0, said.output
        assert "\x1b" not in said.stdout
        assert "\x07" not in said.stdout
        assert "[bold]" in said.stdout, "a name is text, and no markup"


def test_what_cannot_be_shown_is_one_line(past: Path, trace: Path, tmp_path: Path) -> None:
    assert complaint("history", past, "--run", 7) == (
        f"mead history: {past}: there is no run 7; those that it has are 1 to 2"
    )
    assert complaint("history", trace).endswith("is not a history; name another file")
    assert "--changes and --limit need a run" in complaint("history", past, "--changes")
    for number in (2**63, 10**30):
        assert "should be less than or equal to 1000000000" in complaint(
            "history", past, "--run", "-1", "--limit", number
        )
        assert "should be less than or equal to 1000000000" in complaint("history", past, "--keep", number)
        assert f"there is no run {number}" in complaint("history", past, "--run", number)
    assert complaint("simulate", LOG_ANALYSIS, "--trace", trace, "--history", tmp_path / "none" / "past.sqlite") == (
        f"mead simulate: {tmp_path}/none/past.sqlite: there is no folder {tmp_path}/none; make it first"
    )


def test_a_history_that_another_program_holds_is_said_before_the_simulation(trace: Path, tmp_path: Path) -> None:
    file = tmp_path / "past.sqlite"
    assert run("simulate", LOG_ANALYSIS, "--trace", trace, "--policy", "static", "--history", file).exit_code == 0
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        words = ("--policy", "static", "--history", file)
        message = complaint("simulate", LOG_ANALYSIS, "--trace", trace, *words)
    assert message == f"mead simulate: {file}: cannot be written (database is locked)"


def test_the_model_error_of_a_policy_is_that_of_all_its_runs(tmp_path: Path) -> None:
    file = tmp_path / "past.sqlite"
    for policy, mode in (("mg1", "act"), ("threshold", "act"), ("mg1", "advise"), ("adaptive", "act")):
        runs.written(file, runs.simulated(policy, mode), mode)
    with History.read(file) as history:
        of_runs = [history.checked(number) for number in (1, 3)]
    document = answer("history", file)
    mg1, adaptive = document["policies"]  # a threshold predicts nothing
    assert (mg1["policy"], mg1["runs"]) == ("mg1", 2)
    assert (adaptive["policy"], adaptive["runs"]) == ("adaptive", 1)
    seen_s, expected_s = (
        sum(getattr(one["parser>matcher"], what) for one in of_runs) for what in ("seen_s", "expected_s")
    )
    together = mg1["model_error"]["log-analysis"]
    assert together["parser>matcher"] == pytest.approx(seen_s / expected_s - 1)
    assert set(together) == {"parser>matcher", "parser>counter"}
    alone = document["runs"][3]["model_error"]
    assert adaptive["model_error"]["log-analysis"] == pytest.approx(alone)
    said = " ".join(shown(file).split())
    assert f"model of mg1, 2 runs: log-analysis, parser>counter: {together['parser>counter']:+.0%}; " in said
    assert "model of adaptive, 1 run: " in said
    assert "model of threshold" not in said
