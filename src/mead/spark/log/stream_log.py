"""Append-only log between two operators: Arrow files and an index.

Tasks write files, or give their rows to another store such as a broker. A batch becomes part of the log when one line
is appended to the index, so that all its files count or none. A batch repeated after a crash is not added twice.
Offsets are row numbers since the beginning; readers may read any range that is kept, as often as they like. The index
also counts the rows for each reader, where rows name their readers (`addresses`).

The index survives the end of any process. After a crash of the machine, the last lines may be missing: files are not
forced to disk, just as Spark does not force its checkpoints to a local disk.
"""

from __future__ import annotations

import fcntl
import json
import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa

from mead.spark.log.addresses import ALL_READERS, TO, Counts, count_for, count_readers
from mead.spark.log.store import FileStore, Store
from mead.spark.log.tasks import divide_rows, read_number, write_number

INDEX, DATA, START, CONSUMERS = "index", "data", "start", "consumers"


class LogError(Exception):
    """The log cannot be used as asked. The message names its folder."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that a task has written, not yet part of the log."""

    file: str
    rows: int
    addressed: Counts | None = None
    """Rows by reader; None if rows do not name their readers."""

    def row(self, note: str = "null") -> pa.RecordBatch:
        """Return one row that reports the file to the sink, with a note of its task (JSON)."""
        addressed = json.dumps(self.addressed)
        return pa.record_batch({"file": [self.file], "rows": [self.rows], "note": [note], "addressed": [addressed]})


@dataclass(frozen=True)
class IndexEntry:
    """One file of a committed batch; its rows have the offsets from ``first`` on."""

    file: str
    first: int
    rows: int
    before: Counts
    """Rows of the log before it, by reader."""
    batch: int

    @property
    def end(self) -> int:
        """The offset after its last row."""
        return self.first + self.rows


@dataclass(frozen=True)
class BatchNotes:
    """Number of rows of a batch, and the notes of its tasks."""

    rows: int = 0
    notes: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Extent:
    """``count`` rows, from row ``skip`` on, of one file or its equivalent in another store."""

    file: str
    skip: int
    count: int


@dataclass
class StreamLog:
    """The log in a folder. The first writer makes the folder."""

    folder: Path
    keep_notes: bool = False
    """Whether to keep the notes of tasks for a reader."""
    store: Store | None = None
    """Storage of the rows; None for files in the folder."""
    _entries: list[IndexEntry] = field(default_factory=list, repr=False)
    _last: int = field(default=-1, repr=False)
    """The number of the last batch; numbers increase."""
    _read: int = field(default=0, repr=False)
    """Bytes of the index that have been read."""
    _noted: dict[int, BatchNotes] = field(default_factory=dict, repr=False)
    _addressed: Counter[str] = field(default_factory=Counter, repr=False)
    """All rows so far, by reader."""

    @property
    def end(self) -> int:
        """The offset of the next row to be written."""
        self._catch_up()
        return self._entries[-1].end if self._entries else 0

    @property
    def last(self) -> int:
        """The number of the last batch; -1 if there is none."""
        self._catch_up()
        return self._last

    @property
    def start(self) -> int:
        """The offset of the first row that is kept."""
        return read_number(self.folder / START, missing=0)

    def count_for_reader(self, reader: str, offset: int) -> int:
        """Return how many of the rows before an offset are for this reader.

        Where rows name their readers, the offset must lie between batches; readers stop nowhere else.
        """
        self._catch_up()
        if self._addressed.keys() <= {ALL_READERS}:
            return offset
        at = bisect_left(self._entries, offset, key=lambda entry: entry.first)
        return count_for(self._entries[at].before if at < len(self._entries) else self._addressed, reader)

    def take_batch_notes(self, batch: int) -> BatchNotes:
        """Return the notes of a batch, once: it and all earlier ones are then forgotten."""
        self._catch_up()
        self._noted = {number: noted for number, noted in self._noted.items() if number >= batch}
        return self._noted.pop(batch, BatchNotes())

    def take_notes(self) -> list[Any]:
        """Return the notes since the last call, in the order of the batches."""
        self._catch_up()
        found, self._noted = self._noted, {}
        return [note for noted in found.values() for note in noted.notes]

    @property
    def _rows(self) -> Store:
        return self.store or FileStore(self.folder / DATA)

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> WrittenFile:
        """Write rows to a new file, which the sink makes part of the log. Without rows there is no file."""
        rows, addressed = 0, Counter[str]()

        def seen() -> Iterator[pa.RecordBatch]:
            nonlocal rows, addressed
            for batch in batches:
                rows += batch.num_rows
                if TO in schema.names:
                    addressed += count_readers(batch)
                yield batch
            self._check_readers(addressed)

        name = self._rows.write(seen(), schema)
        return WrittenFile(name, rows, addressed if TO in schema.names else None)

    def _check_readers(self, addressed: Counts) -> None:
        if unknown := addressed.keys() - {ALL_READERS} - {path.name for path in (self.folder / CONSUMERS).glob("*")}:
            raise LogError(f"{self.folder}: rows are for {', '.join(sorted(unknown))}, which does not read this stream")

    def repair(self) -> int:
        """Remove leftovers of a crash, before the only writer starts; return the last batch, or -1."""
        with self._locked() as index:
            os.ftruncate(index, self._read)
            orphans, last = self.find_uncommitted()
            for file in orphans:
                file.unlink(missing_ok=True)
            return last

    def find_uncommitted(self) -> tuple[set[Path], int]:
        """Return files that are not part of the log, and the last batch, read after the files."""
        there = set((self.folder / DATA).glob("*.arrow"))
        self._catch_up()
        return there - {self.folder / DATA / entry.file for entry in self._entries}, self._last

    def commit(self, batch: int, files: Sequence[tuple[WrittenFile, Any]]) -> None:
        """Append a line to the index with these files and a note on each: all count or none.

        For writers that are not Spark queries; the sink writes the same for those. The line is not read back, so that a
        process that only writes does not keep it in memory.
        """
        entries = [(written.file, written.rows, note, written.addressed) for written, note in files]
        content = json.dumps([batch, entries], separators=(",", ":")).encode()
        with (self.folder / INDEX).open("ab") as index:
            fcntl.flock(index, fcntl.LOCK_EX)
            index.write(b"%08x %s\n" % (crc32(content), content))

    def batch_ends(self, start: int, most_rows: int) -> list[int]:
        """Return the ends of the batches after an offset, at least one, with at most ``most_rows`` together."""
        self._catch_up()
        ends = list({entry.batch: entry.end for entry in self._entries[self._count_until(start) :]}.values())
        return [end for end in ends if end - start <= most_rows] or ends[:1]

    def divide(self, start: int, end: int, tasks: int) -> list[list[Extent]]:
        """Divide the rows from one offset to another among the tasks, as evenly as possible."""
        self._catch_up()
        if start < self.start or end > self.end:
            raise LogError(
                f"{self.folder}: cannot read rows {start} to {end}; the log has rows {self.start} to {self.end}"
            )
        return [self._find_extents(first, last) for first, last in divide_rows(start, end, tasks)]

    def read(self, extents: Iterable[Extent]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of extents, in their order."""
        yield from self._rows.read(extents)

    def register(self, consumer: str) -> None:
        """Keep rows for a consumer until it releases them."""
        with self._locked():
            (self.folder / CONSUMERS).mkdir(exist_ok=True)
            if not (self.folder / CONSUMERS / consumer).exists():
                write_number(self.folder / CONSUMERS / consumer, self.start)

    def release(self, consumer: str, end: int) -> None:
        """Release the rows below ``end`` for a consumer, and remove files that no consumer needs.

        Consumers are separate processes. Without the lock, one that read earlier could set the start back to removed
        files.
        """
        with self._locked():
            write_number(self.folder / CONSUMERS / consumer, end)
            consumers = [path for path in (self.folder / CONSUMERS).iterdir() if not path.name.startswith(".")]
            below = min(read_number(path, missing=0) for path in consumers)
            gone = self._entries[self._count_until(self.start) : self._count_until(below)]
            if gone:
                write_number(self.folder / START, gone[-1].end)  # before the files go
            self._rows.remove(entry.file for entry in gone)

    def _count_until(self, offset: int) -> int:
        """Return how many entries end at this offset or before it."""
        return bisect_right(self._entries, offset, key=lambda entry: entry.end)

    def _find_extents(self, start: int, end: int) -> list[Extent]:
        found = []
        at = bisect_right(self._entries, start, key=lambda entry: entry.first) - 1
        for entry in self._entries[at:]:
            if entry.first >= end:
                break
            skip = max(start - entry.first, 0)
            found.append(Extent(entry.file, skip, min(end - entry.first, entry.rows) - skip))
        return found

    def _catch_up(self) -> None:
        """Read the lines added to the index since the last time."""
        try:
            with (self.folder / INDEX).open("rb") as index:
                index.seek(self._read)
                added = index.read()
        except FileNotFoundError:
            return
        for line in added.splitlines(keepends=True):
            content = _parse_line(line)
            if content is None:
                break  # the line is still being written, or was cut off by a crash
            self._read += len(line)
            batch, files = content
            self._last = batch
            if self.keep_notes:
                notes = tuple(note for _, _, note, _ in files if note is not None)
                self._noted[batch] = BatchNotes(sum(rows for _, rows, _, _ in files), notes)
            for file, rows, _, addressed in files:
                if rows:
                    first = self._entries[-1].end if self._entries else 0
                    self._entries.append(IndexEntry(file, first, rows, dict(self._addressed), batch))
                    self._addressed.update({ALL_READERS: rows} if addressed is None else addressed)
        # Forget removed files. The last entry stays, because the next one begins at its end.
        del self._entries[: min(self._count_until(self.start), len(self._entries) - 1)]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Lock the index for this process, with everything in it read."""
        self.folder.mkdir(parents=True, exist_ok=True)
        index = os.open(self.folder / INDEX, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            fcntl.flock(index, fcntl.LOCK_EX)
            self._catch_up()
            yield index
        finally:
            os.close(index)
            self._catch_up()


def _parse_line(line: bytes) -> tuple[int, list[tuple[str, int, Any, Counts | None]]] | None:
    """Parse a line of the index; None if it is incomplete."""
    checksum, _, content = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % crc32(content):
        return None
    batch, files = json.loads(content)
    return batch, [(file, rows, note, addressed) for file, rows, note, addressed in files]
