"""``mead plan`` as a user meets it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import answer, run
from tests.paths import EXAMPLES

from mead.policies import policy_names
from mead.queueing import MAP

LOG_ANALYSIS = EXAMPLES / "log-analysis.yaml"


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "bursty.npy"
    np.save(path, np.cumsum(MAP.two_state(330.0, idc=60.0).sample(12_000, np.random.default_rng(1))))
    return path


def test_the_document_has_every_policy_and_a_frontier(bursty: Path) -> None:
    document = answer("plan", LOG_ANALYSIS, "--trace", bursty)
    assert [entry["policy"] for entry in document["policies"]] == policy_names()
    for entry in document["policies"]:
        assert entry.keys() >= {"allocation", "cores", "cores_total", "predicted", "simulated", "met", "reason"}
        assert entry["simulated"].keys() == {"parser>counter", "parser>matcher"}
        assert entry["cores_total"] == pytest.approx(sum(entry["cores"].values()))
    replay = next(entry for entry in document["policies"] if entry["policy"] == "replay")
    assert replay["predicted"]["parser>matcher"].keys() == {"stable", "mean_s", "p95_s"}
    required = next(point for point in document["frontier"] if point["factor"] == 1)
    assert required["required"] == {"parser>matcher": {"mean_s": 0.3}}
    assert required.keys() >= {"allocation", "cores_total", "predicted", "met"}
    assert document["window"]["tuples"] == 12_000


def test_only_the_policies_that_are_asked_for_answer_each_once(bursty: Path) -> None:
    document = answer("plan", LOG_ANALYSIS, "-t", bursty, "--policy", "mg1", "--policy", "static", "--policy", "mg1")
    assert [entry["policy"] for entry in document["policies"]] == ["mg1", "static"]


def test_the_options_of_the_file_count_for_its_policy(bursty: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(LOG_ANALYSIS.read_text().split("policy:")[0] + "policy: {name: static, share: 0.55}")
    allocation = answer("plan", file, "-t", bursty, "--policy", "static")["policies"][0]["allocation"]
    assert {entry["share"] for entry in allocation.values()} == {0.55}


def test_the_tables_fit_a_terminal_and_show_what_was_asked(bursty: Path) -> None:
    result = run("plan", LOG_ANALYSIS, "-t", bursty, "--policy", "threshold", "--policy", "mg1")
    assert result.exit_code == 0
    for words in (
        "log-analysis after the last",
        "Choice of each policy",
        "Response time on parser>matcher",
        "threshold names no allocation: it reacts to the load",
        "Cheapest allocation for other bounds",
        "mean 0.300 s",
    ):
        assert words in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_overload_and_missing_answers_are_said_in_words(bursty: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(
        "name: x\noperators: [{name: a, demand_s: 1e-4, batch: {overhead_s: 0.1}}, {name: b, demand_s: 0.5}]\n"
        "edges: [[a, b]]\n"
    )
    result = run("plan", file, "-t", bursty, "--policy", "map", "--policy", "static", columns=200)
    assert "map has no answer: " in result.stdout
    assert "overload" in result.stdout
    assert "There are no costs of other bounds" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "mapp"], "mead plan: there is no policy 'mapp'; did you mean map?"),
        (["--iat", "--sort"], "inter-arrival times have no order to repair"),
        (["--seed", "-1"], "mead plan: Invalid value for '--seed'"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], said: str, bursty: Path) -> None:
    result = run("plan", LOG_ANALYSIS, "--trace", bursty, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_trace_without_a_rate_is_refused_in_one_line(tmp_path: Path) -> None:
    trace = tmp_path / "same.csv"
    trace.write_text("1.5\n" * 300)
    result = run("plan", LOG_ANALYSIS, "--trace", trace)
    assert result.exit_code == 2
    assert "all 300 arrivals have the same time stamp, so there is no rate" in result.stderr
