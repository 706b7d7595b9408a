"""Processes of somebody else in a group of ours, and back: on real control groups."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mead.cpu import Adoption, detect, find_other_group

DETECTION = detect()
pytestmark = pytest.mark.skipif(DETECTION.kind == "none", reason=str(DETECTION))

FORKS = "import os, sys\nfor _ in sys.stdin: print(os.spawnvp(os.P_NOWAIT, 'sleep', ['sleep', '60']), flush=True)"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", FORKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        yield child
        child.kill()


def fork(process: subprocess.Popen[str]) -> int:
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    return int(process.stdout.readline())


def groups(pid: int) -> str:
    return Path(f"/proc/{pid}/cgroup").read_text()


def test_adopted_processes_and_their_children_return_to_their_group(process: subprocess.Popen[str]) -> None:
    home = groups(process.pid)
    with closing(DETECTION.open(["guest"])) as shares:
        adoption = Adoption(shares.group("guest"))
        adoption.adopt([process.pid, 2**22 + 1])  # the second has never been
        adoption.adopt([process.pid])
        child = fork(process)
        try:
            assert {process.pid, child} == set(shares.processes("guest"))
            assert find_other_group(process.pid, adoption.folders) is None
            assert find_other_group(process.pid) == adoption.folders[0].parent.name
            adoption.release()
            assert shares.processes("guest") == ()
            assert groups(process.pid) == groups(child) == home
        finally:
            subprocess.run(["kill", str(child)], check=True)
    assert not adoption.folders[0].exists()


def test_home_is_a_group_of_its_own_if_it_was_one(process: subprocess.Popen[str]) -> None:
    with closing(DETECTION.open(["home"])) as first, closing(DETECTION.open(["guest"])) as second:
        Adoption(first.group("home")).adopt([process.pid])
        adoption = Adoption(second.group("guest"))
        adoption.adopt([process.pid])
        assert second.processes("guest") == (process.pid,)
        adoption.release()
        assert first.processes("home") == (process.pid,)
