"""On real hierarchies of both versions, with processes that are really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from mead.cpu.application_group import ApplicationGroup, remove_leftovers
from mead.cpu.names import Owner

APPLICATION = """
import sys, time
from pathlib import Path
from mead.cpu.application_group import ApplicationGroup
print(ApplicationGroup(Path(sys.argv[1]), ["parser", "matcher"]).path, flush=True)
time.sleep(60)
"""


def killed_application(base: Path) -> Path:
    """What is left of a process that had made groups and was killed."""
    command = [sys.executable, "-c", APPLICATION, str(base)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        group = Path(process.stdout.readline().strip())
        remove_leftovers(base)
        assert (group / "op-matcher").is_dir(), "its owner lives"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (group / "op-matcher").is_dir()
    return group


def test_the_next_start_removes_what_a_killed_application_has_left(base: Path) -> None:
    left = killed_application(base)
    group = ApplicationGroup(base, ["parser"])
    assert not left.exists()
    assert group["parser"].exists()
    group.remove()


def test_groups_in_which_a_process_lives_are_left_until_it_has_ended(
    base: Path, worker: Callable[[str], subprocess.Popen[str]]
) -> None:
    left = killed_application(base)
    survivor = worker(str(left / "op-matcher"))
    remove_leftovers(base)
    assert survivor.poll() is None
    assert (left / "op-parser").exists()
    survivor.kill()
    survivor.wait()
    remove_leftovers(base)
    assert not left.exists()


def test_nothing_else_is_touched(base: Path) -> None:
    this = Owner.this_process()
    foreign_namespace = replace(this, pid=2**22 + 1, namespace=this.namespace + 1).application_folder(0)
    names = ["mead", "mead-test", "system.slice", f"mead-{2**22 + 1}", this.application_folder(7), foreign_namespace]
    for name in names:
        (base / name).mkdir()
    remove_leftovers(base)
    for name in names:
        (base / name).rmdir()


def test_an_application_in_which_someone_else_has_a_group_is_left(base: Path) -> None:
    left = killed_application(base)
    stranger = left / "stranger"
    stranger.mkdir()
    remove_leftovers(base)
    assert stranger.exists()
    stranger.rmdir()
    remove_leftovers(base)
    assert not left.exists()


def test_links_are_not_followed(tmp_path: Path) -> None:
    this = Owner.this_process()
    outside = tmp_path / "outside"
    outside.mkdir()
    base = tmp_path / "base"
    base.mkdir()
    link = base / replace(this, started_ticks=this.started_ticks + 1).application_folder(0)
    os.symlink(outside, link)  # noqa: PTH211 - as the hand of a stranger would
    remove_leftovers(base)
    assert link.is_symlink()
    assert outside.is_dir()


def test_where_there_is_no_hierarchy_nothing_is_left(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "missing")
    assert not (tmp_path / "missing").exists()
