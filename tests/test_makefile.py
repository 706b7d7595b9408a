"""The targets people type."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with what the Makefile reads, and nothing installed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def python_that(folder: Path, answer: str) -> str:
    """A stand-in for an interpreter that cannot do what ``answer`` refuses."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\ncase "$2" in {answer}) exit 1;; *) exec "{sys.executable}" "$@";; esac\n')
    script.chmod(0o755)
    return f"PYTHON={script}"


def test_help_lists_every_target_a_user_needs() -> None:
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}
    assert {"demo", "test", "lint", "bench", "docs"} <= listed


def test_demo_runs(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    plan = make("--dry-run", "demo").stdout.splitlines()
    commands = [line.split()[1:] for line in plan if line.startswith(".venv/bin/mead ")]
    assert [command[0] for command in commands] == ["generate", "fit", "solve", "simulate"]
    for command in commands:
        mead = Path(sys.executable).with_name("mead")
        run = subprocess.run([mead, *command], cwd=tmp_path, check=False, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        assert run.stdout
    assert (tmp_path / "out/fit.png").read_bytes().startswith(b"\x89PNG")


def test_too_old_a_python_is_named(clone: Path) -> None:
    run = make("test", python_that(clone, "*version_info?*'(3, 11)'*"), folder=clone)
    assert run.returncode == 2
    assert "MEAD needs Python 3.11 or newer" in run.stderr


def test_missing_venv_module_gets_the_command_that_installs_it(clone: Path) -> None:
    run = make("test", python_that(clone, "*ensurepip*"), folder=clone)
    assert run.returncode == 2
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"sudo apt-get install -y python{version}-venv" in run.stderr


def test_an_environment_made_elsewhere_is_made_anew(clone: Path) -> None:
    (clone / ".venv").mkdir()
    for stamp in (".made-in", ".run", ".dev"):
        (clone / ".venv" / stamp).write_text("/somewhere/else\n")
    assert "-m venv --clear" in make("--dry-run", "test", folder=clone).stdout
    (clone / ".venv/.made-in").write_text(f"{clone}\n")
    for stamp in (".run", ".dev"):
        (clone / ".venv" / stamp).touch()
    assert "-m venv" not in make("--dry-run", "test", folder=clone).stdout
