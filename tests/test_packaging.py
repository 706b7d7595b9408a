"""The wheel that users install, and the lock files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.paths import ROOT

import mead
from mead.extras import EXTRAS

LOCK_ENTRY = re.compile(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.!+]+)(?: \\\n +--hash=sha256:[0-9a-f]{64})+(?:\n +#.*)*")
OPTIONAL = [module for modules in EXTRAS.values() for module in modules]

PIPELINE = """
name: small
operators:
  - {name: first, demand_s: 0.001}
  - {name: second, demand_s: 0.002}
edges: [[first, second]]
requirements: [{path: first>second, mean_s: 0.5}]
"""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    settings: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return settings


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel(wheel_file: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(wheel_file)


def locked(name: str) -> dict[str, str]:
    """The versions of a lock file, in which every entry is ``name==version`` with the hashes of its files."""
    versions: dict[str, str] = {}
    for entry in re.split(r"\n(?=[^\s#])", (ROOT / name).read_text()):
        if not entry.startswith("#"):
            match = LOCK_ENTRY.fullmatch(entry.strip())
            assert match, f"{name}: {entry!r} is not an exact version with hashes"
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
    files = [p for p in (ROOT / "src/mead").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert shipped == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert {"mead/demo/pipeline.yaml", "mead/demo/patterns.txt", "mead/web/static/index.html"} <= shipped


def test_wheel_needs_no_optional_package(wheel: zipfile.ZipFile) -> None:
    described = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
    lines = wheel.read(described).decode().splitlines()
    needed = [Requirement(line.removeprefix("Requires-Dist: ")) for line in lines if line.startswith("Requires-Dist: ")]
    core = {one.name for one in needed if one.marker is None}
    assert "pyspark" in core
    assert not core & {"matplotlib", "scikit-learn", "starlette", "uvicorn", "prometheus-client", "pika"}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_lock_satisfies_the_declared_dependencies(name: str, project: dict[str, Any]) -> None:
    extras = project["optional-dependencies"]
    developer = ("oracles", "test", "lint", "docs", "bench", "dev")
    groups = [lines for extra, lines in extras.items() if name == "requirements-dev.lock" or extra not in developer]
    versions = locked(name)
    for requirement in map(Requirement, [*project["dependencies"], *(line for group in groups for line in group)]):
        if requirement.name != project["name"]:
            version = versions[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement} is locked at {version}"


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_no_index(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "--index" not in text


def test_both_locks_agree() -> None:
    assert locked("requirements.lock").items() <= locked("requirements-dev.lock").items()


class Installation:
    """A virtual environment outside the clone."""

    def __init__(self, folder: Path, wheel_file: Path) -> None:
        self.folder, self.programs, self._wheel = folder, folder / "env/bin", wheel_file
        ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "SPARK_HOME")
        self._environment = {name: value for name, value in os.environ.items() if name not in ours}
        self.run(sys.executable, "-m", "venv", folder / "env")

    def install(self, extra: str = "") -> None:
        """Install the wheel with an extra, in the versions of the lock."""
        versions = self.folder / "versions.txt"  # without hashes, which the wheel would need as well
        versions.write_text("".join(f"{name}=={one}\n" for name, one in locked("requirements.lock").items()))
        self.run(self.programs / "pip", "--quiet", "install", "--constraint", versions, f"{self._wheel}{extra}")

    def run(self, *command: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*map(str, command)], cwd=self.folder, env=self._environment, check=False, capture_output=True, text=True
        )
        assert done.returncode == code, f"{command}\n{done.stdout}{done.stderr}"
        return done

    def mead(self, *words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.run(self.programs / "mead", *words, code=code)


@pytest.mark.slow
@pytest.mark.spark
def test_the_wheel_works_outside_the_clone(wheel_file: Path, tmp_path: Path) -> None:
    """First without extras, then with all of them."""
    installation = Installation(tmp_path, wheel_file)
    installation.install()
    probe = f"from importlib.util import find_spec; print([m for m in {OPTIONAL} if find_spec(m)])"
    assert installation.run(installation.programs / "python", "-c", probe).stdout == "[]\n"
    (tmp_path / "small.yaml").write_text(PIPELINE)
    installation.mead("generate", "poisson", "--rate", "100", "--duration", "60", "-o", "arrivals.npy")
    said = installation.mead("simulate", "small.yaml", "--trace", "arrivals.npy", "--policy", "map", "--json").stdout
    assert json.loads(said)["tuples"] > 5000
    refused = installation.mead("fit", "arrivals.npy", "--plot", "fit.png", code=2)
    assert refused.stderr == 'mead: --plot needs matplotlib: pip install "mead-spark[plot]"\n'
    refused = installation.mead("demo", code=2)
    assert refused.stderr.endswith('pip install "mead-spark[web]"\n')

    installation.install("[all]")
    assert json.loads(installation.mead("doctor", "--json").stdout)["ready"]
    demo = installation.mead("demo", "--duration", "10", "--port", "0", "--folder", "demo", "--json")
    assert "Watch it: http://127.0.0.1:" in demo.stderr
    assert json.loads(demo.stdout)["tuples"] > 500
    assert (tmp_path / "demo/report.html").exists()
