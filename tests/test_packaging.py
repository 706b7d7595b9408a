"""What a user gets who installs the package, and what the lock files promise."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.paths import ROOT

import mead

LOCK_LINE = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+]+)( +# via .*)?")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return settings


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def locked(name: str) -> dict[str, str]:
    """The versions of a lock file; every line of it must be a plain ``name==version``."""
    versions: dict[str, str] = {}
    for line in (ROOT / name).read_text().splitlines():
        if line and not line.startswith("#"):
            match = LOCK_LINE.fullmatch(line)
            assert match, f"{name}: {line!r} is not an exact version"
            versions[canonicalize_name(match[1])] = match[2]
    return versions


def test_installed_version_is_the_one_of_the_source() -> None:
    assert metadata.version("mead-spark") == mead.__version__


def test_wheel_carries_types_licence_and_command(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert "mead/py.typed" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    entry_points = next(name for name in names if name.endswith("/entry_points.txt"))
    assert "mead = mead.cli:main" in wheel.read(entry_points).decode()


def test_wheel_holds_every_module_with_its_data_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    made = {"__pycache__"}
    files = [p for p in (ROOT / "src/mead").rglob("*") if p.is_file() and not made.intersection(p.parts)]
    assert shipped == {path.relative_to(ROOT / "src").as_posix() for path in files}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_lock_satisfies_the_declared_dependencies(name: str, project: dict[str, Any]) -> None:
    declared = list(project["dependencies"])
    if name == "requirements-dev.lock":
        declared += [line for group in project["optional-dependencies"].values() for line in group]
    versions = locked(name)
    for requirement in map(Requirement, declared):
        if requirement.name != project["name"]:
            version = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


def test_both_locks_agree() -> None:
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items()
