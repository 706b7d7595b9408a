"""Stamps of the rows that come of some inputs, noted by the tasks that read and write them.

All tasks choose the same inputs by their stamps, so no operator has to be told. The stamps travel in small files in the
folder of the run, as those of the source do, and not through Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa

from mead.arrays import IntArray
from mead.spark.log.addresses import rows_by_reader
from mead.spark.telemetry.probe import FOLLOWED, MOST_SAMPLED, NONE_US, OBSERVATION, SAMPLED_ONE_OF, STAMP

TREES = "trees"
"""The key of a task's note."""

MOST_COUNTS = 100_000
"""A task notes how many rows of each chosen input it reads and writes for each reader. Above so many counts it notes
none; its inputs are not followed."""


@dataclass(frozen=True, eq=False)
class TreeSample:
    """Stamps of the rows of chosen inputs, one per row: those read, and those written, by reader."""

    read_us: IntArray = field(default_factory=lambda: NONE_US)
    written_us: Mapping[str, IntArray] = field(default_factory=dict)

    @classmethod
    def merge(cls, parts: Sequence[TreeSample]) -> TreeSample:
        """Merge the samples of all tasks of a micro-batch."""
        names = dict.fromkeys(name for part in parts for name in part.written_us)
        written_us = {name: _joined(part.written_us.get(name, NONE_US) for part in parts) for name in names}
        return cls(_joined(part.read_us for part in parts), written_us)

    @classmethod
    def from_observation(cls, observed: Mapping[str, Any]) -> TreeSample:
        """Read the rows that a query with `add_probe` has read."""
        values = observed.get(OBSERVATION) or {}
        read_us = np.asarray(values.get(FOLLOWED) or [], dtype=np.int64)
        if read_us.size >= MOST_SAMPLED:  # Spark has cut the oldest off, perhaps in the middle of an input
            read_us = read_us[read_us > read_us.min()]
        return cls(read_us)

    def write(self, folder: Path) -> dict[str, Any] | None:
        """Write the stamps to a file in the folder; return a note by which `read` finds it. None without rows.

        The file has each stamp once, and its rows: of an input there may be thousands.
        """
        counted = [np.unique(part, return_counts=True) for part in (self.read_us, *self.written_us.values())]
        read, *written = (stamps.size for stamps, _ in counted)
        if not 0 < read + sum(written) <= MOST_COUNTS:
            return None
        name = uuid4().hex
        np.concatenate([numbers for both in zip(*counted, strict=True) for numbers in both]).tofile(folder / name)
        return {"file": name, "read": read, "written": dict(zip(self.written_us, written, strict=True))}

    @classmethod
    def read(cls, note: Mapping[str, Any] | None, folder: Path) -> TreeSample:
        """Read the stamps of such a note, and remove their file."""
        if note is None:
            return cls()
        with suppress(FileNotFoundError):  # it was removed as stale
            stamps_us, rows = np.fromfile(folder / note["file"], dtype=np.int64).reshape(2, -1)
            (folder / note["file"]).unlink()
            ends = np.cumsum([note["read"], *note["written"].values()])[:-1]
            parts = zip(np.split(stamps_us, ends), np.split(rows, ends), strict=True)
            read_us, *written_us = (np.repeat(stamps, counts) for stamps, counts in parts)
            return cls(read_us, dict(zip(note["written"], written_us, strict=True)))
        return cls()


class WrittenRows:
    """Collects the stamps of rows of chosen inputs on their way into a file."""

    def __init__(self) -> None:
        self._parts: dict[str, list[IntArray]] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows. Those without stamps are not followed."""
        if STAMP not in batch.schema.names:
            return
        stamps_us, known = _stamps(batch)
        chosen = known & is_chosen(stamps_us)
        for reader, rows in rows_by_reader(batch).items():
            self._parts.setdefault(reader, []).append(stamps_us[rows & chosen])

    @property
    def stamps_us(self) -> dict[str, IntArray]:
        """By reader, one stamp per row."""
        return {reader: _joined(parts) for reader, parts in self._parts.items()}


def is_chosen(stamps_us: IntArray) -> Any:
    """Whether inputs with these stamps are followed."""
    return stamps_us % SAMPLED_ONE_OF == 0


def _stamps(batch: pa.RecordBatch) -> tuple[IntArray, Any]:
    column = batch.column(STAMP)
    return column.fill_null(0).to_numpy(zero_copy_only=False), column.is_valid().to_numpy(zero_copy_only=False)


def _joined(parts: Iterable[IntArray]) -> IntArray:
    return np.concatenate([NONE_US, *parts])
