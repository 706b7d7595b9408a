"""A writer of the embedded log, for tests: its index gets the lines that the sink in Java writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from mead.spark.log.stream_log import StreamLog, WrittenFile


def commit(log: StreamLog, batch: int, written: Sequence[WrittenFile], notes: Sequence[Any] | None = None) -> None:
    """Make files part of the log, with what their tasks have noted."""
    with (log.folder / "index").open("ab") as index:
        index.write(line(batch, written, notes))


def line(batch: int, written: Sequence[WrittenFile], notes: Sequence[Any] | None = None) -> bytes:
    """A checksum, and what it is of."""
    files = [
        (w.file, w.rows, note, w.addressed) for w, note in zip(written, notes or [None] * len(written), strict=True)
    ]
    content = json.dumps([batch, files], separators=(",", ":")).encode()
    return b"%08x %s\n" % (crc32(content), content)
