"""``python -m experiments mead-...`` on short traces with cheap policies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.experiments.program import answer, complaint, run

from mead.queueing import MAP

SHORT = ("--duration", "60", "--jobs", "1", "--no-bounds")


@pytest.fixture(scope="module")
def arrivals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "arrivals.npy"
    iats_s = MAP.two_state(200.0, 20.0).sample(16_000, np.random.default_rng(1))
    np.save(path, np.cumsum(iats_s))
    return path


def test_a_table_reports_every_run_with_the_numbers_of_the_paper_beside() -> None:
    document = answer("mead-table1", "--only", "synt", "--policy", "threshold", "--seeds", "2", *SHORT)
    assert document["experiment"] == "mead-table1"
    assert [row["requirement"] for row in document["rows"]] == [{"mean": 0.1}, {"mean": 0.2}, {"mean": 0.3}]
    first = document["rows"][0]
    assert first["paper"] == {"response_s": 0.122, "cpu_percent": 49.0}
    assert [one["seed"] for one in first["runs"]] == [1, 2]
    assert set(first["runs"][0]) == {
        "seed",
        "response_s",
        "met",
        "cpu_percent",
        "broken_windows_percent",
        "changes",
        "worst_minute_s",
        "own_load_percent",
        "proven_cpu_percent",
    }


def test_the_same_seed_gives_the_same_answer() -> None:
    words = ("mead-table2", "--only", "lm", "--policy", "threshold", "--seed", "7", *SHORT)
    first, again = answer(*words), answer(*words)
    for document in (first, again):
        for row in document["rows"]:
            for one in row["runs"]:
                del one["own_load_percent"]  # CPU time is never the same
    assert first == again


def test_any_trace_and_any_requirement_will_do(arrivals: Path) -> None:
    words = ("--trace", f"mine={arrivals}", "--requirement", "mean=0.3", "--requirement", "p99=2")
    document = answer("mead-table1", *words, "--policy", "static", *SHORT)
    assert [(row["trace"], row["requirement"]) for row in document["rows"]] == [
        ("mine", {"mean": 0.3}),
        ("mine", {"p99": 2.0}),
    ]
    assert document["rows"][0]["paper"] is None
    assert document["rows"][0]["demand_s"] == pytest.approx(0.5 / 200, rel=0.2)
    assert document["rows"][0]["runs"][0]["cpu_percent"] == pytest.approx(60.0)


def test_a_trace_is_read_as_every_command_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "iats.csv"
    path.write_text("gap_ms\n" + "5\n" * 4000)
    words = (
        "--trace",
        f"mine={path}",
        "--iat",
        "--unit",
        "ms",
        "--requirement",
        "mean=1",
        "--policy",
        "static",
        *SHORT,
    )
    assert answer("mead-table1", *words)["rows"][0]["demand_s"] == pytest.approx(0.5 * 0.005)


def test_the_clairvoyant_schedules_stand_beside_the_policies(arrivals: Path) -> None:
    words = ("--trace", f"mine={arrivals}", "--requirement", "mean=0.3", "--duration", "60", "--jobs", "1")
    document = answer("mead-table1", *words, "--policy", "static")
    cpu = {row["policy"]: row["runs"][0]["cpu_percent"] for row in document["rows"]}
    assert cpu["clairvoyant 1 s"] < cpu["clairvoyant 10 s"] < cpu["static"]
    assert all(row["runs"][0]["met"] for row in document["rows"])


def test_a_missing_bellcore_trace_is_skipped_with_a_word_on_standard_error(arrivals: Path) -> None:
    result = run("mead-table3", "--policy", "static", "--requirement", "mean=1", *SHORT)
    assert result.exit_code == 0
    assert "--trace bc=FILE" in result.stderr
    assert "SYNT" in result.stdout
    with_it = run("mead-table3", "--trace", f"bc={arrivals}", "--policy", "static", "--requirement", "mean=1", *SHORT)
    assert with_it.stderr == ""
    assert "Bellcore" in with_it.stdout


def test_files_are_written_where_they_are_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    document = answer(
        "mead-table1",
        "--only",
        "synt",
        "--requirement",
        "mean=1",
        "--policy",
        "static",
        "--out",
        str(out),
        *SHORT,
    )
    assert sorted(path.name for path in out.iterdir()) == [
        "mead-table1-synt-mean-1.png",
        "mead-table1.csv",
        "mead-table1.md",
    ]
    assert sorted(document["files"]) == sorted(str(path) for path in out.iterdir())


def test_fig3_shows_that_only_the_map_follows_bursts(tmp_path: Path, arrivals: Path) -> None:
    words = ("--trace", f"mine={arrivals}", "--duration", "60")
    document = answer("mead-fig3", *words, "--out", str(tmp_path))
    smooth, bursty = document["curves"]
    assert smooth["trace"] == "poisson"
    for point in smooth["points"][:5]:
        assert point["mg1_s"] == pytest.approx(point["measured_s"], rel=0.1)
        assert point["map_s"] == pytest.approx(point["measured_s"], rel=0.1)
    busy = next(point for point in bursty["points"] if point["utilization"] == 0.7)
    assert busy["mg1_s"] < 0.6 * busy["measured_s"]
    assert abs(busy["map_s"] - busy["measured_s"]) < abs(busy["mg1_s"] - busy["measured_s"])
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".md", ".png"}


def test_cost_names_the_steps_and_the_load_of_a_policy(arrivals: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.mead_paper.cost.REPEATS", 1)
    document = answer("mead-cost", "--trace", f"mine={arrivals}", "--duration", "20.5", "--policy", "threshold")
    (costs,) = document["costs"]
    assert any("fit" in step["name"] and step["paper"] for step in costs["steps"])
    assert all(step["seconds"] > 0 for step in costs["steps"])
    assert [(loop["policy"], loop["requirement"], loop["rounds"]) for loop in costs["loops"]] == [
        ("threshold", "mean=0.3", 2),
        ("threshold", "p95=0.5", 2),
    ]


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "name an experiment"),
        (["mead-table9"], "mead-table9"),
        (["mead-table1", "--trace", "arrivals.csv"], "NAME=FILE"),
        (["mead-table1", "--trace", "x=missing.csv"], "no such file"),
        (["mead-table1", "--trace", "synt=a.csv"], "takes no file"),
        (["mead-table1", "--only", "nothing"], "nothing"),
        (["mead-table1", "--only", "synt", "--requirement", "fast"], "mean=0.3"),
        (["mead-table1", "--only", "synt", "--policy", "nobody"], "nobody"),
        (["mead-table1", "--only", "bc"], "the Bellcore trace is not part of this program; give it by --trace bc=FILE"),
        (["mead-fig3", "--only", "bc", "--only", "synt"], "give it by --trace bc=FILE"),
        (["mead-table1", "--requirement", "fast"], "mean=0.3"),
        (["mead-table1", "--policy", "nobody"], "nobody"),
        (["mead-cost", "--policy", "nobody"], "nobody"),
        (["mead-cost", "--only", "synt", "--policy", "static@speed=1"], "speed"),
        (["mead-table1", "--only", "synt", "--out", "/dev/null/x"], "/dev/null/x"),
    ],
)
def test_mistakes_are_named_in_one_line(words: list[str], what: str) -> None:
    assert what in complaint(*words)
