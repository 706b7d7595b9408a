"""What workers have to say to people. Nobody who looks at a run sees their standard error, so they also put it down.

Of the standard library this loads nothing but ``os`` and ``sys``: a worker daemon uses it before anything is loaded.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which is not loaded

if TYPE_CHECKING:
    from pathlib import Path

COMPLAINTS = ".complaints"
"""The folder for them, beside the orders that workers are given: of each process a file."""

COMPLAINTS_VARIABLE = "MEAD_COMPLAINTS"
"""That folder in the environment of a daemon that may have something to say before it knows anything of orders."""

_SAID: set[str] = set()
"""By this process, on standard error."""


def complain(text: str, folder: str, times: int = 1) -> None:
    """In a worker: one line, which is the same whenever the same is wrong, and how often it was seen now.

    Standard error has it once. Where there is no folder, as on another machine, that is all.
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
    """In the driver: what has been put down in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: dict[str, int] = {}
        """How often each was seen."""
        self._read: dict[str, int] = {}
        """Bytes by file."""

    def open(self) -> None:
        """Make the folder. What a run before has left there is forgotten."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            old.unlink()

    def new(self) -> list[str]:
        """Those that were not heard before; all are counted."""
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
