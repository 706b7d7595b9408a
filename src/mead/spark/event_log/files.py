"""Find the files of an event log, and read their lines.

Spark writes a rolling log into a folder ``eventlog_v2_APPLICATION`` or, with rolling off, into one file. Both may be
compressed by any of Spark's codecs. The codec is told by the first bytes of a file, so a log may be renamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import pyarrow as pa

CHUNK_BYTES = 1 << 12
"""Bytes decompressed at once. A file that ends too early loses less than this before its damage."""

MOST_LINE_BYTES = 1 << 28
MOST_BLOCK_BYTES = 1 << 27
"""The longest line and the largest compressed block that are read. Spark's own are far smaller."""

ROLLING, PART = "eventlog_v2_", re.compile(r"events_(\d+)_")
RUNNING = ".inprogress"

ENABLE = "write one with spark.eventLog.enabled=true and spark.eventLog.dir=FOLDER"


class EventLogError(ValueError):
    """An event log cannot be used. The message names the file, the line, and what to do."""


class Source(Protocol):
    """Bytes to read."""

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes; none at the end."""


@dataclass
class EventLogFiles:
    """The files of one application's log, in order."""

    path: Path
    files: list[Path]
    running: bool
    """Whether the application was still running when the log was copied."""
    cut: str = field(default="", init=False)
    """Where the log ends too early; empty if it does not."""

    @classmethod
    def find(cls, path: Path) -> EventLogFiles:
        """Find the log of an application: a file, a folder of a rolling log, or a folder with one log in it."""
        try:
            if not path.is_dir():
                if not path.exists():
                    raise EventLogError(f"{path}: there is no such file or folder; {ENABLE}")
                return cls(path, [path], path.name.endswith(RUNNING))
            names = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))
        except OSError as error:
            raise EventLogError(f"{path}: cannot be read ({error.strerror or error})") from error
        parts = sorted((int(found[1]), name) for name in names if (found := PART.match(name)))
        if not parts:
            return cls._inside(path, names)
        # A compacted file stands for all parts up to its own number.
        compacted = max((number for number, name in parts if name.endswith(".compact")), default=0)
        parts = [p for p in parts if p[0] > compacted or (p[0] == compacted and p[1].endswith(".compact"))]
        missing = sorted(set(range(parts[0][0], parts[-1][0] + 1)) - {number for number, _ in parts})
        if missing:
            raise EventLogError(f"{path}: part events_{missing[0]}_… is missing; copy the whole folder")
        running = any(name.startswith("appstatus_") and name.endswith(RUNNING) for name in names)
        return cls(path, [path / name for _, name in parts], running)

    @classmethod
    def _inside(cls, path: Path, names: list[str]) -> EventLogFiles:
        """Find the only log in a folder of logs."""
        logs = [name for name in names if name.startswith(ROLLING)]
        logs = logs or [name for name in names if (path / name).is_file() and not name.startswith("appstatus_")]
        if len(logs) == 1:
            return cls.find(path / logs[0])
        if logs:
            raise EventLogError(f"{path}: holds {len(logs)} logs; name one of them, such as {path / logs[-1]}")
        raise EventLogError(f"{path}: holds no event log; {ENABLE}")

    @property
    def size_bytes(self) -> int:
        """Size on the disk."""
        return sum(file.stat().st_size for file in self.files)

    def lines(self, progress: Callable[[int], None] = lambda _: None) -> Iterator[tuple[str, bytes]]:
        """Yield every line with its place, such as ``events_1_app:17``. ``progress`` gets the bytes read so far.

        A last line without an end, or a compressed file that ends too early, is left out and noted in ``cut``: an
        application that runs or was killed leaves both.
        """
        before = 0
        for file in self.files:
            try:
                with file.open("rb") as raw:
                    for number, line in enumerate(self._split(file, raw), 1):
                        if number % 256 == 0:
                            progress(before + raw.tell())
                        yield f"{file}:{number}", line
                before += file.stat().st_size
            except OSError as error:
                raise EventLogError(f"{file}: cannot be read ({error.strerror or error})") from error
            progress(before)

    def _split(self, file: Path, raw: BinaryIO) -> Iterator[bytes]:
        """Yield the lines of one file."""
        rest, number = bytearray(), 0
        try:
            for chunk in _chunks(raw):
                first, *others = chunk.split(b"\n")
                rest += first
                for other in others:
                    number += 1
                    yield bytes(rest)
                    rest = bytearray(other)
                if len(rest) > MOST_LINE_BYTES:
                    raise EventLogError(f"{file}:{number + 1}: the line is too long for an event; {ENABLE}")
        except _CutError as error:
            self.cut = f"{file}:{number + 1}: {error}"
        else:
            if rest:
                self.cut = f"{file}:{number + 1}: the last line is incomplete"


class _CutError(Exception):
    """A compressed file ends too early or is damaged from here on."""


def _chunks(raw: BinaryIO) -> Iterator[bytes]:
    """Yield the decompressed content of a file."""
    start = raw.read(8)
    raw.seek(0)
    if start[:4] == b"\x28\xb5\x2f\xfd":
        return _zstd_chunks(raw)
    if start == b"LZ4Block":
        return _lz4_chunks(raw)
    if start == b"\x82SNAPPY\x00":
        return _snappy_chunks(raw)
    if start[:2] == b"ZV":
        raise EventLogError(
            f"{raw.name}: is compressed by lzf, which is not supported; "
            "set spark.eventLog.compression.codec to zstd, lz4 or snappy"
        )
    return iter(lambda: raw.read(1 << 16), b"")


def _zstd_chunks(raw: BinaryIO) -> Iterator[bytes]:
    with pa.PythonFile(raw, mode="r") as file, pa.CompressedInputStream(file, "zstd") as stream:
        while True:
            try:
                chunk = stream.read(CHUNK_BYTES)
            except OSError as error:
                raise _CutError(f"the compressed file ends too early or is damaged ({error})") from error
            if not chunk:
                return
            yield chunk


def _lz4_chunks(raw: Source) -> Iterator[bytes]:
    """Blocks of lz4-java: magic, method, sizes of both forms and a checksum, little-endian, then the block."""
    codec = pa.Codec("lz4_raw")
    while header := raw.read(21):
        if len(header) < 21 or header[:8] != b"LZ4Block":
            raise _CutError("the compressed file ends too early or is damaged")
        method = header[8] & 0xF0
        packed, whole = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        if whole == 0:  # the mark of the end; another log may follow
            continue
        yield _block(raw, packed, whole, None if method == 0x10 else codec)


def _snappy_chunks(raw: Source) -> Iterator[bytes]:
    """Blocks of snappy-java: after a header of 16 bytes, each with its size, big-endian."""
    codec = pa.Codec("snappy")
    raw.read(16)
    while header := raw.read(4):
        if header == b"\x82SNA":  # another log begins
            raw.read(12)
            continue
        packed = int.from_bytes(header, "big")
        if len(header) < 4 or packed > MOST_BLOCK_BYTES:
            raise _CutError("the compressed file ends too early or is damaged")
        block = raw.read(packed)
        whole = shift = 0
        for byte in block[:5]:  # Snappy begins a block with its size, seven bits a byte
            whole |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield _unpacked(block, packed, whole, codec)


def _block(raw: Source, packed: int, whole: int, codec: pa.Codec | None) -> bytes:
    if packed > MOST_BLOCK_BYTES:
        raise _CutError("the compressed file is damaged")
    return _unpacked(raw.read(packed), packed, whole, codec)


def _unpacked(block: bytes, packed: int, whole: int, codec: pa.Codec | None) -> bytes:
    if len(block) < packed or whole > MOST_BLOCK_BYTES:
        raise _CutError("the compressed file ends too early or is damaged")
    if codec is None:
        return block
    try:
        return bytes(codec.decompress(block, decompressed_size=whole))
    except (OSError, ValueError) as error:
        raise _CutError(f"the compressed file is damaged ({error})") from error
