"""Files of event logs: folders and single files, codecs of Spark, and files that end too early."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from mead.spark.event_log.files import EventLogError, EventLogFiles

TEXT = b"".join(b'{"Event":"Number%d"}\n' % number for number in range(5000))


def lz4_blocks(content: bytes, size: int = 10_000) -> bytes:
    """As lz4-java writes them; the last block has no content."""
    made = b""
    for start in range(0, len(content), size):
        part = content[start : start + size]
        packed = pa.Codec("lz4_raw").compress(part, asbytes=True)
        sizes = b"".join(len(one).to_bytes(4, "little") for one in (packed, part))
        made += b"LZ4Block" + b"\x26" + sizes + bytes(4) + packed
    return made + b"LZ4Block" + b"\x16" + bytes(12)


def snappy_blocks(content: bytes, size: int = 10_000) -> bytes:
    """As snappy-java writes them."""
    made = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
    for start in range(0, len(content), size):
        packed = pa.Codec("snappy").compress(content[start : start + size], asbytes=True)
        made += len(packed).to_bytes(4, "big") + packed
    return made


def zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


def lines_of(path: Path) -> tuple[EventLogFiles, list[bytes]]:
    files = EventLogFiles.find(path)
    return files, [line for _, line in files.lines()]


@pytest.mark.parametrize("pack", [zstd, lz4_blocks, snappy_blocks, bytes], ids=["zstd", "lz4", "snappy", "none"])
def test_every_codec_is_told_by_the_content(tmp_path: Path, pack: object) -> None:
    file = tmp_path / "renamed"
    file.write_bytes(pack(TEXT))  # type: ignore[operator]
    files, lines = lines_of(file)
    assert b"".join(line + b"\n" for line in lines) == TEXT
    assert files.cut == ""


@pytest.mark.parametrize("pack", [zstd, lz4_blocks, snappy_blocks, bytes], ids=["zstd", "lz4", "snappy", "none"])
def test_a_file_that_ends_too_early_is_read_as_far_as_it_goes(tmp_path: Path, pack: object) -> None:
    file = tmp_path / "cut"
    whole = pack(TEXT)  # type: ignore[operator]
    file.write_bytes(whole[: len(whole) * 3 // 4 - 5])
    files, lines = lines_of(file)
    assert TEXT.startswith(b"".join(line + b"\n" for line in lines))
    assert files.cut.startswith(f"{file}:{len(lines) + 1}: ")


def test_two_logs_in_one_file_are_read_one_after_the_other(tmp_path: Path) -> None:
    for pack in (zstd, lz4_blocks, snappy_blocks):
        file = tmp_path / "two"
        file.write_bytes(pack(TEXT) + pack(TEXT))
        assert len(lines_of(file)[1]) == 10_000


def test_another_codec_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.lzf").write_bytes(b"ZV\x01\x00")
    with pytest.raises(EventLogError, match=r"log.lzf: is compressed by lzf, which is not supported; set spark"):
        lines_of(tmp_path / "log.lzf")


def rolling(folder: Path, *parts: str) -> Path:
    log = folder / "eventlog_v2_app-1"
    log.mkdir(exist_ok=True)
    for part in parts:
        (log / part).write_bytes(b'{"Event":"%s"}\n' % part.encode())
    return log


def read_parts(log: Path) -> list[str]:
    return [line.decode()[10:-2] for line in lines_of(log)[1]]


def test_parts_of_a_rolling_log_come_in_order(tmp_path: Path) -> None:
    log = rolling(tmp_path, "events_10_app-1", "events_9_app-1", "appstatus_app-1", ".events_9.crc")
    assert read_parts(log) == ["events_9_app-1", "events_10_app-1"]
    assert read_parts(tmp_path) == read_parts(log)  # the only log of the folder
    assert not EventLogFiles.find(log).running


def test_a_compacted_part_stands_for_those_before(tmp_path: Path) -> None:
    log = rolling(tmp_path, "events_1_app-1", "events_2_app-1", "events_2_app-1.compact", "events_3_app-1")
    assert read_parts(log) == ["events_2_app-1.compact", "events_3_app-1"]


def test_a_running_application_is_told(tmp_path: Path) -> None:
    assert EventLogFiles.find(rolling(tmp_path, "events_1_app-1", "appstatus_app-1.inprogress")).running
    single = tmp_path / "app-2.inprogress"
    single.write_bytes(TEXT)
    assert EventLogFiles.find(single).running


@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        ((), "nothing", "nothing: there is no such file or folder; write one with spark.eventLog.enabled=true"),
        ((), "", ": holds no event log; write one with"),
        (("a", "b"), "", ": holds 2 logs; name one of them, such as "),
        (("eventlog_v2_app-1/events_1_a", "eventlog_v2_app-1/events_3_a"), "", r"part events_2_… is missing; copy"),
    ],
)
def test_what_cannot_be_found_is_said_in_one_line(
    tmp_path: Path, names: tuple[str, ...], asked: str, said: str
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(TEXT)
    with pytest.raises(EventLogError, match=said) as caught:
        EventLogFiles.find(tmp_path / asked)
    assert "\n" not in str(caught.value)


def test_progress_ends_with_the_size_of_the_log(tmp_path: Path) -> None:
    log = rolling(tmp_path)
    (log / "events_1_app-1").write_bytes(TEXT)
    (log / "events_2_app-1").write_bytes(TEXT)
    files, seen = EventLogFiles.find(log), list[int]()
    assert sum(1 for _ in files.lines(seen.append)) == 10_000
    assert seen == sorted(seen)
    assert seen[-1] == files.size_bytes == 2 * len(TEXT)
