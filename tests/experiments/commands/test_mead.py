"""``python -m experiments mead-...`` on short traces with cheap policies."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from experiments.mead_paper.kpc import Match, TraceMatches, WindowMatches, kpc_tables
from experiments.mead_paper.tables import TABLE_1, TABLE_2, TABLE_3
from experiments.mead_paper.traces import surprises
from rich.console import Console
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
        "counter_response_s",
        "met",
        "cpu_percent",
        "broken_windows_percent",
        "changes",
        "worst_minute_s",
        "own_load_percent",
        "proven_cpu_percent",
    }


def test_the_published_policy_stands_beside_ours_in_every_table() -> None:
    both = {"mead", "map"}
    for table in (TABLE_1, TABLE_2, TABLE_3):
        assert both <= {name.partition("@")[0] for name in table.policies}
        for cases in table.published.values():
            for numbers in cases.values():
                names = {name.partition("@")[0] for name in numbers}
                assert "mead" in names  # whose numbers MAP/G/1 of the paper are
                assert "map" not in names
    document = answer("mead-table3", "--only", "synt", *SHORT)
    policies = [row["policy"] for row in document["rows"]]
    assert policies[:2] == ["mead@windows=25000", "mead@windows=50000"]
    assert [row["paper"] is not None for row in document["rows"]] == [True] * 3 + [False] * 3


def test_kpc_matches_statistics_and_its_best_and_worst_models_predict(arrivals: Path) -> None:
    (trace,) = answer("mead-kpc", "--trace", f"mine={arrivals}", "--size", "4000", "--duration", "50")["traces"]
    assert [window["start"] for window in trace["windows"]][:2] == [0, 4000]
    for window in trace["windows"]:
        by_name = {match["name"]: match for match in window["matches"]}
        assert ("window before" in by_name) == (window["start"] > 0)
        best, worst, calibrated = (by_name[name] for name in ("KPC, best", "KPC, worst", "calibrated"))
        assert best["scv"] == pytest.approx(1.0, abs=0.1)
        assert best["joint"] < calibrated["joint"]
        assert all(w >= b for b, w in zip(best["response"], worst["response"], strict=True))
        assert 0.4 < best["response"][2] < 2.5


def test_the_tables_of_kpc_name_every_model_on_a_narrow_terminal() -> None:
    names = ("KPC, as ordered", "KPC, best", "KPC, worst", "calibrated", "window before")
    response = (1.0, 2.0, 4.0, 8.0)
    matches = tuple(Match(name, 5, 16, 2.5, 1.0, 1.0, 0.05, response[:: 1 if "KPC" in name else -1]) for name in names)
    trace = TraceMatches("mine", (WindowMatches(0, 50_000, (0.001, 0.01, 0.061, 0.2), matches),))
    console = Console(width=80, file=StringIO(), record=True)
    for part in kpc_tables([trace]):
        console.print(part)
    said = console.export_text()
    for name in names:
        assert said.count(name) >= 2
    assert "61.0 ms at 0.7" in said
    assert "predicts the response time at 0.7 worse in 1" in said  # by a factor of 4, where the other is off by 2


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
        "mead-table1-synt-mean-1-distribution.png",
        "mead-table1-synt-mean-1.png",
        "mead-table1.csv",
        "mead-table1.md",
    ]
    assert sorted(document["files"]) == sorted(str(path) for path in out.iterdir())


def test_figures_are_drawn_without_any_other_file(tmp_path: Path, arrivals: Path) -> None:
    words = ("--trace", f"mine={arrivals}", "--duration", "30", "--plot", str(tmp_path))
    tables = ("--requirement", "p95=1", "--policy", "static", "--no-bounds", "--jobs", "1")
    files = answer("mead-table2", *words, *tables)["files"] + answer("mead-traces", *words)["files"]
    assert sorted(Path(file).name for file in files) == [
        "mead-table2-mine-p95-1-distribution.png",
        "mead-table2-mine-p95-1.png",
        "mead-traces.png",
    ]
    assert sorted(files) == sorted(map(str, tmp_path.iterdir()))
    assert all(Path(file).read_bytes().startswith(b"\x89PNG") for file in files)


def test_traces_show_their_rate_and_their_correlation(arrivals: Path) -> None:
    (course,) = answer("mead-traces", "--trace", f"mine={arrivals}", "--duration", "60")["traces"]
    times_s = np.load(arrivals)
    times_s = times_s[times_s - times_s[0] <= 60.0] - times_s[0]
    counts = [np.count_nonzero((times_s > start) & (times_s <= start + 10)) for start in range(0, 60, 10)]
    assert [10 * rate for rate in course["rate_per_s"]] == pytest.approx(counts[: len(course["rate_per_s"])], abs=1)
    iats_s = np.diff(times_s)
    assert course["acf"][0] == pytest.approx(np.corrcoef(iats_s[:-1], iats_s[1:])[0, 1], abs=0.01)
    assert course["lags"][0] == 1
    assert course["rounds"] == 0  # a minute has no minute behind it


def test_a_window_is_surprised_by_what_it_does_not_hold() -> None:
    """A busy spell every ten minutes, seen by a window that reaches back so far and missed by a shorter one."""
    calm = [np.arange(600.0 * k, 600.0 * (k + 1), 0.5) for k in range(4)]
    spells = [np.linspace(600.0 * k + 330, 600.0 * k + 340, 400, endpoint=False) for k in range(4)]
    times_s = np.sort(np.concatenate([*calm, *spells]))
    short, long = surprises(times_s, 600), surprises(times_s, 2000)
    assert (short, long) == (4, 1)


def test_all_operators_are_free_and_both_paths_have_the_requirement(arrivals: Path) -> None:
    words = ("--trace", f"mine={arrivals}", "--duration", "60", "--jobs", "1", "--free", "--others", "1.2")
    table = ("mead-table1", *words, "--requirement", "mean=0.26", "--policy", "static@share=0.7")
    (row,) = answer(*table)["rows"]
    (one,) = row["runs"]
    assert row["free"]
    assert one["cpu_percent"] == pytest.approx(70.0, abs=1.0)
    assert one["response_s"] < 0.26 < one["counter_response_s"]  # the counter is slower here, and counts as well
    assert not one["met"]
    said = run(*table).stdout
    assert "counter s" in said
    assert "clairvoyant" not in said.partition("response:")[0]


def test_fig3_shows_that_only_maps_follow_bursts(tmp_path: Path, arrivals: Path) -> None:
    words = ("--trace", f"mine={arrivals}", "--duration", "60")
    document = answer("mead-fig3", *words, "--out", str(tmp_path))
    smooth, bursty = document["curves"]
    assert smooth["trace"] == "poisson"
    for point in smooth["points"][:5]:
        for model in ("mg1", "kingman", "kpc", "map"):
            assert point[f"{model}_s"] == pytest.approx(point["measured_s"], rel=0.1)
    off = {
        model: max(abs(np.log(point[f"{model}_s"] / point["measured_s"])) for point in bursty["points"])
        for model in ("mg1", "kingman", "kpc", "map")
    }
    assert off["map"] < off["kpc"] < off["kingman"] < off["mg1"]
    assert (bursty["kpc_states"], bursty["states"]) == (8, 18)
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".md", ".png"}
    assert "kpc_s" in (tmp_path / "mead-fig3.csv").read_text()


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
        (["mead-kpc", "--only", "synt", "--duration", "60"], "--size asks for 50,000"),
        (["mead-table1", "--only", "synt", "--others", "1"], "--others needs --free"),
        (["mead-cost", "--only", "synt", "--policy", "static@speed=1"], "speed"),
        (["mead-table1", "--only", "synt", "--out", "/dev/null/x"], "/dev/null/x"),
    ],
)
def test_mistakes_are_named_in_one_line(words: list[str], what: str) -> None:
    assert what in complaint(*words)
