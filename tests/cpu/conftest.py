"""Real groups of this machine to work in, a directory that looks like cgroup v2, and workers that only spin."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from mead.cpu.cgroup import CgroupV1Shares
from mead.cpu.detection import list_mounts

WORKER = """
import sys
from mead.cpu import join_group
join_group(sys.argv[1])
print("joined", flush=True)
while True:
    pass
"""

Worker = Callable[[str], "subprocess.Popen[str]"]
_numbers = count()


@pytest.fixture
def worker() -> Iterator[Worker]:
    """Starts processes that join a group and spin; ends them after the test."""
    started: list[subprocess.Popen[str]] = []

    def start(group: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", WORKER, group], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "joined\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def real_base(version: int, controller: str | None = None) -> Iterator[Path]:
    """A group of this test's own, in a real hierarchy."""
    for mount in list_mounts():
        if mount.version == version and (controller is None or controller in mount.controllers):
            base = mount.path / f"test-execute-{os.getpid()}-{next(_numbers)}"
            try:
                base.mkdir()
            except OSError as error:
                pytest.skip(f"no group can be made in cgroup v{version} here: {error}")
            if controller == "cpu":  # so that its workers get their share, whatever else runs here
                (base / "cpu.shares").write_text("65536")
            yield base
            remove(base)
            return
    pytest.skip(f"cgroup v{version} is not mounted here{f' with the {controller} controller' if controller else ''}")


def remove(base: Path) -> None:
    """With what a failed test has left inside. Processes that were just killed take a moment to leave."""
    for folder in sorted((entry for entry in base.rglob("*") if entry.is_dir()), reverse=True):
        folder.rmdir()
    for _ in range(100):
        try:
            return base.rmdir()
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"{base} is still in use")


@pytest.fixture
def v1_cpu() -> Iterator[Path]:
    yield from real_base(1, "cpu")


@pytest.fixture
def v1_accounts() -> Iterator[Path]:
    yield from real_base(1, "cpuacct")


@pytest.fixture
def v2_real() -> Iterator[Path]:
    yield from real_base(2)


@pytest.fixture(params=["v1_cpu", "v2_real"])
def base(request: pytest.FixtureRequest) -> Path:
    """A group in which others can be made, of either version, with the kernel behind it."""
    path: Path = request.getfixturevalue(request.param)
    return path


@pytest.fixture
def v1_shares(v1_cpu: Path, v1_accounts: Path) -> Iterator[CgroupV1Shares]:
    with closing(CgroupV1Shares(v1_cpu, v1_accounts, ["parser", "matcher"])) as shares:
        yield shares


V2_FILES = {
    "cgroup.procs": "",
    "cgroup.controllers": "cpuset cpu io memory pids\n",
    "cgroup.subtree_control": "",
    "cpu.max": "max 100000\n",
    "cpu.max.burst": "0\n",
    "cpu.weight": "100\n",
    "cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
}


@pytest.fixture
def v2_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in which making and removing groups does what the kernel does, under the kernel's rules."""
    tree = tmp_path / "cgroup"
    make, unmake = os.mkdir, os.rmdir

    def mkdir(path: Path, mode: int = 0o777) -> None:
        make(path, mode)
        if tree in Path(path).parents or Path(path) == tree:
            for name, content in V2_FILES.items():
                (Path(path) / name).write_text(content)

    def rmdir(path: Path) -> None:
        if tree in Path(path).parents:
            inside = list(Path(path).iterdir())
            if any(entry.is_dir() for entry in inside) or (Path(path) / "cgroup.procs").read_text():
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(path))
            for entry in inside:
                entry.unlink()
        unmake(path)

    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "rmdir", rmdir)
    os.mkdir(tree)  # noqa: PTH102 - the one that was put in place
    return tree
