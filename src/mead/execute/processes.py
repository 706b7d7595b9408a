"""What the system shows of processes: Linux has a folder for each. Elsewhere, as on macOS, nothing is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROCESSES = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """One of this machine, by the file ``stat`` in its folder: see proc(5)."""

    pid: int
    parent: int
    ended: bool
    """Whether only its number is left: whoever started it has not yet asked how it ended."""
    ticks: int
    """CPU time of its own."""
    children_ticks: int
    """CPU time of its children that have ended, and of theirs."""
    started_ticks: int
    """When it started, since the machine did. It tells a process from others that had its number before."""

    @property
    def cpu_s(self) -> float:
        """CPU seconds of its own."""
        return self.ticks / TICKS_PER_S


def process(pid: int, processes: Path = PROCESSES) -> Process | None:
    """What is known of a process; None if there is none, or the system shows none.

    >>> this = process(os.getpid())
    >>> this is None or (this.parent, this.ended) == (os.getppid(), False)
    True
    """
    try:
        stat = (processes / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Behind the program's name, which may contain anything, comes field 3. Fields 14 to 17 are CPU times, 22 the start.
    fields = stat[stat.rindex(b")") + 2 :].split()
    own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    return Process(pid, int(fields[1]), fields[0] in {b"Z", b"X"}, own, children, int(fields[19]))


def all_processes(processes: Path = PROCESSES) -> Iterator[Process]:
    """All that the system shows to this user."""
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 - names are enough
        with suppress(PermissionError):
            if name.isdigit() and (found := process(int(name), processes)) is not None:
                yield found
