"""Processes of somebody else in a group of ours, and back: on real control groups."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mead.cpu.adoption import Guests, held_elsewhere
from mead.cpu.detection import detect

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


def test_guests_and_what_they_fork_go_home(process: subprocess.Popen[str]) -> None:
    home = groups(process.pid)
    with closing(DETECTION.open(["guest"])) as shares:
        guests = Guests(shares.group("guest"))
        guests.take_in([process.pid, 2**22 + 1])  # the second has never been
        guests.take_in([process.pid])
        child = fork(process)
        try:
            assert {process.pid, child} == set(shares.processes("guest"))
            assert held_elsewhere(process.pid, guests.folders) is None
            assert held_elsewhere(process.pid) == guests.folders[0].parent.name
            guests.take_home()
            assert shares.processes("guest") == ()
            assert groups(process.pid) == groups(child) == home
        finally:
            subprocess.run(["kill", str(child)], check=True)
    assert not guests.folders[0].exists()


def test_home_is_a_group_of_its_own_if_it_was_one(process: subprocess.Popen[str]) -> None:
    with closing(DETECTION.open(["home"])) as first, closing(DETECTION.open(["guest"])) as second:
        Guests(first.group("home")).take_in([process.pid])
        guests = Guests(second.group("guest"))
        guests.take_in([process.pid])
        assert second.processes("guest") == (process.pid,)
        guests.take_home()
        assert first.processes("home") == (process.pid,)
