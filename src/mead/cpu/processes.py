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
    """A process of this machine, from the file ``stat`` in its folder: see proc(5)."""

    pid: int
    parent: int
    ended: bool
    """Whether only its number is left, because its parent has not asked yet how it ended."""
    ticks: int
    """CPU time of the process itself."""
    children_ticks: int
    """CPU time of its children that have ended, and of their children."""
    started_ticks: int
    """Ticks from the start of the machine to its own. They tell it from earlier processes with the same number."""

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the process itself."""
        return self.ticks / TICKS_PER_S


def process(pid: int, processes: Path = PROCESSES) -> Process | None:
    """What is known of a process; None if it does not exist, or the system has no such files.

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
    """All processes that the system shows to this user."""
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 - names are enough
        with suppress(PermissionError):
            if name.isdigit() and (found := process(int(name), processes)) is not None:
                yield found
