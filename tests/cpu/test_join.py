from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mead.cpu import join_group


def test_a_worker_daemon_loads_nothing_else_for_it() -> None:
    code = """
import sys
before = set(sys.modules)
import mead.cpu.join
print(*sorted(set(sys.modules) - before))
"""
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert set(printed.split()) == {"__future__", "mead", "mead.cpu", "mead.cpu.join"}


def test_this_process_joins_every_directory(tmp_path: Path) -> None:
    groups = [tmp_path / "cpu", tmp_path / "cpuacct"]
    for group in groups:
        group.mkdir()
        (group / "cgroup.procs").touch()
    join_group(os.pathsep.join(map(str, groups)))
    assert [(group / "cgroup.procs").read_text() for group in groups] == [str(os.getpid())] * 2


def test_another_process_can_be_moved(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").touch()
    join_group(str(tmp_path), 17)
    assert (tmp_path / "cgroup.procs").read_text() == "17"


def test_of_an_empty_group_there_is_nothing_to_join() -> None:
    join_group("")


def test_a_group_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cgroup\.procs"):
        join_group(str(tmp_path))
    assert not list(tmp_path.iterdir())
