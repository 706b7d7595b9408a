"""The groups of one application: one for each operator, inside one for all."""

from __future__ import annotations

import errno
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path

from mead.execute.control_file import read_processes, write
from mead.execute.join import join_group
from mead.execute.leftovers import remove_leftovers
from mead.execute.names import Owner, operator_folder

_RUNS: defaultdict[Path, Iterator[int]] = defaultdict(count)
"""By the group in which they are made, so that those of one manager have the same number in every hierarchy."""

_ATTEMPTS = 50
_PAUSE_S = 0.02


class ApplicationGroup:
    """In one hierarchy of groups, below ``base``. What crashed applications have left there is removed first.

    ``controller`` is one that cgroup v2 must be told to pass down; in v1 every hierarchy has its own throughout.
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
        """The group of an operator."""
        if operator not in self._folders:
            raise ValueError(f"no operator {operator!r}; there are {', '.join(self._folders)}")
        return self._folders[operator]

    def remove(self) -> None:
        """Remove the groups. Processes that still live are put back where no limit of ours holds; none is ended."""
        with ExitStack() as removals:  # runs all of them, last in first out, even if one fails
            for folder in (self.path, *self._folders.values()):
                if folder.exists():
                    removals.callback(_empty_and_remove, folder, self.base)


def _make_application_folder(base: Path) -> Path:
    """A process may run several applications. A name never comes back: workers of an earlier one may remember it."""
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
    """Give the groups inside this one the controller."""
    switch = group / "cgroup.subtree_control"
    if controller not in switch.read_text().split():
        write(switch, f"+{controller}")


def _empty_and_remove(folder: Path, base: Path) -> None:
    """More than once if need be: a process may fork, or be about to end, while it is moved."""
    for attempt in range(_ATTEMPTS):
        for pid in read_processes(folder):
            with suppress(OSError):  # it has ended, or the base may hold no processes: then it has to end by itself
                join_group(str(base), pid)
        try:
            os.rmdir(folder)  # noqa: PTH106 - as above
        except OSError as error:
            if error.errno != errno.EBUSY or attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
