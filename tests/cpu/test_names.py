from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.cpu.names import Owner, is_operator_folder, operator_folder, parse_owner

ANY_TEXT = st.text(st.characters(), max_size=300) | st.sampled_from(
    ["", ".", "..", "../..", "/", "/etc", "a/../../b", "cgroup.procs", "tasks", "a\0b", "a\nb", "-rf", "%2F", "\ud800"]
)


@given(ANY_TEXT)
def test_an_operators_folder_stays_inside_its_parent(operator: str) -> None:
    folder = operator_folder(operator)
    parent = Path("/groups/application")
    assert Path(os.path.normpath(parent / folder)) == parent / folder
    assert (parent / folder).parent == parent
    assert folder.isascii()
    assert folder.isprintable()
    assert os.pathsep not in folder
    assert len(folder) <= 255
    assert is_operator_folder(folder)


@given(ANY_TEXT, ANY_TEXT)
def test_different_operators_have_different_folders(one: str, other: str) -> None:
    assert (operator_folder(one) == operator_folder(other)) == (one == other)


def test_long_names_that_begin_alike_have_different_folders() -> None:
    assert operator_folder("x" * 300 + "1") != operator_folder("x" * 300 + "2")


def test_no_file_of_the_kernel_can_be_meant() -> None:
    for file in ("tasks", "cgroup.procs", "cpu.stat", "notify_on_release"):
        assert operator_folder(file) != file


def test_an_application_folder_names_its_owner() -> None:
    owner = Owner.this_process()
    assert owner.pid == os.getpid()
    assert parse_owner(owner.application_folder(3)) == owner


@pytest.mark.parametrize(
    "name",
    [
        "",
        "mead",
        "mead-1",
        "mead-1-2-3",
        "mead-0-2-3-4",
        "mead-1-2-3-4-5",
        "mead-1-2-3-4\n",
        "mead-\u0661-2-3-4",
        "xmead-1-2-3-4",
    ],
)
def test_other_names_are_nobodys(name: str) -> None:
    assert parse_owner(name) is None


def test_a_live_process_is_not_gone() -> None:
    assert not Owner.this_process().is_gone()


def test_a_process_id_that_was_used_again_does_not_keep_an_owner_alive() -> None:
    this = Owner.this_process()
    assert replace(this, started_ticks=this.started_ticks - 1).is_gone()


def test_nothing_is_said_about_processes_of_another_namespace() -> None:
    this = Owner.this_process()
    assert not replace(this, started_ticks=0, namespace=this.namespace + 1).is_gone()


def test_a_killed_process_is_gone_even_while_its_parent_has_not_looked() -> None:
    code = "from mead.cpu.names import Owner; print(Owner.this_process().application_folder(0), flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        owner = parse_owner(process.stdout.readline().strip())
        assert owner is not None
        assert owner.pid == process.pid
        assert not owner.is_gone()
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and still in the table of processes
        assert Path(f"/proc/{process.pid}").exists()
        assert owner.is_gone()
    assert owner.is_gone()
