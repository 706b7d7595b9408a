"""Messages of workers to users, through files.

Loads only ``os`` and ``sys`` of the standard library: a worker daemon uses it before anything else is loaded.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which is not loaded

if TYPE_CHECKING:
    from pathlib import Path

COMPLAINTS = ".complaints"
"""Folder for complaints, beside the task numbers; every process has its own file."""

COMPLAINTS_VARIABLE = "MEAD_COMPLAINTS"
"""Environment variable with that folder, for a daemon that complains before it knows its tasks."""

_SAID: set[str] = set()
"""Texts that this process has written to standard error."""


def complain(text: str, folder: str, times: int = 1, *, once: bool = False) -> None:
    """Write one line from a worker, and how often it applies. Use the same text for the same problem.

    Standard error gets each text once. Without a folder, as on another machine, nothing else happens. With ``once``,
    a process writes it once only: for a problem that every row may have.
    """
    if text in _SAID and once:
        return
    if text not in _SAID:
        _SAID.add(text)
        sys.stderr.write(f"{text}\n")  # standard output belongs to the protocol between workers and Spark
    if not folder:
        return
    try:
        file = os.open(f"{folder}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except OSError:
        return
    try:
        os.write(file, f"{times} {text}\n".encode())
    finally:
        os.close(file)


class Complaints:
    """Reads, in the driver, the complaints of workers in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: dict[str, int] = {}
        """Number of occurrences of each complaint."""
        self._read: dict[str, int] = {}
        """Bytes read of each file."""

    def open(self) -> None:
        """Make the folder, and remove the complaints of an earlier run."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            old.unlink()

    def new(self) -> list[str]:
        """Count all complaints since the last call, and return those that are new."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names are enough
        except FileNotFoundError:  # no worker was started
            return []
        first = []
        for name in names:
            with (self.folder / name).open("rb") as file:
                file.seek(self._read.get(name, 0))
                lines = file.read()
            self._read[name] = self._read.get(name, 0) + len(lines)
            for line in lines.decode(errors="replace").splitlines():
                times, _, text = line.partition(" ")
                if text not in self.counts:
                    first.append(text)
                self.counts[text] = self.counts.get(text, 0) + int(times)
        return first
