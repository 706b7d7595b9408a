"""The program under test: what it answers, what it complains about, in this process and in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.programs import program
from typer import Typer
from typer.testing import CliRunner, Result

from mead.cli import app

PROGRAM = Path(sys.executable).with_name("mead")
Word: TypeAlias = str | Path | int


def run(*words: Word, stdin: str | bytes | None = None, columns: int = 80, app: Typer = app) -> Result:
    """The program in this process, on a terminal of so many columns."""
    terminal = {"COLUMNS": str(columns), "NO_COLOR": "1"}
    return CliRunner().invoke(app, [str(word) for word in words], input=stdin, env=terminal)


def answer(*words: Word, stdin: str | bytes | None = None, app: Typer = app) -> Any:
    """The one document that a command prints with --json."""
    result = run(*words, "--json", stdin=stdin, app=app)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return json.loads(result.stdout, parse_constant=pytest.fail)  # NaN and Infinity are not JSON


def complaint(*words: Word, stdin: str | bytes | None = None, app: Typer = app) -> str:
    """The one line that a command says about bad input."""
    result = run(*words, stdin=stdin, app=app)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.endswith("\n")
    return result.stderr.rstrip("\n")


def started(*words: Word, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The program as a process of its own."""
    return subprocess.run([PROGRAM, *map(str, words)], input=stdin, check=False, capture_output=True)


def hurried(*words: Word) -> subprocess.Popen[str]:
    """The same while it runs, with all that it starts in one group of processes; see tests/spark/hurried.py."""
    command, pipe = program("tests.spark.hurried", *words), subprocess.PIPE
    return subprocess.Popen(command, start_new_session=True, stdout=pipe, stderr=pipe, text=True)
