"""Storage of a log's rows: files, or another store such as `rabbitmq.blocks`.

The index of the log says which rows count, and in which order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4
from zlib import crc32

import pyarrow as pa

if TYPE_CHECKING:
    from mead.spark.log.stream_log import Extent

NEW_FOLDER = "start over in a new folder"
START_OVER = f"{NEW_FOLDER}, or in this one with --start-over (in Python, start_over=True)"
WAY_OUT = f"restore it from a copy, or {START_OVER}"
"""The remedy for damaged files. Preference queries have no --start-over; they name only `NEW_FOLDER`."""


class LogError(Exception):
    """The log cannot be used as asked. The message names its folder or file."""


class Store(Protocol):
    """Tasks write to it and read from it. Rows that the index does not name do not count."""

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> str:
        """Store rows; return the name by which they are found again."""

    def read(self, extents: Iterable[Extent]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of extents, in their order."""

    def remove(self, files: Iterable[str]) -> None:
        """Remove files that are no longer needed."""


@dataclass(frozen=True)
class FileStore(Store):
    """Arrow files in a folder, one for each task that has written rows.

    The name of a file ends with the checksum of its bytes, so that the index and every extent carry it. Names without
    one are of earlier versions; such files are read unchecked.
    """

    folder: Path
    verified: bool = False
    """Whether the files to read are known to be whole, because another reader has just verified them."""

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> str:
        """Write rows to a new file. Without rows there is no file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        attempt, rows = uuid4().hex, 0
        path = self.folder / f"{attempt}.arrow"
        try:
            with _ChecksummedFile(FileIO(path, "w")) as file, pa.ipc.new_file(file, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
                    rows += batch.num_rows
        except BaseException:
            path.unlink(missing_ok=True)  # the attempt has failed
            raise
        name = f"{attempt}-{file.checksum:08x}.arrow"
        if rows:
            path.rename(self.folder / name)
        else:
            path.unlink()
        return name

    def read(self, extents: Iterable[Extent]) -> Iterator[pa.RecordBatch]:
        """Read one file after the other. Raises LogError if a file is missing or damaged."""
        for extent in extents:
            path = self.folder / extent.file
            try:
                if not self.verified:
                    _check(path)
                with pa.memory_map(str(path)) as source:
                    table = pa.ipc.open_file(source).read_all().slice(extent.skip, extent.count)
            except (pa.ArrowException, OSError) as error:
                raise LogError(f"{path}: missing or damaged ({' '.join(str(error).split())}); {WAY_OUT}") from None
            yield from table.to_batches()

    def remove(self, files: Iterable[str]) -> None:
        """Delete the files."""
        for file in files:
            (self.folder / file).unlink(missing_ok=True)


class _ChecksummedFile(BufferedWriter):
    """A file that adds up the checksum of its bytes while they are written."""

    checksum = 0

    def write(self, data: Any) -> int:
        self.checksum = crc32(data, self.checksum)
        return super().write(data)


def _check(path: Path) -> None:
    """Raise LogError if a file does not have the checksum in its name."""
    checksum, about = path.stem.partition("-")[2], path.stat()
    if checksum and _checksum(path, about.st_size, about.st_mtime_ns) != checksum:
        raise LogError(f"{path}: damaged: its bytes do not match the checksum in its name; {WAY_OUT}")


@lru_cache(maxsize=1024)
def _checksum(path: Path, size: int, changed_ns: int) -> str:
    """Return the checksum of a file, once for each of its states: a task may read many parts of a file."""
    del changed_ns
    if not size:
        return "00000000"
    with pa.memory_map(str(path)) as source:
        return f"{crc32(source.read_buffer()):08x}"
