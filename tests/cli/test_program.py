"""The program as a whole: output, errors and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.cli.program import PROGRAM, Word, complaint, run, started
from tests.paths import EXAMPLES
from typer.main import get_command

import mead
from mead.cli import app
from mead.queueing import MAP


@pytest.fixture(scope="module")
def bursty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces") / "bursty.npy"
    np.save(path, np.cumsum(MAP.two_state(100.0, idc=50.0).sample(6_000, np.random.default_rng(1))))
    return path


def test_version() -> None:
    assert run("--version").stdout == f"mead {mead.__version__}\n"


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_lists_the_commands_that_exist(words: list[str]) -> None:
    result = run(*words)
    assert result.exit_code == 0
    listed = {line.split()[1] for line in result.stdout.split("Commands")[1].splitlines() if line.startswith("│ ")}
    exist = set(get_command(app).commands)  # type: ignore[attr-defined]
    assert {"generate", "fit", "solve", "simulate", "plan", "evaluate", "history"} <= exist
    assert exist <= listed
    assert not listed & ({"demo", "run", "allocate", "characterize", "report", "doctor"} - exist)


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
        (["generate"], "mead generate: name a kind of arrivals: poisson, map, "),
        (
            ["generate", "white-noise"],
            "mead generate: unknown kind of arrivals 'white-noise'; choose from poisson",
        ),
        (["generate", "poisson", "--rate", "5"], "mead generate poisson: Missing option '--output'"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], said: str) -> None:
    assert complaint(*words).startswith(said)


def test_process_prints_json_and_nothing_else(bursty: Path, tmp_path: Path) -> None:
    commands: list[list[Word]] = [
        ["fit", bursty, "--window", "1000", "--json"],
        ["solve", EXAMPLES / "solve-log-analysis.json", "--json"],
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
                [PROGRAM, "solve", EXAMPLES / "solve-mmk.json", *words],
                check=False,
                stdout=full,
                stderr=subprocess.PIPE,
            )
        assert process.returncode == 2
        assert process.stderr == b"mead: standard output: No space left on device\n"


def test_process_survives_a_reader_that_leaves() -> None:
    with subprocess.Popen(
        [PROGRAM, "solve", EXAMPLES / "solve-log-analysis.json", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
