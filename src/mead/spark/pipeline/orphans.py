"""Remove files of failed attempts, which will never be committed, and those with old state.

They are removed while queries write. Tasks of a micro-batch begin after the commit of the one before. So a file that
existed while batch n was the last belongs to batch n + 1 at most; once that one or a later one is committed without the
file, it is an orphan. No clock is used, because tasks may run on machines with other clocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, time

from mead.spark.log.key_state import find_unused
from mead.spark.log.stream_log import StreamLog

EVERY_S = 60.0
STALE_S = 3600.0
"""Stamps that were not read by then belong to a failed attempt. If rounds are further apart than this, arrivals are
known by their ranks only."""


class OrphanFinder:
    """Finds orphans in one log, into which a query writes."""

    def __init__(self, folder: Path) -> None:
        self._log = StreamLog(folder)
        self._seen: set[Path] = set()
        """Files that were not part of the log at the last look."""
        self._last = -1
        """The number of the last batch at that time."""

    def sweep(self) -> None:
        """Remove files that were orphans at the last look too, if a batch has been committed since."""
        unused = find_unused(self._log)  # before the last batch is looked up
        uncommitted, last = self._log.find_uncommitted()
        uncommitted |= unused
        if last > self._last:
            for file in self._seen & uncommitted:
                file.unlink(missing_ok=True)
        self._seen, self._last = uncommitted, last


@dataclass
class OrphanSweep:
    """Removes orphans of all logs of a pipeline, and stale stamps. For one thread only."""

    logs: Iterable[Path]
    stamps: Path
    now_s: Callable[[], float] = field(default=monotonic, repr=False)
    _orphans: list[OrphanFinder] = field(init=False, repr=False)
    _due_s: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._orphans = [OrphanFinder(folder) for folder in self.logs]
        self._due_s = self.now_s() + EVERY_S

    def sweep_if_due(self) -> None:
        """Sweep if it is due; call this as often as you like."""
        if self.now_s() >= self._due_s:
            self._due_s = self.now_s() + EVERY_S
            for one in self._orphans:
                one.sweep()
            for file in self.stamps.glob("*"):
                with suppress(FileNotFoundError):  # the reader removed it
                    if file.stat().st_mtime < time() - STALE_S:
                        file.unlink()
