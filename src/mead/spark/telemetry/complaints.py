"""What workers have to tell people. Nobody who watches a run sees their standard error, so they also write to files.

Of the standard library this loads nothing but ``os`` and ``sys``: a worker daemon uses it before anything is loaded.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which is not loaded

if TYPE_CHECKING:
    from pathlib import Path

COMPLAINTS = ".complaints"
"""The folder for complaints, beside the orders that workers are given; every process has a file of its own."""

COMPLAINTS_VARIABLE = "MEAD_COMPLAINTS"
"""Environment variable with that folder, for a daemon that may complain before it knows where its orders are."""

_SAID: set[str] = set()
"""What this process has already said on standard error."""


def complain(text: str, folder: str, times: int = 1) -> None:
    """Say one line from a worker, worded the same each time the same is wrong, and how often it was seen this time.

    Standard error gets it once. Without a folder, as on another machine, that is all that happens.
    """
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
    """Reads, in the driver, what workers have written to the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: dict[str, int] = {}
        """How often each complaint was seen."""
        self._read: dict[str, int] = {}
        """Bytes that have been read of each file."""

    def open(self) -> None:
        """Make the folder, and forget what an earlier run has left in it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            old.unlink()

    def new(self) -> list[str]:
        """Count all complaints since the last call, and return those that were never heard before."""
        try:
            names = os.listdir(self.folder)  # noqa: PTH208 - names are enough
        except FileNotFoundError:  # nobody was started who could complain
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
