"""``python -m experiments arena`` and ``python -m experiments hybrid`` as people and scripts meet them."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tests.experiments.program import answer, complaint, run

pytestmark = pytest.mark.slow

QUICK = ("--duration", 60, "--seeds", 1, "--jobs", 1)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no recorded arrivals lie about."""
    monkeypatch.chdir(tmp_path)


def test_one_document_holds_the_board_the_workloads_and_the_bounds(tmp_path: Path) -> None:
    document = answer(
        *("arena", "--workload", "walk", "--policy", "static", "--policy", "ds2", *QUICK),
        *("--requirement", "mean=0.5", "--out", tmp_path / "out"),
    )
    assert [one["rank"] for one in document["board"]] == [1, 2]
    assert {one["policy"] for one in document["workloads"]["walk"]} == {"static", "ds2"}
    (bound,) = document["bounds"]
    assert (bound["workload"], bound["requirement"], bound["seed"]) == ("walk", "mean=0.5", 11)
    assert 0.4 <= bound["cores"] <= min(one["cores"] for one in document["board"] if one["met"])
    assert document["files"] == [str(tmp_path / "out/arena.csv"), str(tmp_path / "out/arena.html")]
    assert all(Path(path).stat().st_size > 100 for path in document["files"])


def test_tables_say_how_they_rank() -> None:
    shown = run("arena", "--workload", "crowd", "--policy", "static", "--no-bounds", *QUICK).stdout
    assert "1. static" in shown
    assert "A policy is dependable if it meets at least 95%" in " ".join(shown.split())


def test_both_knobs_are_shown_beside_each_alone() -> None:
    document = answer("hybrid", *QUICK)
    policies = "adaptive", "drs", "drs@t_ra_s=60", "pasps", "hybrid"
    assert {(one["workload"], one["policy"]) for one in document["runs"]} == set(product(("heavy", "light"), policies))
    alone = [one for one in document["runs"] if one["policy"] == "adaptive"]
    assert {one["replicas"] for one in alone} == {1.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workload", "nope"), "there is no workload 'nope'; there are synt, lm, "),
        (("--workload", "bc"), "give --trace bc=FILE"),
        (("--policy", "nope"), "there is no policy 'nope'"),
        (("--requirement", "p95"), "requirement 'p95'"),
        (("--trace", "synt=x.csv"), "write it as bc=FILE or logs=FILE"),
        (("--trace", "bc=missing.parquet"), "missing.parquet"),
        (("--trace", "logs=missing.csv"), "missing.csv: cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words: tuple[str, str], said: str) -> None:
    assert said in complaint("arena", *words, *QUICK)
