"""Names of groups. They say which process made a group, so that leftovers of a crash can be told from groups in use."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mead.cpu.processes import process

_APPLICATION = re.compile(r"mead-([1-9]\d{0,9})-(\d{1,20})-(\d{1,20})-\d{1,10}", re.ASCII)
_OPERATOR = "op-"
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Owner:
    """A process. Ids are reused, so its start time is part of it; and every namespace has ids of its own."""

    pid: int
    started_ticks: int
    namespace: int

    @classmethod
    def this_process(cls) -> Owner:
        """The process that runs this code."""
        started = _started_ticks(os.getpid())
        if started is None:
            raise RuntimeError("/proc does not show this process: mount it to manage CPU shares")
        return cls(os.getpid(), started, _namespace())

    def is_gone(self) -> bool:
        """Whether the process has certainly ended. We cannot tell for another namespace, and say no."""
        return self.namespace == _namespace() and _started_ticks(self.pid) != self.started_ticks

    def application_folder(self, run: int) -> str:
        """The name of the group of its ``run``-th application."""
        return f"mead-{self.pid}-{self.started_ticks}-{self.namespace}-{run}"


def owner_of(folder: str) -> Owner | None:
    """Who made the group of that name; None if the name is not one of ours.

    >>> owner_of("mead-17-4242-4026531836-0")
    Owner(pid=17, started_ticks=4242, namespace=4026531836)
    >>> owner_of("system.slice")
    """
    ours = _APPLICATION.fullmatch(folder)
    return Owner(*(int(number) for number in ours.groups())) if ours else None


def operator_folder(operator: str) -> str:
    """A name that is safe as a directory, and different for different operators.

    >>> operator_folder("matcher"), operator_folder("../cpu")
    ('op-matcher', 'op-..%2Fcpu')
    """
    safe = _OPERATOR + quote(operator, safe="", errors="surrogatepass")
    if len(safe) <= _MOST_CHARACTERS:
        return safe
    # No short name contains a plus sign: it would have been quoted.
    return f"{safe[: _MOST_CHARACTERS - 65]}+{hashlib.sha256(safe.encode()).hexdigest()}"


def is_operator_folder(folder: str) -> bool:
    """Whether a group inside an application's group is an operator's."""
    return folder.startswith(_OPERATOR)


def _started_ticks(pid: int) -> int | None:
    """When a process started; None if it has ended."""
    found = process(pid)
    return None if found is None or found.ended else found.started_ticks


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
