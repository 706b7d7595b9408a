"""Names of groups, which identify the process that made a group."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mead.cpu.processes import read_process

_APPLICATION = re.compile(r"mead-([1-9]\d{0,9})-(\d{1,20})-(\d{1,20})-\d{1,10}", re.ASCII)
_OPERATOR = "op-"
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Owner:
    """A process: its id, its start time (ids are reused), and its namespace (each has its own ids)."""

    pid: int
    started_ticks: int
    namespace: int

    @classmethod
    def this_process(cls) -> Owner:
        """Return the process that runs this code."""
        started = _read_start_ticks(os.getpid())
        if started is None:
            raise RuntimeError("/proc does not show this process; mount /proc to manage CPU shares")
        return cls(os.getpid(), started, _namespace())

    def is_gone(self) -> bool:
        """Return whether the process has certainly ended. False in another namespace, which we cannot see."""
        return self.namespace == _namespace() and _read_start_ticks(self.pid) != self.started_ticks

    def application_folder(self, run: int) -> str:
        """Return the name of the group of its ``run``-th application."""
        return f"mead-{self.pid}-{self.started_ticks}-{self.namespace}-{run}"


def parse_owner(folder: str) -> Owner | None:
    """Return the process that made the group of that name; None if the name is not one of ours.

    >>> parse_owner("mead-17-4242-4026531836-0")
    Owner(pid=17, started_ticks=4242, namespace=4026531836)
    >>> parse_owner("system.slice")
    """
    ours = _APPLICATION.fullmatch(folder)
    return Owner(*(int(number) for number in ours.groups())) if ours else None


def operator_folder(operator: str) -> str:
    """Return a folder name for an operator, unique and safe.

    >>> operator_folder("matcher"), operator_folder("../cpu")
    ('op-matcher', 'op-..%2Fcpu')
    """
    safe = _OPERATOR + quote(operator, safe="", errors="surrogatepass")
    if len(safe) <= _MOST_CHARACTERS:
        return safe
    # No short name contains a plus sign: `quote` would have escaped it.
    return f"{safe[: _MOST_CHARACTERS - 65]}+{hashlib.sha256(safe.encode()).hexdigest()}"


def is_operator_folder(folder: str) -> bool:
    """Return whether a group inside an application's group is an operator's."""
    return folder.startswith(_OPERATOR)


def _read_start_ticks(pid: int) -> int | None:
    """Return when a process started; None if it has ended."""
    found = read_process(pid)
    return None if found is None or found.ended else found.started_ticks


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
