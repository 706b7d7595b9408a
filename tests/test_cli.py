"""The program as people and scripts meet it: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import mead
from mead.cli import app
from mead.models.map import MAP
from mead.workload.files import read_trace
from mead.workload.generators.registry import KINDS

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).with_name("mead")
Word: TypeAlias = str | Path
ONE_QUEUE = json.loads((ROOT / "examples/solve-one-queue.json").read_text())


def run(*words: Word, stdin: str | bytes | None = None) -> Result:
    """The program in this process, on a terminal of 80 columns."""
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin, env={"COLUMNS": "80"})


def answer(*words: Word, stdin: str | bytes | None = None) -> Any:
    """The one document that a command prints with --json."""
    result = run(*words, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=pytest.fail)  # NaN and Infinity are not JSON


def complaint(*words: Word, stdin: str | bytes | None = None) -> str:
    """The one line that a command says about bad input."""
    result = run(*words, stdin=stdin)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    return result.stderr.rstrip("\n")


def started(*words: Word, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The program as a process of its own."""
    return subprocess.run([PROGRAM, *words], input=stdin, check=False, capture_output=True)


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "bursty.npy"
    np.save(path, np.cumsum(MAP.two_state(100.0, idc=50.0).sample(6_000, np.random.default_rng(1))))
    return path


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "shuffled.csv"
    path.write_text("when_s,size\n" + "".join(f"{(7 * i) % 100}.5,9\n" for i in range(100)))
    return path


# -- the program ------------------------------------------------------------------------------------------------------


def test_version() -> None:
    assert run("--version").stdout == f"mead {mead.__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_lists_the_commands_that_exist(words: list[str]) -> None:
    result = run(*words)
    assert result.exit_code == 0
    listed = {line.split()[1] for line in result.stdout.split("Commands")[1].splitlines() if line.startswith("│ ")}
    assert {"generate", "fit", "solve", "simulate", "plan", "evaluate", "history"} <= listed
    assert not listed & {"demo", "run", "allocate", "characterize", "report", "doctor"}


def test_help_is_there_before_anything_slow_is_loaded() -> None:
    probe = (
        "import sys, mead.cli\n"
        "try: mead.cli.app(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(', '.join({'numpy', 'scipy', 'numba', 'pyarrow', 'matplotlib'} & set(sys.modules)) or 0)"
    )
    process = subprocess.run([sys.executable, "-c", probe], check=False, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frobnicate"], "mead: No such command 'frobnicate'."),
        (["fitt"], "mead: No such command 'fitt'. Did you mean 'fit'?"),
        (["--wrong"], "mead: No such option: --wrong"),
        (["fit"], "mead fit: Missing argument 'TRACE'."),
        (["fit", "x.csv", "--window", "many"], "mead fit: Invalid value for '--window'"),
        (["fit", "x.csv", "--window", "0"], "mead fit: Invalid value for '--window'"),
        (["fit", "x.csv", "--fitter", "guess"], "mead fit: Invalid value for '--fitter'"),
        (["fit", "x.csv", "--unit", "h"], "mead fit: Invalid value for '--unit': 'h' is not one of 's', 'ms'"),
        (["fit", "."], "mead fit: .: is a folder; name a file"),
        (["solve"], "mead solve: Missing argument 'CASE'."),
        (["solve", "a.json", "b.json"], "mead solve: Got unexpected extra argument"),
        (["generate"], "mead generate: which kind of arrivals? One of poisson, map, "),
        (
            ["generate", "white-noise"],
            "mead generate: there is no kind of arrivals 'white-noise'; the kinds are poisson",
        ),
        (["generate", "poisson", "--rate", "5"], "mead generate poisson: Missing option '--output'"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], said: str) -> None:
    assert complaint(*words).startswith(said)


# -- fit --------------------------------------------------------------------------------------------------------------


def test_fit_answers_for_every_window_in_order(bursty: Path) -> None:
    document = answer("fit", bursty, "--window", "5000", "--window", "2000", "--best", "2")
    assert [window["size"] for window in document["windows"]] == [5000, 2000]
    for window in document["windows"]:
        assert 1 <= len(window["maps"]) <= 2
        assert window["seconds"] > 0
        best = MAP(window["maps"][0]["D0"], window["maps"][0]["D1"])
        fitted_to = window["trace_used"] or window["trace"]  # a jump of the rate cuts the shorter window
        assert best.rate_per_s == pytest.approx(fitted_to["rate_per_s"], rel=1e-3)


def test_one_window_option_takes_several_sizes(bursty: Path) -> None:
    orders: list[list[Word]] = [["--window", "2000", "300", bursty], [bursty, "--window", "2000", "300", "--best", "1"]]
    for words in orders:
        assert [window["size"] for window in answer("fit", *words)["windows"]] == [2000, 300]


def test_default_windows_use_what_is_there(bursty: Path) -> None:
    windows = answer("fit", bursty, "--best", "1")["windows"]
    assert [window["size"] for window in windows] == [5999]
    assert "only 5999 of the 50000" in windows[0]["note"]


def test_same_seed_gives_the_same_fit(bursty: Path) -> None:
    def fitted(seed: str, fitter: str) -> Any:
        (window,) = answer("fit", bursty, "--window", "1000", "--seed", seed, "--fitter", fitter)["windows"]
        return window["maps"]

    for fitter in ("calibrated", "kpc"):
        assert fitted("1", fitter) == fitted("1", fitter) != fitted("2", fitter)


def test_fit_reads_iats_columns_and_units(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("size,gap\n" + "9,250\n" * 300)
    words: list[Word] = ["fit", path, "--iat", "--column", "gap", "--unit", "ms", "--window", "300"]
    assert answer(*words)["windows"][0]["trace"]["rate_per_s"] == pytest.approx(4.0)


def test_fit_sorts_on_request(shuffled: Path) -> None:
    words: list[Word] = ["fit", shuffled, "--column", "when_s", "--window", "99"]
    assert complaint(*words).startswith(f"mead fit: {shuffled}: row 16: time stamp 5.5 s is before the one above it")
    assert answer(*words, "--sort")["windows"][0]["trace"]["rate_per_s"] == pytest.approx(1.0)


def test_fit_table_fits_a_terminal(bursty: Path) -> None:
    result = run("fit", bursty, "--window", "5000", "300", "100")
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "The last 5,000 IATs" in result.stdout
    assert "bursts(" in result.stdout
    assert "Response time in ms" in result.stdout
    assert "too few to see burstiness" in result.stdout


def test_too_little_data_is_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "same.csv"
    path.write_text("3.0\n3.0\n")
    assert run("fit", path).stdout.startswith("The last IAT, 0 s")
    path.write_text("3.0\n3.0\n3.0\n")
    (window,) = answer("fit", path)["windows"]
    assert window["maps"] == []
    assert window["fitted"] is None
    assert "nothing to fit" in window["note"]
    assert "nothing to fit" in run("fit", path).stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such file"),
        ("", "no arrivals; the file is empty"),
        ("timestamp_s\n", "no arrivals; the file has a header and nothing else"),
        ("1.0\n", "only one arrival; a trace needs at least two"),
        ("1.0\nnan\n2.0\n", "row 2: time stamp is nan"),
        ("1.0\nlater\n2.0\n", "row 2: 'later' is not a number"),
        ("1.0\n-2.0\n", "row 2: time stamp -2.0 s is negative"),
        ("1.0\n\x00\x01\n", "this is not text"),
        (
            "1700000000000\n1700000000250\n",
            "the last time stamp is 1.7e+12 s, too far away; check the unit of the file (--unit)",
        ),
    ],
)
def test_fit_names_what_is_wrong_with_a_trace(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "arrivals.csv"
    if text is not None:
        path.write_text(text)
    for mode in ([], ["--json"]):
        assert complaint("fit", path, *mode).startswith(f"mead fit: {path}: {said}")


def test_fit_checks_the_plot_before_the_work(bursty: Path, tmp_path: Path) -> None:
    assert "must end in one of .png, .pdf, .svg" in complaint("fit", bursty, "--plot", tmp_path / "fit.doc")
    assert "there is no folder" in complaint("fit", bursty, "--plot", tmp_path / "none/fit.png")
    (tmp_path / "folder.png").mkdir()
    assert "is a folder" in complaint("fit", bursty, "--plot", tmp_path / "folder.png")
    if Path("/proc").is_dir():  # a folder in which nobody can make a file, not even root
        assert complaint("fit", "no-such.npy", "--plot", "/proc/fit.png").startswith(
            "mead fit: /proc/fit.png: cannot be written"
        )


def test_a_plot_that_fails_after_all_is_a_complaint(bursty: Path, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "fit.png").symlink_to("/dev/full")
    words: list[Word] = ["fit", bursty, "--window", "300", "--plot", tmp_path / "fit.png"]
    assert complaint(*words).endswith("fit.png: cannot be written (No space left on device)")


def test_fit_draws_and_still_prints_json(bursty: Path, tmp_path: Path) -> None:
    picture = tmp_path / "fit.png"
    assert answer("fit", bursty, "--window", "1000", "--plot", picture)["windows"]
    assert picture.read_bytes().startswith(b"\x89PNG")


# -- solve ------------------------------------------------------------------------------------------------------------


def test_solve_answers_the_examples() -> None:
    for path in sorted((ROOT / "examples").glob("solve-*.json")):
        document = answer("solve", path)
        assert set(document) == {"operators", "paths"}
        assert all("stable" in entry for part in document.values() for entry in part.values())


def test_solve_reads_standard_input() -> None:
    assert answer("solve", "-", stdin=json.dumps(ONE_QUEUE)) == answer("solve", ROOT / "examples/solve-one-queue.json")
    assert complaint("solve", "-", stdin="{}").startswith("mead solve: standard input: arrival: is missing")


def test_solve_table_shows_operators_and_paths() -> None:
    lines = run("solve", ROOT / "examples/solve-log-analysis.json").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("matcher ") for line in lines)
    assert any(line.startswith("path parser>matcher ") for line in lines)


def test_names_are_shown_as_they_are_spelt() -> None:
    (operator,) = ONE_QUEUE["operators"]
    case = ONE_QUEUE | {"operators": [operator | {"name": "é [red]x"}]}
    lines = run("solve", "-", stdin=json.dumps(case)).stdout.splitlines()
    assert any(line.startswith("é [red]x ") for line in lines)
    assert any(line.startswith("path é [red]x ") for line in lines)


def test_overload_is_an_answer() -> None:
    result = run("solve", ROOT / "examples/solve-unstable.json")
    assert result.exit_code == 0
    assert result.stdout.count("overloaded") == 2
    document = answer("solve", ROOT / "examples/solve-unstable.json")
    assert document["paths"]["parser>matcher"] == {"stable": False, "utilization": pytest.approx(1.2375)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ('{"arrival": ', "not JSON"),
        ("[]", "must be an object"),
        (json.dumps(ONE_QUEUE | {"arrival": {"rate_per_s": float("nan"), "scv": 1}}), "arrival.rate_per_s: must be"),
        (
            json.dumps(ONE_QUEUE | {"edges": [["matcher", "sink"]]}),
            "edges: the edge 'matcher' to 'sink' names an unknown",
        ),
        (json.dumps(ONE_QUEUE | {"edges": [["matcher", "matcher"]]}), "edges: the edges must not lead back"),
        (json.dumps(ONE_QUEUE | {"operators": [{"name": "a\nb"}]}), "operators[0]: mean_service_s is missing"),
    ],
)
def test_solve_names_what_is_wrong_with_a_case(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(text)
    assert complaint("solve", path).startswith(f"mead solve: {path}: {said}")


def test_solve_names_a_missing_file(tmp_path: Path) -> None:
    assert "no.json: cannot be read (No such file or directory)" in complaint("solve", tmp_path / "no.json")
    assert "cannot be read (Is a directory)" in complaint("solve", tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(*path, key) for key in keys] + [place for key in keys for place in places(value[key], (*path, key))]


@st.composite
def damaged_cases(draw: st.DrawFn) -> Any:
    """The largest example with a few of its values replaced by anything, or left out."""
    case = json.loads((ROOT / "examples/solve-tandem.json").read_text())
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(places(case)))
        holder = case
        for key in path:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(json_values)
        else:
            del holder[last]
        if not places(case):
            break
    return case


@given(damaged_cases())
@settings(max_examples=200)
def test_a_damaged_case_is_answered_or_refused_in_one_line(case: Any) -> None:
    result = run("solve", "-", "--json", stdin=json.dumps(case))
    if result.exit_code == 0:
        json.loads(result.stdout, parse_constant=pytest.fail)
    else:
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_one_line(text: bytes) -> None:
    result = run("solve", "-", stdin=text)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output


# -- generate ---------------------------------------------------------------------------------------------------------


def test_generate_help_teaches_the_kinds() -> None:
    text = " ".join(run("generate", "--help").stdout.replace("│", " ").split())
    for kind in KINDS.values():
        assert kind.name in text
        assert kind.summary in text
    assert "mead generate map --rate 330 --idc 200" in text


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_generate_help_lists_the_options_of_a_kind(kind: Any) -> None:
    words = run("generate", kind.name, "--help").stdout.split()
    for parameter in kind.parameters:
        assert parameter.flag in words


GENERATED = {
    "poisson": ["--rate", "330", "--duration", "20"],
    "map": ["--rate", "330", "--idc", "200", "--duration", "20"],
    "self-similar": ["--rate", "5000", "--hurst", "0.7", "--duration", "2"],
    "random-walk": ["--count", "5000"],
    "steps": ["--rates", "100,400,0,200", "--step", "5"],
    "synt": ["--duration", "20"],
    "live-maps": ["--duration", "20"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_generate_writes_what_it_says(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    document = answer("generate", kind, *GENERATED[kind], "--seed", "3", "-o", path)
    trace = read_trace(path)
    assert document == {
        "path": str(path),
        "events": len(trace),
        "span_s": pytest.approx(trace.duration_s),
        "rate_per_s": pytest.approx(trace.rate_per_s),
    }
    first = path.read_bytes()
    assert f"{len(trace):,} arrivals in " in run("generate", kind, *GENERATED[kind], "--seed", "3", "-o", path).stdout
    assert path.read_bytes() == first
    answer("generate", kind, *GENERATED[kind], "--seed", "4", "-o", path)
    assert path.read_bytes() != first


def test_generate_draws_from_the_best_model_of_a_fit(bursty: Path, tmp_path: Path) -> None:
    fit = run("fit", bursty, "--window", "5000", "--best", "1", "--json").stdout
    (tmp_path / "fit.json").write_text(fit)
    best = json.loads(fit)["windows"][0]["maps"][0]
    (tmp_path / "map.json").write_text(json.dumps({"D0": best["D0"], "D1": best["D1"]}))
    rows = ["--d0", json.dumps(best["D0"]), "--d1", json.dumps(best["D1"])]
    traces = []
    for words in (["--matrices", tmp_path / "fit.json"], ["--matrices", tmp_path / "map.json"], rows):
        answer("generate", "map", *words, "--count", "2000", "-o", tmp_path / "again.npy")
        traces.append(np.load(tmp_path / "again.npy").tolist())
    assert traces[0] == traces[1] == traces[2]


def test_generate_delays_tuples(tmp_path: Path) -> None:
    path = tmp_path / "late.parquet"
    answer("generate", "poisson", "--rate", "100", "--count", "5000", "--mean-delay", "0.2", "-o", path)
    table = pq.read_table(path)
    delays_s = (table["timestamp_us"].to_numpy() - table["event_timestamp_us"].to_numpy()) / 1e6
    assert delays_s.min() >= 0
    assert delays_s.max() <= 0.4
    assert delays_s.mean() == pytest.approx(0.2, rel=0.05)


def test_generate_writes_iats_that_fit_can_read(tmp_path: Path) -> None:
    path = tmp_path / "gaps.csv"
    answer("generate", "poisson", "--rate", "100", "--count", "1001", "--iat", "-o", path)
    assert answer("fit", path, "--iat", "--window", "1000")["windows"][0]["size"] == 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["poisson", "--rate", "5"], "give either a duration or a count"),
        (["poisson", "--rate", "5", "--count", "9", "--duration", "9"], "give either a duration or a count"),
        (["poisson", "--rate", "-5", "--count", "9"], "--rate must be a finite number above 0; got -5"),
        (["poisson", "--rate", "nan", "--count", "9"], "--rate must be a finite number above 0; got nan"),
        (["poisson", "--rate", "fast", "--count", "9"], "--rate cannot be read from 'fast'; mean arrivals per second"),
        (["poisson", "--rate", "5", "--count", "1"], "count must be at least 2"),
        (["poisson", "--count", "9"], "Missing option '--rate'."),
        (["poisson", "--rate", "5", "--count", "9", "--hurst", "0.7"], "No such option: --hurst"),
        (["poisson", "--rate", "5", "--count", "9", "--mean-delay", "-1"], "Invalid value for '--mean-delay'"),
        (["poisson", "--rate", "5", "--count", "9", "--mean-delay", "nan"], "Invalid value for '--mean-delay'"),
        (["poisson", "--rate", "5", "--count", "9", "--seed", "-1"], "Invalid value for '--seed'"),
        (["poisson", "--rate", "0.001", "--duration", "1"], "no arrivals; a trace needs at least two"),
        (["map", "--rate", "5", "--count", "9"], "a MAP needs either --rate and idc, or both matrices D0 and D1"),
        (["map", "--rate", "5", "--idc", "0.5", "--count", "9"], "a two-state MAP needs"),
        (["map", "--d0", "[[-1, 2]]", "--d1", "[[1]]", "--count", "9"], "D0 and D1 must be square"),
        (["map", "--d0", "[[-1]", "--d1", "[[1]]", "--count", "9"], "--d0 cannot be read from '[[-1]'"),
        (["map", "--matrices", "none.json", "--count", "9"], "none.json: cannot be read"),
        (["self-similar", "--rate", "500", "--hurst", "0.4", "--count", "9"], "hurst must lie between 0.5 and 1"),
        (["steps", "--rates", "1,two"], "--rates cannot be read from '1,two'"),
        (["map", "--d0", '{"a": 1}', "--d1", "[[1]]", "--count", "9"], "--d0 cannot be read from '{\"a\": 1}'"),
        (["map", "--d0", '"a"', "--d1", "[[1]]", "--count", "9"], "--d0 cannot be read from '\"a\"'"),
        (["map", "--d0", "[[-1]]", "--d1", "[[true]]", "--count", "9"], "--d1 cannot be read from '[[true]]'"),
        (["map", "--d0", "[[-1, 0], [0]]", "--d1", "[[1]]", "--count", "9"], "--d0 cannot be read"),
        (["map", "--d0", "[[-1]]", "--d1", f"[[{10**400}]]", "--count", "9"], "--d1 cannot be read"),
        (["map", "--d0", "[[-1]]", "--matrices", "a.json", "--count", "9"], "--matrices already gives both matrices"),
        (["poisson", "--rate", "5", "--count", "9", "--iat", "--mean-delay", "1"], "inter-arrival times leave no room"),
        (["self-similar", "--rate", "100", "--hurst", "0.8", "--slot", "0.001", "--count", "9"], "--slot is too short"),
        (["poisson", "--rate", "1e12", "--count", "5"], "all 5 arrivals fall into the same microsecond"),
        (
            ["poisson", "--rate", "1e9", "--duration", "1e9"],
            "these would be 1e+18 arrivals, and a trace can have 1e+09",
        ),
        (["poisson", "--rate", "5", "--count", "1000000000000000"], "these would be 1e+15 arrivals"),
        (["steps", "--rates", "1e20"], "these would be 3e+21 arrivals"),
        (["synt", "--duration", "1e9"], "these would be "),
        (["live-maps", "--duration", "1e9"], "these would be 3.22e+11 arrivals"),
        (["random-walk", "--phase", "1e9", "--count", "9"], "these would be 6.25e+13 arrivals"),
        (["poisson", "--rate", "5", "--count", "9", "--mean-delay", "1e300"], "the mean delay must lie between 0 and"),
    ],
)
def test_generate_names_the_wrong_option(words: list[str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    assert complaint("generate", *words, "-o", path).startswith(f"mead generate {words[0]}: {said}")
    assert not path.exists()


def test_generate_checks_the_file_before_the_work(tmp_path: Path) -> None:
    words = ["generate", "poisson", "--rate", "5", "--count", "9", "-o"]
    assert "there is no folder" in complaint(*words, tmp_path / "none/trace.csv")
    assert "must end in one of .parquet" in complaint(*words, tmp_path / "trace.doc")


# -- as a process -----------------------------------------------------------------------------------------------------


def test_process_prints_json_and_nothing_else(bursty: Path, tmp_path: Path) -> None:
    commands: list[list[Word]] = [
        ["fit", bursty, "--window", "1000", "--json"],
        ["solve", ROOT / "examples/solve-log-analysis.json", "--json"],
        ["generate", "poisson", "--rate", "9", "--count", "9", "--json", "-o", tmp_path / "t.csv"],
    ]
    for words in commands:
        process = started(*words)
        assert process.returncode == 0, process.stderr
        assert process.stderr == b""
        assert process.stdout.count(b"\n") == 1
        json.loads(process.stdout)


@pytest.mark.parametrize(
    "words", [["fit", "no-such.parquet"], ["solve", "no-such.json"], ["generate", "poisson"], ["solve", "--nonsense"]]
)
def test_process_ends_with_2_and_one_line(words: list[str]) -> None:
    process = started(*words)
    assert process.returncode == 2
    assert process.stdout == b""
    assert process.stderr.startswith(b"mead ")
    assert process.stderr.count(b"\n") == 1


def test_process_says_when_its_output_has_no_room() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    for words in (["--json"], []):
        with Path("/dev/full").open("wb") as full:
            process = subprocess.run(
                [PROGRAM, "solve", ROOT / "examples/solve-mmk.json", *words],
                check=False,
                stdout=full,
                stderr=subprocess.PIPE,
            )
        assert process.returncode == 2
        assert process.stderr == b"mead: standard output: No space left on device\n"


def test_process_survives_a_reader_that_leaves() -> None:
    with subprocess.Popen(
        [PROGRAM, "solve", ROOT / "examples/solve-log-analysis.json", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
