"""Files of a log that are damaged are named in one line, before anything is changed; no wrong row comes back."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from tests.spark.log.log_writer import commit, line
from tests.waiting import PATIENCE_S

from mead.spark.log import stream_log
from mead.spark.log.store import LogError
from mead.spark.log.stream_log import StreamLog, WrittenFile

SCHEMA = pa.schema([("number", pa.int64())])


def written(log: StreamLog, *numbers: int) -> WrittenFile:
    return log.write([pa.record_batch([pa.array(numbers, pa.int64())], schema=SCHEMA)], SCHEMA)


@pytest.fixture
def log(tmp_path: Path) -> StreamLog:
    """Four batches of two rows each, and a consumer that has read one."""
    log = StreamLog(tmp_path / "log")
    log.register("reader")
    for batch in range(4):
        commit(log, batch, [written(log, 2 * batch, 2 * batch + 1)])
    log.release("reader", 2)
    return log


def rows(log: StreamLog) -> list[int]:
    (extents,) = log.divide(log.start, log.end, 1)
    return [number for batch in log.read(extents) for number in batch["number"].to_pylist()]


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def flip(path: Path, at: int) -> None:
    """In place, as a fault of the disk does."""
    with path.open("r+b") as file:
        file.seek(at)
        (old,) = file.read(1)
        file.seek(at)
        file.write(bytes([old ^ 0x55]))


def test_a_flipped_byte_in_the_index_is_refused_before_anything_is_touched(log: StreamLog) -> None:
    """At every place but the last newline: a crash may have cut a line off there."""
    index = log.folder / "index"
    whole = index.read_bytes()
    for at in range(len(whole) - 1):
        flip(index, at)
        before = content(log.folder)
        for use in (StreamLog.repair, StreamLog.check, lambda log: log.end):
            with pytest.raises(LogError, match=r"the line at byte \d+ is damaged") as refused:
                use(StreamLog(log.folder))
            assert str(refused.value).startswith(f"{index}: ")
            assert "--start-over" in str(refused.value)
            assert "\n" not in str(refused.value)
        assert content(log.folder) == before
        index.write_bytes(whole)
    assert StreamLog(log.folder).repair() == 3
    assert rows(StreamLog(log.folder)) == [2, 3, 4, 5, 6, 7]


def test_only_an_incomplete_last_line_is_cut(log: StreamLog) -> None:
    index = log.folder / "index"
    whole = index.read_bytes()
    last = len(whole) - len(whole.splitlines(keepends=True)[-1])
    for end in range(last, len(whole)):
        index.write_bytes(whole[:end])
        assert StreamLog(log.folder).last == 2
    assert StreamLog(log.folder).repair() == 2
    assert index.read_bytes() == whole[:last]
    assert rows(StreamLog(log.folder)) == [2, 3, 4, 5]


@pytest.mark.parametrize("left", [0, 100])
def test_a_reader_says_so_when_the_index_has_lost_what_it_has_read(log: StreamLog, left: int) -> None:
    assert log.end == 8
    os.truncate(log.folder / "index", left)
    with pytest.raises(LogError, match="index: it has lost lines"):
        log.divide(2, 8, 1)
    (log.folder / "index").unlink()
    with pytest.raises(LogError, match="index: it has lost lines"):
        _ = log.end


def test_a_batch_that_comes_twice_is_refused(log: StreamLog) -> None:
    commit(log, 3, [written(log, 6, 7)])
    with pytest.raises(LogError, match="batch 3 comes after batch 3"):
        StreamLog(log.folder).repair()


def test_a_damaged_data_file_never_comes_back_as_rows(log: StreamLog) -> None:
    file = log.folder / "data" / log.divide(2, 8, 1)[0][1].file
    whole = file.read_bytes()
    for at in range(len(whole)):
        flip(file, at)
        with pytest.raises(LogError, match="damaged") as refused:
            rows(StreamLog(log.folder))
        assert str(refused.value).startswith(f"{file}: ")
        file.write_bytes(whole)
    assert rows(StreamLog(log.folder)) == [2, 3, 4, 5, 6, 7]
    for end in (0, 1, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:end])
        with pytest.raises(LogError, match=r"damaged.*--start-over"):
            rows(StreamLog(log.folder))
    file.unlink()
    with pytest.raises(LogError, match="missing"):
        rows(StreamLog(log.folder))
    with pytest.raises(LogError, match=f"{file}: missing, though `index` names it"):
        StreamLog(log.folder).check()


def test_a_file_of_an_earlier_version_has_no_checksum_and_is_read(log: StreamLog) -> None:
    old = written(log, 8, 9)
    (log.folder / "data" / old.file).rename(log.folder / "data" / "a1b2.arrow")
    commit(log, 4, [WrittenFile("a1b2.arrow", 2)])
    assert rows(StreamLog(log.folder)) == [2, 3, 4, 5, 6, 7, 8, 9]
    (log.folder / "data" / "a1b2.arrow").write_bytes(b"ARROW1")
    with pytest.raises(LogError, match=r"a1b2\.arrow: missing or damaged"):
        rows(StreamLog(log.folder))


@pytest.mark.parametrize("name", ["start", "consumers/reader"])
@pytest.mark.parametrize("left", [b"", b"\0\0", b"\xff"])
def test_a_number_that_is_none_is_named(log: StreamLog, name: str, left: bytes) -> None:
    (log.folder / name).write_bytes(left)
    with pytest.raises(LogError, match="empty or damaged: it must hold a number") as refused:
        StreamLog(log.folder).check()
    assert str(refused.value).startswith(f"{log.folder / name}: ")


def test_an_index_that_ends_before_the_first_row_is_refused(log: StreamLog) -> None:
    (log.folder / "index").write_bytes(b"")
    with pytest.raises(LogError, match="index: it ends at row 0, before row 2 in `start`"):
        StreamLog(log.folder).check()


HOLDS = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held(log: StreamLog) -> Iterator[None]:
    """Another process holds the lock of the writer."""
    command, pipe = [sys.executable, "-c", HOLDS, str(log.folder / "writer")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "held\n"
        try:
            yield
        finally:
            other.stdin.close()


def test_a_writer_that_stopped_while_it_wrote_is_not_waited_for_for_ever(
    log: StreamLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sink in Java holds this lock while it adds a line."""
    monkeypatch.setattr(stream_log, "LOCK_S", 0.2)
    log.repair()
    with (log.folder / "index").open("ab") as index:
        index.write(line(4, [written(log, 8, 9)])[:-5])
    before = content(log.folder)
    with held(log):
        with pytest.raises(LogError, match="a process of an earlier run is writing to it and does not go on"):
            StreamLog(log.folder).repair()
        assert content(log.folder) == before
    assert StreamLog(log.folder).repair() == 3


class Waiting(StreamLog):
    """Tells when it has read the index before it waits for the writer."""

    seen = 0

    def _catch_up(self) -> None:
        super()._catch_up()
        self.seen += 1


def test_a_batch_that_is_finished_while_a_repair_waits_for_its_writer_counts(
    log: StreamLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_log, "LOCK_S", PATIENCE_S)
    log.repair()
    file = written(log, 8, 9)
    whole = line(4, [file])
    repaired = Waiting(log.folder)
    found: list[int] = []
    repairing = Thread(target=lambda: found.append(repaired.repair()))
    with (log.folder / "index").open("ab", buffering=0) as index:
        index.write(whole[:-5])
        with held(log):
            repairing.start()
            until_s = time.monotonic() + PATIENCE_S
            while not repaired.seen:
                assert time.monotonic() < until_s
                time.sleep(0.01)
            index.write(whole[-5:])
    repairing.join()
    assert found == [4]
    assert (log.folder / "index").read_bytes().endswith(whole)
    assert rows(StreamLog(log.folder)) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_a_reader_of_an_earlier_run_releases_nothing_after_another_has_started_over(
    log: StreamLog, tmp_path: Path
) -> None:
    assert log.end == 8
    log.folder.rename(tmp_path / "earlier")
    again = StreamLog(log.folder)
    again.register("reader")
    for batch in range(9):
        commit(again, batch, [written(again, 2 * batch, 2 * batch + 1)])
    with pytest.raises(LogError, match="index: another run has begun this stream again"):
        log.release("reader", 8)
    with pytest.raises(LogError, match="index: another run has begun this stream again"):
        log.divide(6, 8, 1)
    assert (again.start, (log.folder / "consumers/reader").read_text()) == (0, "0")
    assert rows(again) == list(range(18))


def test_every_writer_has_a_token_of_its_own(log: StreamLog) -> None:
    tokens = set()
    for _ in range(3):
        log.repair()
        assert log.token == (log.folder / "writer").read_text()
        tokens.add(log.token)
    assert len(tokens) == 3
    with (log.folder / "writer").open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
