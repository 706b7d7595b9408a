"""Move running processes into a group of ours, and back later."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from mead.cpu.control_file import read_processes
from mead.cpu.join import join_group
from mead.cpu.names import parse_owner
from mead.cpu.processes import PROCESSES


class Adoption:
    """Moves processes into ``group``, the folders that `ShareManager.group` names, and back."""

    def __init__(self, group: str) -> None:
        self.folders = [Path(folder) for folder in filter(None, group.split(os.pathsep))]
        self._homes: dict[Path, Path] = {}
        """The original group, by folder. All adopted processes belong to one application and share it."""

    def adopt(self, pids: Iterable[int]) -> None:
        """Move in the processes that are not in the group yet. Their later children start in the group."""
        pids = tuple(pids)
        for folder in self.folders:
            inside = set(read_processes(folder))
            for pid in pids:
                if pid not in inside:
                    with suppress(OSError):  # the process has ended
                        self._homes.setdefault(folder, _find_home(pid, folder))
                        join_group(str(folder), pid)

    def release(self) -> None:
        """Move all processes, and those they forked, back to their original group."""
        for folder, home in self._homes.items():
            for pid in read_processes(folder):
                with suppress(OSError):  # it or its old group has ended; removal of our group then moves it out
                    join_group(str(home), pid)


def find_other_group(pid: int, folders: Iterable[Path] = ()) -> str | None:
    """Return the name of a group of ours, other than ``folders``, that holds a process; None if there is none."""
    known = {folder.parent.name for folder in folders}
    for path in _read_groups(pid):
        for name in Path(path).parts:
            if parse_owner(name) is not None and name not in known:
                return name
    return None


def _find_home(pid: int, folder: Path) -> Path:
    """Return the group of a process in the hierarchy of ``folder``, which is two levels below the base."""
    base = folder.parents[1]
    for path in _read_groups(pid):
        home = base / path.lstrip("/")
        if (home / "cgroup.procs").exists() and pid in read_processes(home):
            return home
    return base


def _read_groups(pid: int) -> Iterator[str]:
    """Yield the groups of a process in all hierarchies, as paths from their roots."""
    with suppress(OSError):  # the process has ended
        for line in (PROCESSES / str(pid) / "cgroup").read_text().splitlines():
            yield line.split(":", 2)[2]
