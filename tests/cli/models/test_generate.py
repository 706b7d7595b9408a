"""``mead generate``: output, errors and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.program import answer, complaint, run

from mead.queueing import MAP
from mead.workload import KINDS, read_trace


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "bursty.npy"
    np.save(path, np.cumsum(MAP.two_state(100.0, idc=50.0).sample(6_000, np.random.default_rng(1))))
    return path


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
        (["poisson", "--rate", "fast", "--count", "9"], "--rate: cannot parse 'fast'; mean arrivals per second"),
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
        (["map", "--d0", "[[-1]", "--d1", "[[1]]", "--count", "9"], "--d0: cannot parse '[[-1]'"),
        (["map", "--matrices", "none.json", "--count", "9"], "none.json: cannot be read"),
        (["self-similar", "--rate", "500", "--hurst", "0.4", "--count", "9"], "hurst must lie between 0.5 and 1"),
        (["steps", "--rates", "1,two"], "--rates: cannot parse '1,two'"),
        (["map", "--d0", '{"a": 1}', "--d1", "[[1]]", "--count", "9"], "--d0: cannot parse '{\"a\": 1}'"),
        (["map", "--d0", '"a"', "--d1", "[[1]]", "--count", "9"], "--d0: cannot parse '\"a\"'"),
        (["map", "--d0", "[[-1]]", "--d1", "[[true]]", "--count", "9"], "--d1: cannot parse '[[true]]'"),
        (["map", "--d0", "[[-1, 0], [0]]", "--d1", "[[1]]", "--count", "9"], "--d0: cannot parse"),
        (["map", "--d0", "[[-1]]", "--d1", f"[[{10**400}]]", "--count", "9"], "--d1: cannot parse"),
        (["map", "--d0", "[[-1]]", "--matrices", "a.json", "--count", "9"], "--matrices sets both matrices"),
        (
            ["poisson", "--rate", "5", "--count", "9", "--iat", "--mean-delay", "1"],
            "--iat cannot store the event times",
        ),
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
