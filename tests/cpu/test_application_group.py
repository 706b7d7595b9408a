"""On real hierarchies of both versions: whatever the kernel refuses is seen here."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mead.cpu.application_group import ApplicationGroup
from mead.cpu.control_file import read_processes


def folders(base: Path) -> list[str]:
    return sorted(str(entry.relative_to(base)) for entry in base.rglob("*") if entry.is_dir())


def test_every_operator_has_a_group_inside_the_applications(base: Path) -> None:
    group = ApplicationGroup(base, ["parser", "../matcher"])
    assert folders(base) == [
        group.path.name,
        f"{group.path.name}/op-..%2Fmatcher",
        f"{group.path.name}/op-parser",
    ]
    assert group["parser"] == group.path / "op-parser"
    group.remove()
    assert folders(base) == []


def test_two_applications_of_one_process_do_not_meet(base: Path) -> None:
    one, other = ApplicationGroup(base, ["parser"]), ApplicationGroup(base, ["parser"])
    assert one["parser"] != other["parser"]
    one.remove()
    assert other["parser"].exists()
    other.remove()


def test_removing_frees_processes_and_ends_none(base: Path, worker: Callable[[str], subprocess.Popen[str]]) -> None:
    group = ApplicationGroup(base, ["parser", "matcher"])
    processes = [worker(str(group["matcher"])), worker(str(group["matcher"])), worker(str(group.path))]
    assert set(read_processes(group["matcher"])) == {process.pid for process in processes[:2]}
    group.remove()
    assert folders(base) == []
    assert [process.poll() for process in processes] == [None] * 3
    assert set(read_processes(base)) == {process.pid for process in processes}


def test_removing_twice_is_removing_once(base: Path) -> None:
    group = ApplicationGroup(base, ["parser"])
    group.remove()
    group.remove()
    assert folders(base) == []


def test_groups_of_others_inside_ours_are_left_and_reported(base: Path) -> None:
    group = ApplicationGroup(base, ["parser"])
    stranger = group["parser"] / "stranger"
    stranger.mkdir()
    with pytest.raises(OSError, match="busy"):
        group.remove()
    assert stranger.exists()
    stranger.rmdir()
    group.remove()


def test_what_could_not_be_completed_is_taken_back(v2_real: Path) -> None:
    """The second version passes controllers down, and the kernel knows none of this name."""
    with pytest.raises(OSError, match=r"cgroup\.subtree_control"):
        ApplicationGroup(v2_real, ["parser"], controller="nonsense")
    assert folders(v2_real) == []


def test_an_operator_that_is_not_there_is_named(base: Path) -> None:
    group = ApplicationGroup(base, ["parser", "matcher"])
    with pytest.raises(ValueError, match="no operator 'counter'; there are parser, matcher"):
        group["counter"]
    group.remove()
