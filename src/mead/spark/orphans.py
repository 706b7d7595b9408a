"""Files in logs that nobody will ever commit, of attempts that failed: killed tasks, and batches that were tried again.

They are cleared away while queries write. Tasks of a micro-batch begin when the one before has been committed. So a
file that was there while batch n was the last is of batch n + 1 at most; and if that one, or a later one, has been
committed and no line names the file, none will. No clock is asked, for tasks may run on machines that have others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, time

from mead.spark.log import StreamLog

EVERY_S = 60.0
STALE_S = 3600.0
"""Stamps that nobody has read by then are of an attempt that failed. Where rounds are further apart than this, arrivals
are known by ranks."""


class Orphans:
    """Of the log in one folder, into which a query writes."""

    def __init__(self, folder: Path) -> None:
        self._log = StreamLog(folder)
        self._seen: set[Path] = set()
        """Files that were not part of the log at the last look."""
        self._last = -1
        """The last batch then."""

    def sweep(self) -> None:
        """Remove those that were orphans already at the last look, whatever has been committed since."""
        uncommitted, last = self._log.uncommitted()
        if last > self._last:
            for file in self._seen & uncommitted:
                file.unlink(missing_ok=True)
        self._seen, self._last = uncommitted, last


@dataclass
class OrphanSweep:
    """Of all logs of a pipeline, and of the stamps that tasks have noted. For one thread: it reads logs for itself."""

    logs: Iterable[Path]
    stamps: Path
    now_s: Callable[[], float] = field(default=monotonic, repr=False)
    _orphans: list[Orphans] = field(init=False, repr=False)
    _due_s: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._orphans = [Orphans(folder) for folder in self.logs]
        self._due_s = self.now_s() + EVERY_S

    def now_and_then(self) -> None:
        """Call it as often as you like."""
        if self.now_s() >= self._due_s:
            self._due_s = self.now_s() + EVERY_S
            for one in self._orphans:
                one.sweep()
            for file in self.stamps.glob("*"):
                with suppress(FileNotFoundError):  # somebody has read it just now
                    if file.stat().st_mtime < time() - STALE_S:
                        file.unlink()
