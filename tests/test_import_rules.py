"""The import directions of the design, and the modules that an import must not load."""

from __future__ import annotations

import subprocess
import sys

import pytest
from importlinter import cli as import_linter
from tests.paths import ROOT

import mead


def test_imports_go_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    exit_code = import_linter.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert exit_code == 0, capsys.readouterr().out


@pytest.mark.parametrize("late", ["matplotlib", "sklearn", "line_solver", "ciw"])
def test_starting_the_command_does_not_load(late: str) -> None:
    probe = f"import sys, mead.cli; sys.exit({late!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


HEAVY = ("mead.simulator", "mead.web", "mead.reports", "mead.cli", "matplotlib", "sklearn", "starlette", "rich")
MOST_MODULES = 110
"""`import mead; mead.attach` loaded 221 modules of MEAD when it still pulled in the simulator and all reports."""


def test_attaching_to_a_query_loads_neither_simulator_nor_page_nor_plots() -> None:
    probe = "import sys, mead; mead.attach; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded & set(HEAVY)
    ours = [name for name in loaded if name.split(".")[0] == "mead"]
    print(f"import mead; mead.attach loads {len(ours)} modules of mead")  # noqa: T201 - to compare with earlier versions
    assert len(ours) <= MOST_MODULES


@pytest.mark.parametrize("name", ["attach", "run", "simulate", "stamped", "Pipeline", "Requirement", "Attached"])
def test_the_package_exports(name: str) -> None:
    assert callable(getattr(mead, name))


def test_the_package_alone_loads_nothing_else() -> None:
    probe = "import sys, mead; print(*(name for name in sys.modules if name.startswith('mead.')))"
    done = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []
