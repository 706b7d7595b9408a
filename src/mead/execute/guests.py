"""Processes that run already, taken into a group of ours for a while, and back to where they were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mead.execute.control_file import read_processes
from mead.execute.join import join_group
from mead.execute.names import owner_of
from mead.execute.processes import PROCESSES


class Guests:
    """``group`` is what `ShareManager.group` says: one folder, or several where the kernel keeps them apart."""

    def __init__(self, group: str) -> None:
        self.folders = [Path(folder) for folder in filter(None, group.split(os.pathsep))]
        self._homes: dict[Path, Path] = {}
        """By folder, where its guests came from: they are workers of one application."""

    def take_in(self, pids: Iterable[int]) -> None:
        """Those that are not in yet. What they fork from now on is born in the group."""
        pids = tuple(pids)
        for folder in self.folders:
            inside = set(read_processes(folder))
            for pid in pids:
                if pid not in inside:
                    with suppress(OSError):  # it has ended
                        self._homes.setdefault(folder, _home(pid, folder))
                        join_group(str(folder), pid)

    def take_home(self) -> None:
        """All that are in, with what they have forked."""
        for folder, home in self._homes.items():
            for pid in read_processes(folder):
                with suppress(OSError):  # it has ended; or its home has, and whoever removes the group takes care
                    join_group(str(home), pid)


def held_elsewhere(pid: int, folders: Iterable[Path] = ()) -> str | None:
    """The name of a group of ours in which a process is already, other than these; None if it is free."""
    known = {folder.parent.name for folder in folders}
    for path in _groups_of(pid):
        for name in Path(path).parts:
            if owner_of(name) is not None and name not in known:
                return name
    return None


def _home(pid: int, folder: Path) -> Path:
    """The group of a process in the hierarchy of a folder of ours, which is two below its base."""
    base = folder.parents[1]
    for path in _groups_of(pid):
        home = base / path.lstrip("/")
        if (home / "cgroup.procs").exists() and pid in read_processes(home):
            return home
    return base


def _groups_of(pid: int) -> Iterator[str]:
    """Its groups in all hierarchies, as paths from their roots."""
    with suppress(OSError):  # it has ended
        for line in (PROCESSES / str(pid) / "cgroup").read_text().splitlines():
            yield line.split(":", 2)[2]
