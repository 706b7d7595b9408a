"""The cgroups of one application: one for each operator, inside one for all."""

from __future__ import annotations

import errno
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

from mead.cpu.control_file import read_processes, write
from mead.cpu.join import join_group
from mead.cpu.names import Owner, is_operator_folder, operator_folder, parse_owner

_RUNS: defaultdict[Path, Iterator[int]] = defaultdict(count)
"""Run numbers by base group, so that the groups of one manager have the same number in every hierarchy."""

_ATTEMPTS = 50
_PAUSE_S = 0.02


class ApplicationGroup:
    """The groups of one application below ``base``. First removes leftovers of crashed applications.

    ``controller`` is passed down to the groups inside. Only cgroup v2 needs that.
    """

    def __init__(self, base: Path, operators: Sequence[str], controller: str | None = None) -> None:
        remove_leftovers(base)
        self.base = base
        if controller:
            _pass_down(base, controller)
        self.path = _make_application_folder(base)
        self._folders = {operator: self.path / operator_folder(operator) for operator in operators}
        try:
            if controller:
                _pass_down(self.path, controller)
            for folder in self._folders.values():
                os.mkdir(folder)  # noqa: PTH102 - without Path's second look at a failure
        except OSError:
            self.remove()
            raise

    def __getitem__(self, operator: str) -> Path:
        """Return the group of an operator."""
        if operator not in self._folders:
            raise ValueError(f"no operator {operator!r}; there are {', '.join(self._folders)}")
        return self._folders[operator]

    def remove(self) -> None:
        """Remove the groups. Live processes move to ``base``, where no limit of ours applies; none is ended."""
        with ExitStack() as removals:  # runs all of them, last in first out, even if one fails
            for folder in (self.path, *self._folders.values()):
                if folder.exists():
                    removals.callback(_empty_and_remove, folder, self.base)


def remove_leftovers(base: Path) -> None:
    """Remove groups of ours below ``base`` whose owner has ended and in which no process lives.

    The kernel refuses to remove a group that holds a process or a foreign group. Another application that starts at
    the same time may remove a group first.
    """
    for group in _list_groups(base):
        owner = parse_owner(group.name)
        if owner is None or not owner.is_gone():
            continue
        operators = [inside for inside in _list_groups(group) if is_operator_folder(inside.name)]
        with suppress(OSError):
            if not any(read_processes(folder) for folder in (*operators, group)):
                for folder in (*operators, group):
                    os.rmdir(folder)  # noqa: PTH106 - one call, whose refusal is the answer


def _list_groups(base: Path) -> list[Path]:
    """Return the groups directly inside this one, without symbolic links."""
    with suppress(FileNotFoundError):
        return sorted(entry for entry in base.iterdir() if entry.is_dir() and not entry.is_symlink())
    return []


def _make_application_folder(base: Path) -> Path:
    """Make a group for an application of this process. Names are never reused: old workers may remember theirs."""
    owner = Owner.this_process()
    for run in _RUNS[base]:
        path = base / owner.application_folder(run)
        try:
            os.mkdir(path)  # noqa: PTH102 - as above
        except FileExistsError:
            continue
        return path
    raise AssertionError


def _pass_down(group: Path, controller: str) -> None:
    """Enable the controller for the groups inside this one."""
    switch = group / "cgroup.subtree_control"
    if controller not in switch.read_text().split():
        write(switch, f"+{controller}")


def _empty_and_remove(folder: Path, base: Path) -> None:
    """Move the processes out and remove the group. Tries again while a process is forking or ending."""
    for attempt in range(_ATTEMPTS):
        for pid in read_processes(folder):
            with suppress(OSError):  # it has ended, or ``base`` may hold no processes: then we wait for its end
                join_group(str(base), pid)
        try:
            os.rmdir(folder)  # noqa: PTH106 - as above
        except OSError as error:
            if error.errno != errno.EBUSY or attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
