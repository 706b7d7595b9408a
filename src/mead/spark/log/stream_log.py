"""Append-only log between two operators: Arrow files and an index.

Tasks write files, or give their rows to another store such as a broker. A batch becomes part of the log when one line
is appended to the index, so that all its files count or none. A batch repeated after a crash is not added twice.
Offsets are row numbers since the beginning; readers may read any range that is kept, as often as they like. The index
also counts the rows for each reader, where rows name their readers (`addresses`).

Only one writer at a time may add batches. Each new one puts a token of its own into the file `writer`, and the sink
compares it under a lock before it adds a batch. So a process of an earlier run that wakes up again adds nothing. A
reader compares the last line that it has read. So it releases nothing in the log of a run that has started over.

The index survives the end of any process. After a crash of the machine, the last lines may be missing: files are not
forced to disk, just as Spark does not force its checkpoints to a local disk.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import pyarrow as pa

from mead.spark.log.addresses import ALL_READERS, TO, Counts, count_for, count_readers, count_values
from mead.spark.log.store import WAY_OUT, FileStore, LogError, Store
from mead.spark.log.tasks import divide_rows, read_number, write_number

INDEX, DATA, START, CONSUMERS, WRITER = "index", "data", "start", "consumers", "writer"

COUNTED = "counted"
"""The key of the counts in a task's note."""

LOCK_S = 10.0
"""Maximum wait for an earlier writer that is adding a batch at this moment."""


@dataclass(frozen=True)
class WrittenFile:
    """A file that a task has written, not yet part of the log."""

    file: str
    rows: int
    addressed: Counts | None = None
    """Rows by reader; None if rows do not name their readers."""
    counted: Counts | None = None
    """Rows by the value of the counted column; None if none is counted."""

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
    counts: str | None = None
    """The column whose values are counted as rows are written; None for no column."""
    token: str = ""
    """The token of this writer, after `repair`."""
    _entries: list[IndexEntry] = field(default_factory=list, repr=False)
    _last: int = field(default=-1, repr=False)
    """The number of the last batch; numbers increase."""
    _read: int = field(default=0, repr=False)
    """Bytes of the index that have been read."""
    _last_line: bytes = field(default=b"", repr=False)
    """The last line of them, with its newline."""
    _noted: dict[int, BatchNotes] = field(default_factory=dict, repr=False)
    _last_notes: tuple[Any, ...] = field(default=(), repr=False)
    _addressed: Counter[str] = field(default_factory=Counter, repr=False)
    """All rows so far, by reader."""
    _counted: Counter[str] = field(default_factory=Counter, repr=False)

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
    def last_notes(self) -> tuple[Any, ...]:
        """The notes of the tasks of the last batch."""
        self._catch_up()
        return self._last_notes

    @property
    def start(self) -> int:
        """The offset of the first row that is kept."""
        return read_number(self.folder / START, missing=0)

    @property
    def counted(self) -> dict[str, int]:
        """All committed rows so far by the value of the counted column, largest count first.

        Each task notes its counts beside its file, so that they are added with the batch, all or none.
        """
        self._catch_up()
        return dict(self._counted.most_common())

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
        rows, addressed, counted = 0, Counter[str](), Counter[str]()

        def seen() -> Iterator[pa.RecordBatch]:
            nonlocal rows, addressed
            for batch in batches:
                rows += batch.num_rows
                if TO in schema.names:
                    addressed += count_readers(batch)
                if self.counts is not None:
                    counted.update(count_values(batch.column(self.counts)))
                yield batch
            self._check_readers(addressed)

        name = self._rows.write(seen(), schema)
        return WrittenFile(
            name, rows, addressed if TO in schema.names else None, None if self.counts is None else counted
        )

    def _check_readers(self, addressed: Counts) -> None:
        if unknown := addressed.keys() - {ALL_READERS} - {path.name for path in (self.folder / CONSUMERS).glob("*")}:
            raise LogError(f"{self.folder}: rows are for {', '.join(sorted(unknown))}, which does not read this stream")

    def repair(self) -> int:
        """Shut out earlier writers and remove leftovers of a crash; return the last batch, or -1.

        Cuts the end of the index after its last newline, and deletes files that no line names. A line that an earlier
        writer adds while this waits for it counts. Raises LogError before it changes anything if a line is damaged.
        """
        with self._locked() as index, self._shutting_out():
            os.ftruncate(index, self._read)
            orphans, last = self.find_uncommitted()
            for file in orphans:
                file.unlink(missing_ok=True)
            return last

    def check(self) -> None:
        """Raise LogError if files of the log are missing or damaged. Rows are checked when they are read."""
        self._catch_up()
        end, start = self.end, self.start
        if start > end:
            raise LogError(f"{self.folder / INDEX}: it ends at row {end}, before row {start} in `{START}`; {WAY_OUT}")
        for consumer in self._consumers():
            read_number(consumer)
        if self.store is None:
            for entry in self._entries[self._count_until(start) :]:
                if not (file := self.folder / DATA / entry.file).exists():
                    raise LogError(f"{file}: missing, though `{INDEX}` names it; {WAY_OUT}")

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

    def divide(self, start: int, end: int, tasks: int | Sequence[float]) -> list[list[Extent]]:
        """Divide the rows from one offset to another among the tasks, as `divide_rows` does."""
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
            below = min(read_number(path, missing=0) for path in self._consumers())
            gone = self._entries[self._count_until(self.start) : self._count_until(below)]
            if gone:
                write_number(self.folder / START, gone[-1].end)  # before the files go
            self._rows.remove(entry.file for entry in gone)

    def _consumers(self) -> list[Path]:
        """Return the files with the numbers of consumers."""
        return [path for path in (self.folder / CONSUMERS).glob("*") if not path.name.startswith(".")]

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
        path = self.folder / INDEX
        try:
            with path.open("rb") as index:
                size = os.fstat(index.fileno()).st_size
                index.seek(self._read - len(self._last_line))
                before, added = index.read(len(self._last_line)), index.read()
        except FileNotFoundError:
            size, before, added = 0, b"", b""
        if size < self._read:
            raise LogError(f"{path}: it has lost lines: {self._read} bytes were read, and {size} are left; {WAY_OUT}")
        if before != self._last_line:
            raise LogError(f"{path}: another run has begun this stream again; this one neither reads nor releases rows")
        # Text after the last newline is a line that is still being written, or was cut off by a crash.
        for line in added.split(b"\n")[:-1]:
            content = _parse_line(line)
            if content is None:
                raise LogError(f"{path}: the line at byte {self._read} is damaged; {WAY_OUT}")
            batch, files = content
            if batch <= self._last:
                raise LogError(f"{path}: batch {batch} comes after batch {self._last}; {WAY_OUT}")
            self._read += len(line) + 1
            self._last_line, self._last = line + b"\n", batch
            self._add(batch, files)
        # Forget removed files. The last entry stays, because the next one begins at its end.
        del self._entries[: min(self._count_until(self.start), len(self._entries) - 1)]

    def _add(self, batch: int, files: Sequence[tuple[str, int, Any, Counts | None]]) -> None:
        """Add the files of a batch, with the notes of their tasks."""
        self._last_notes = tuple(note for _, _, note, _ in files if note is not None)
        if self.keep_notes:
            self._noted[batch] = BatchNotes(sum(rows for _, rows, _, _ in files), self._last_notes)
        for file, rows, note, addressed in files:
            if isinstance(note, dict):
                self._counted.update(note.get(COUNTED) or {})
            if rows:
                first = self._entries[-1].end if self._entries else 0
                self._entries.append(IndexEntry(file, first, rows, dict(self._addressed), batch))
                self._addressed.update({ALL_READERS: rows} if addressed is None else addressed)

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

    @contextmanager
    def _shutting_out(self) -> Iterator[None]:
        """Lock out the sink of an earlier run, read its last lines, and put a new token into the file `writer`.

        Java's locks are those of `lockf`, which do not see those of `flock`. Closing any descriptor of a file in the
        process releases them, so that the index itself cannot be used.
        """
        with (self.folder / WRITER).open("a+") as token:
            until_s = time.monotonic() + LOCK_S
            while True:
                try:
                    fcntl.lockf(token, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except (BlockingIOError, PermissionError):
                    if time.monotonic() > until_s:
                        raise LogError(
                            f"{self.folder}: a process of an earlier run is writing to it and does not go on; end that "
                            "process (a Java one, perhaps stopped), and try again"
                        ) from None
                    time.sleep(0.05)
            self._catch_up()
            self.token = uuid4().hex
            token.truncate(0)
            token.write(self.token)
            token.flush()
            yield


def _parse_line(line: bytes) -> tuple[int, list[tuple[str, int, Any, Counts | None]]] | None:
    """Parse a line of the index; None if it is damaged."""
    checksum, _, content = line.partition(b" ")
    if checksum != b"%08x" % crc32(content):
        return None
    batch, files = json.loads(content)
    return batch, [(file, rows, note, addressed) for file, rows, note, addressed in files]
