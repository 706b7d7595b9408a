"""The import directions of the design, and what a command must not load before it needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from importlinter import cli as import_linter
from tests.paths import ROOT


def test_imports_go_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = import_linter.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert exit_code == 0, capsys.readouterr().out


@pytest.mark.parametrize("late", ["matplotlib", "sklearn", "line_solver", "ciw"])
def test_starting_the_command_does_not_load(late: str) -> None:
    probe = f"import sys, mead.cli; sys.exit({late!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
