"""Read and write the kernel's control files."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path


def write(file: Path, value: str) -> None:
    """Write a value in a single call, as the kernel requires. Never creates a file."""
    descriptor = os.open(file, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(descriptor, value.encode())
    except OSError as error:
        error.filename = str(file)  # the kernel does not name it
        raise
    finally:
        os.close(descriptor)


def read(file: Path) -> str:
    """Read a whole file without the overhead of text files: the control loop does so every second."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return b"".join(iter(partial(os.read, descriptor, 4096), b"")).decode()
    finally:
        os.close(descriptor)


def read_counters(file: Path) -> dict[str, int]:
    """Read lines of a name and a number, as in ``cpu.stat``."""
    return {name: int(value) for name, value in (line.split() for line in read(file).splitlines())}


def read_processes(group: Path) -> tuple[int, ...]:
    """Return the process ids of the members of a group."""
    return tuple(int(pid) for pid in read(group / "cgroup.procs").split())
