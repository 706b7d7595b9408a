"""Processes that already run, moved into a group of ours for a while and then back to where they were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mead.cpu.control_file import read_processes
from mead.cpu.join import join_group
from mead.cpu.names import owner_of
from mead.cpu.processes import PROCESSES


class Guests:
    """Processes that were moved into ``group``, as `ShareManager.group` names it: one folder, or one per hierarchy."""

    def __init__(self, group: str) -> None:
        self.folders = [Path(folder) for folder in filter(None, group.split(os.pathsep))]
        self._homes: dict[Path, Path] = {}
        """By folder, the group that its guests came from: one for all, as they are workers of one application."""

    def take_in(self, pids: Iterable[int]) -> None:
        """Move in the processes that are not in yet. What they fork from now on is born in the group."""
        pids = tuple(pids)
        for folder in self.folders:
            inside = set(read_processes(folder))
            for pid in pids:
                if pid not in inside:
                    with suppress(OSError):  # it has ended
                        self._homes.setdefault(folder, _home(pid, folder))
                        join_group(str(folder), pid)

    def take_home(self) -> None:
        """Move all processes back to where they came from, with those that they have forked."""
        for folder, home in self._homes.items():
            for pid in read_processes(folder):
                with suppress(OSError):  # it has ended; or its old group has, and whoever removes ours moves it out
                    join_group(str(home), pid)


def held_elsewhere(pid: int, folders: Iterable[Path] = ()) -> str | None:
    """The name of another group of ours that already holds a process, except for ``folders``; None if there is none."""
    known = {folder.parent.name for folder in folders}
    for path in _groups_of(pid):
        for name in Path(path).parts:
            if owner_of(name) is not None and name not in known:
                return name
    return None


def _home(pid: int, folder: Path) -> Path:
    """The group of a process, in the hierarchy of ``folder``: our operator folders lie two levels below the base."""
    base = folder.parents[1]
    for path in _groups_of(pid):
        home = base / path.lstrip("/")
        if (home / "cgroup.procs").exists() and pid in read_processes(home):
            return home
    return base


def _groups_of(pid: int) -> Iterator[str]:
    """The groups of a process in all hierarchies, as paths from their roots."""
    with suppress(OSError):  # it has ended
        for line in (PROCESSES / str(pid) / "cgroup").read_text().splitlines():
            yield line.split(":", 2)[2]
