"""What the system shows of processes, beside what they say of themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mead.cpu import PROCESSES, list_processes, read_process

needs_processes = pytest.mark.skipif(not PROCESSES.is_dir(), reason="no processes are shown as files here")

SLEEPS = "import sys; print(flush=True); sys.stdin.read()"


def test_where_no_processes_are_shown_there_are_none(tmp_path: Path) -> None:
    assert read_process(os.getpid(), tmp_path / "missing") is None
    assert read_process(os.getpid(), tmp_path) is None
    assert list(list_processes(tmp_path / "missing")) == []


def test_the_program_may_have_any_name(tmp_path: Path) -> None:
    """By proc(5): pid (name) state parent, and CPU times and start as the 14th to 17th and the 22nd."""
    fields = ["S", "7", *"333333333", "21", "22", "23", "24", *"4444", "55", "6"]
    (tmp_path / "9").mkdir()
    (tmp_path / "9" / "stat").write_text(f"9 (a) R 1 (b) {' '.join(fields)}")
    found = read_process(9, tmp_path)
    assert found is not None
    assert (found.pid, found.parent, found.ended) == (9, 7, False)
    assert (found.ticks, found.children_ticks, found.started_ticks) == (43, 47, 55)


@needs_processes
def test_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    before, found = os.times(), read_process(os.getpid())
    after = os.times()
    assert found is not None
    assert before.user + before.system - 0.05 <= found.cpu_s <= after.user + after.system + 0.05


@needs_processes
def test_a_child_is_known_until_somebody_has_asked_how_it_ended() -> None:
    command = [sys.executable, "-c", SLEEPS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alive = read_process(child.pid)
        assert alive is not None
        assert (alive.parent, alive.ended) == (os.getpid(), False)
        assert alive in list(list_processes()), "nothing of it changes while it sleeps"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        dead = read_process(child.pid)
        assert dead is not None
        assert dead.ended
        assert dead.started_ticks == alive.started_ticks
    assert read_process(child.pid) is None
