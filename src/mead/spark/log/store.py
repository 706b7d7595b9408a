"""Storage of a log's rows: files, or another store such as `rabbitmq.blocks`.

The index of the log says which rows count, and in which order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import uuid4

import pyarrow as pa

if TYPE_CHECKING:
    from mead.spark.log.stream_log import Extent


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
    """Arrow files in a folder, one for each task that has written rows."""

    folder: Path

    def write(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> str:
        """Write rows to a new file. Without rows there is no file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name, rows = f"{uuid4().hex}.arrow", 0
        path = self.folder / name
        try:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
                    rows += batch.num_rows
        except BaseException:
            path.unlink(missing_ok=True)  # the attempt has failed
            raise
        if not rows:
            path.unlink()
        return name

    def read(self, extents: Iterable[Extent]) -> Iterator[pa.RecordBatch]:
        """Read one file after the other."""
        for extent in extents:
            with pa.memory_map(str(self.folder / extent.file)) as source:
                table = pa.ipc.open_file(source).read_all().slice(extent.skip, extent.count)
                yield from table.to_batches()

    def remove(self, files: Iterable[str]) -> None:
        """Delete the files."""
        for file in files:
            (self.folder / file).unlink(missing_ok=True)
