"""Processes as ``/proc`` shows them, and the priority of threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import get_native_id

PROCESSES = Path("/proc")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")

NICE = 10
"""The default of ``nice``: about a tenth of the CPU time of a normal thread that competes with it."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine, from its file ``stat``; see proc(5)."""

    pid: int
    parent: int
    ended: bool
    """Whether it is a zombie: its parent has not read its exit code yet."""
    ticks: int
    """CPU time of the process itself."""
    children_ticks: int
    """CPU time of its children that have ended, and of their children."""
    started_ticks: int
    """Ticks from the start of the machine to its own; they distinguish processes that had the same id."""

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the process itself."""
        return self.ticks / TICKS_PER_S


def read_process(pid: int, processes: Path = PROCESSES) -> Process | None:
    """Read the state of a process; None if it does not exist or the system has no ``/proc``.

    >>> this = read_process(os.getpid())
    >>> this is None or (this.parent, this.ended) == (os.getppid(), False)
    True
    """
    try:
        stat = (processes / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # Field 3 follows the program's name, which may contain anything. Fields 14 to 17 are CPU times, 22 the start.
    fields = stat[stat.rindex(b")") + 2 :].split()
    own, children = sum(map(int, fields[11:13])), sum(map(int, fields[13:15]))
    return Process(pid, int(fields[1]), fields[0] in {b"Z", b"X"}, own, children, int(fields[19]))


def list_processes(processes: Path = PROCESSES) -> Iterator[Process]:
    """Yield all processes that the system shows to this user."""
    for name in os.listdir(processes) if processes.is_dir() else ():  # noqa: PTH208 - names are enough
        with suppress(PermissionError):
            if name.isdigit() and (found := read_process(int(name), processes)) is not None:
                yield found


def count_cpus() -> int:
    """Count the CPUs that this process may use, or all where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def give_way() -> None:
    """Lower the priority of the calling thread, and of threads that it starts later.

    A fit takes the better part of a second. On two cores the stream would have only one of them for that long.
    """
    if sys.platform == "linux":  # elsewhere that number would name some process, not this thread
        with suppress(OSError):
            thread = os.PRIO_PROCESS, get_native_id()
            os.setpriority(*thread, max(NICE, os.getpriority(*thread)))
