"""The targets of the Makefile."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.paths import ROOT

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def make(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=ENVIRONMENT, check=False, capture_output=True, text=True
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the files that the Makefile reads, and nothing installed."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    return tmp_path


def python_that(folder: Path, answer: str) -> str:
    """A fake interpreter that fails for commands that match ``answer``."""
    script = folder / "python"
    script.write_text(f'#!/bin/sh\ncase "$2" in {answer}) exit 1;; *) exec "{sys.executable}" "$@";; esac\n')
    script.chmod(0o755)
    return f"PYTHON={script}"


def test_help_lists_every_target_a_user_needs() -> None:
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}
    assert {"install", "demo", "test", "test-slow", "lint", "bench", "docs"} <= listed


def test_every_test_runs_in_one_of_two_targets() -> None:
    """`-m "not slow"` is the default of pytest here."""
    assert "-m slow" not in make("--dry-run", "test").stdout
    assert "-m slow" in make("--dry-run", "test-slow").stdout


def test_demo_is_the_main_job() -> None:
    """tests/cli/runs/test_live.py runs it."""
    assert ".venv/bin/mead demo" in make("--dry-run", "demo").stdout


def test_install_asks_for_no_java(clone: Path) -> None:
    planned = make("--dry-run", "install", folder=clone).stdout
    assert "install --require-hashes -r requirements.lock" in planned
    assert "tools/java" not in planned
    assert "requirements-dev.lock" not in planned


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
    for stamp in (".made-in", ".java", ".run", ".dev"):
        (clone / ".venv" / stamp).write_text("/somewhere/else\n")
    assert "-m venv --clear" in make("--dry-run", "test", folder=clone).stdout
    (clone / ".venv/.made-in").write_text(f"{clone}\n")
    for stamp in (".java", ".run", ".dev"):
        (clone / ".venv" / stamp).touch()
    assert "-m venv" not in make("--dry-run", "test", folder=clone).stdout


def script(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)


def java_of_version(path: Path, version: str) -> None:
    script(path, f"""echo 'openjdk version "{version}" 2024-01-16' >&2""")


@pytest.fixture
def bare(clone: Path) -> Path:
    """A clone with its environment, on a machine with the usual programs and no Java."""
    (clone / ".venv").mkdir()
    (clone / ".venv/.made-in").write_text(f"{clone}\n")
    programs = clone / "bin"
    programs.mkdir()
    for name in ("cat", "chmod", "cp", "env", "sed", "sh", "touch", "true"):
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)
    script(programs / "id", "echo 0")
    return clone


def java_wanted(folder: Path, typed: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Ask for Java, without a terminal or with one at which something is typed."""
    environment = {"PATH": str(folder / "bin"), **variables}
    make_program = shutil.which("make")
    assert make_program
    command, ours, theirs = [make_program, ".venv/.java"], *pty.openpty()
    try:
        os.write(ours, (typed or "").encode())
        stdin = subprocess.DEVNULL if typed is None else theirs
        return subprocess.run(
            command, cwd=folder, env=environment, stdin=stdin, check=False, capture_output=True, text=True
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_without_java_and_without_a_way_to_install_it_the_command_to_type_is_named(bare: Path) -> None:
    run = java_wanted(bare)
    assert run.returncode == 2
    assert "Spark needs Java 17 or newer, and none was found. To install one:" in run.stderr
    assert "sudo apt-get install -y openjdk-17-jre-headless" in run.stderr
    assert not (bare / ".venv/.java").exists()


def test_java_is_installed_once_where_that_is_allowed(bare: Path) -> None:
    java_of_version(bare / "later", "21.0.2")
    script(
        bare / "bin/apt-get",
        f'echo "$*" >> {bare}/asked',
        f'case "$*" in *-21-*) cp {bare}/later {bare}/bin/java;; *) exit 1;; esac',  # there is no 17 in this release
    )
    run = java_wanted(bare)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "Installing Java, which Spark runs on ...\n"
    expected = ["install -y openjdk-17-jre-headless", "install -y openjdk-21-jre-headless"]
    assert (bare / "asked").read_text().splitlines() == expected
    again = java_wanted(bare)
    assert (again.returncode, (bare / "asked").read_text().splitlines()) == (0, expected)


def test_packages_are_looked_up_anew_before_giving_up(bare: Path) -> None:
    script(bare / "bin/apt-get", f'echo "$1" >> {bare}/asked', '[ "$1" = update ]')
    assert java_wanted(bare).returncode == 2
    assert (bare / "asked").read_text().split() == ["install"] * 4 + ["update"] + ["install"] * 4


@pytest.fixture
def user(bare: Path) -> Path:
    """A machine whose user is not root, but may use sudo."""
    script(bare / "bin/id", "echo 1000")
    java_of_version(bare / "later", "21.0.2")
    script(bare / "bin/apt-get", f"cp {bare}/later {bare}/bin/java")
    script(bare / "bin/sudo", f'echo "$*" >> {bare}/asked', '[ "$1" = -n ] && shift', 'exec "$@"')
    return bare


@pytest.mark.parametrize("typed", [None, "\n", "n\n", "\x04"], ids=["no terminal", "empty", "no", "end"])
def test_sudo_is_not_used_without_a_yes(user: Path, typed: str | None) -> None:
    run = java_wanted(user, typed)
    assert run.returncode == 2
    assert "sudo apt-get install -y openjdk-17-jre-headless" in run.stderr
    assert ("Install it with sudo apt-get? [y/N]" in run.stderr) == (typed is not None)
    assert not (user / "asked").exists()


def test_sudo_is_used_after_a_yes(user: Path) -> None:
    run = java_wanted(user, "y\n")
    assert run.returncode == 0, run.stderr
    assert (user / "asked").read_text().startswith("env DEBIAN_FRONTEND=noninteractive apt-get install")


def test_nobody_is_asked_in_continuous_integration(user: Path) -> None:
    run = java_wanted(user, CI="true")
    assert run.returncode == 0, run.stderr
    assert {line.split()[0] for line in (user / "asked").read_text().splitlines()} == {"-n"}


def test_continuous_integration_does_not_wait_for_a_password(user: Path) -> None:
    script(user / "bin/sudo", '[ "$1" = -n ] && exit 1', "sleep 60")
    assert java_wanted(user, CI="true").returncode == 2


@pytest.mark.parametrize(("version", "good"), [("17.0.9", True), ("25", True), ("11.0.2", False), ("1.8.0_392", False)])
def test_an_old_java_is_none(bare: Path, version: str, *, good: bool) -> None:
    (bare / "jdk/bin").mkdir(parents=True)
    java_of_version(bare / "jdk/bin/java", version)
    java_of_version(bare / "bin/java", "17.0.9" if not good else "8")
    run = java_wanted(bare, JAVA_HOME=str(bare / "jdk"))  # Spark asks there first
    assert (run.returncode == 0) == good
    assert good or f"in JAVA_HOME={bare}/jdk" in run.stderr
