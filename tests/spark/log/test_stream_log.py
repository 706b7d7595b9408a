"""The embedded log: all of a batch or nothing, once, and any range of rows as often as one likes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.log.log_writer import commit, line

from mead.spark.log.store import LogError
from mead.spark.log.stream_log import COUNTED, BatchNotes, StreamLog, WrittenFile

SCHEMA = pa.schema([("number", pa.int64())])


def written(log: StreamLog, numbers: range) -> WrittenFile:
    return log.write([pa.record_batch([pa.array(numbers, pa.int64())], schema=SCHEMA)], SCHEMA)


def numbers(log: StreamLog, start: int, end: int, tasks: int = 1) -> list[int]:
    return [
        number
        for pieces in log.divide(start, end, tasks)
        for batch in log.read(pieces)
        for number in batch.column(0).to_pylist()
    ]


def filled(folder: Path, sizes: list[list[int]]) -> StreamLog:
    """Batches of files of so many rows; the rows are numbered."""
    log, first = StreamLog(folder), 0
    for batch, files in enumerate(sizes):
        parts = []
        for rows in files:
            parts.append(written(log, range(first, first + rows)))
            first += rows
        commit(log, batch, parts)
    return log


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(st.integers(0, 7), max_size=3), max_size=6), st.data())
def test_any_range_is_read_in_order_by_any_number_of_tasks(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[list[int]], data: st.DataObject
) -> None:
    log = filled(tmp_path_factory.mktemp("log"), sizes)
    total = sum(map(sum, sizes))
    assert log.end == total
    start = data.draw(st.integers(0, total))
    end = data.draw(st.integers(start, total))
    tasks = data.draw(st.integers(1, 5))
    assert numbers(StreamLog(log.folder), start, end, tasks) == list(range(start, end))
    sizes_of_tasks = [sum(piece.count for piece in pieces) for pieces in log.divide(start, end, tasks)]
    assert max(sizes_of_tasks, default=0) - min(sizes_of_tasks, default=0) <= 1


def test_rows_count_only_after_their_batch_was_committed(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    part = written(log, range(3))
    assert StreamLog(tmp_path).end == 0
    commit(log, 0, [part])
    assert StreamLog(tmp_path).end == 3


def test_a_reader_sees_what_another_process_adds(tmp_path: Path) -> None:
    reader = StreamLog(tmp_path)
    assert reader.end == 0
    filled(tmp_path, [[4]])
    assert reader.end == 4


def test_a_line_that_a_crash_cut_off_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    filled(tmp_path, [[2], [3]])
    index = tmp_path / "index"
    index.write_bytes(index.read_bytes()[:-4])
    log = StreamLog(tmp_path)
    assert log.end == 2
    assert log.repair() == 0
    commit(log, 1, [written(log, range(2, 6))])
    assert numbers(StreamLog(tmp_path), 0, 6) == [0, 1, 2, 3, 4, 5]


def test_rows_are_kept_until_every_consumer_has_dealt_with_them(tmp_path: Path) -> None:
    log = filled(tmp_path, [[2], [2], [2]])
    for consumer in ("counter", "matcher"):
        log.register(consumer)
    log.release("counter", 6)
    assert numbers(log, 0, 6) == [0, 1, 2, 3, 4, 5]
    log.release("matcher", 3)
    assert (log.start, numbers(log, 2, 6)) == (2, [2, 3, 4, 5])
    log.register("matcher")
    assert numbers(StreamLog(tmp_path), 3, 6) == [3, 4, 5], "a consumer that comes back finds its place"
    with pytest.raises(LogError, match="cannot read rows 0 to 6; the log has rows 2 to 6"):
        log.divide(0, 6, 1)


def test_offsets_go_on_after_everything_was_removed(tmp_path: Path) -> None:
    log = filled(tmp_path, [[2], [2]])
    log.register("counter")
    log.release("counter", 4)
    commit(log, 2, [written(log, range(4, 7))])
    assert (log.start, log.end) == (4, 7)
    fresh = StreamLog(tmp_path)
    assert numbers(fresh, 4, 7) == [4, 5, 6]


def test_however_long_a_log_is_only_what_is_kept_of_it_is_remembered(tmp_path: Path) -> None:
    """By whoever consumes it, by one who only asks for its end, and by one who reads notes."""
    writer, consumer, onlooker = StreamLog(tmp_path), StreamLog(tmp_path), StreamLog(tmp_path)
    reader_of_notes = StreamLog(tmp_path, keep_notes=True)
    consumer.register("matcher")
    for batch in range(200):
        commit(writer, batch, [written(writer, range(3)), written(writer, range(2))], [{"rows": 3}, None])
        consumer.release("matcher", max(consumer.end - 10, 0))
        assert onlooker.end == 5 * (batch + 1)
        assert list(reader_of_notes.take_batch_notes(batch).notes) == [{"rows": 3}]
        for log in (consumer, onlooker, reader_of_notes):
            assert len(log._entries) <= 5, "two batches are kept, and where the one before them ends"
    assert reader_of_notes._noted == {}
    assert onlooker.start == 990
    assert len(list((tmp_path / "data").iterdir())) == 4


def test_consumers_in_processes_of_their_own_never_put_the_start_back(tmp_path: Path) -> None:
    """One looks at what the others need, is held up, and goes on when they have moved on."""
    log = filled(tmp_path, [[1]] * 30)
    with ThreadPoolExecutor(3) as pool:
        consumers = [StreamLog(tmp_path) for _ in range(3)]
        for number, consumer in enumerate(consumers):
            consumer.register(str(number))

        def consume(number: int) -> list[int]:
            starts = []
            for end in range(1, 31):
                consumers[number].release(str(number), end)
                starts.append(log.start)
            return starts

        for starts in pool.map(consume, range(3)):
            assert starts == sorted(starts)
    assert StreamLog(tmp_path).start == 30
    assert list((tmp_path / "data").iterdir()) == []


def noted(log: StreamLog, batch: int, notes: list[object]) -> None:
    """A batch with what its tasks have noted."""
    commit(log, batch, [written(log, range(2)) for _ in notes], notes)


def test_what_tasks_have_noted_is_told_once_to_those_who_asked_for_notes(tmp_path: Path) -> None:
    log, deaf = StreamLog(tmp_path, keep_notes=True), StreamLog(tmp_path)
    filled(tmp_path, [[3]])
    for batch in (1, 2, 3):
        noted(log, batch, [{"rows": batch}, None, {"rows": 5}])
    assert list(log.take_batch_notes(0).notes) == [], "a batch without notes"
    assert list(log.take_batch_notes(2).notes) == [{"rows": 2}, {"rows": 5}]
    assert list(log.take_batch_notes(2).notes) == []
    assert list(log.take_batch_notes(1).notes) == [], "earlier batches are forgotten with a later one"
    assert list(log.take_batch_notes(3).notes) == [{"rows": 3}, {"rows": 5}]
    assert list(log.take_batch_notes(4).notes) == []
    assert list(deaf.take_batch_notes(3).notes) == []
    assert deaf.end == log.end == 3 + 3 * 6


def test_rows_of_a_batch_are_known_as_long_as_its_notes_are(tmp_path: Path) -> None:
    log = StreamLog(tmp_path, keep_notes=True)
    filled(tmp_path, [[3, 4]])
    noted(log, 1, [None, {"rows": 5}])
    assert (log.take_batch_notes(0), log.take_batch_notes(1)) == (BatchNotes(7), BatchNotes(4, ({"rows": 5},)))
    assert log.take_batch_notes(1) == BatchNotes(), "once"


def test_values_are_counted_with_the_batch_that_has_them_whoever_asks(tmp_path: Path) -> None:
    log, rng = StreamLog(tmp_path, counts="kind"), np.random.default_rng(1)
    plain: Counter[str] = Counter()
    for batch in range(5):
        kinds = [[f"kind {n}" for n in rng.integers(0, 4, 30)] for _ in range(2)]
        tasks = [log.write([pa.record_batch({"kind": some})], pa.schema([("kind", pa.string())])) for some in kinds]
        assert log.counted == plain, "files of a batch that may still fail do not count"
        log.commit(batch, [(task, {COUNTED: task.counted}) for task in tasks])
        plain.update(kind for some in kinds for kind in some)
        assert log.counted == plain == StreamLog(tmp_path).counted
    assert list(log.counted.values()) == sorted(plain.values(), reverse=True)


def test_all_that_was_noted_since_the_last_time_can_be_had_at_once(tmp_path: Path) -> None:
    log, deaf = StreamLog(tmp_path, keep_notes=True), StreamLog(tmp_path)
    for batch in range(3):
        noted(log, batch, [{"rows": batch}, None])
    assert log.take_notes() == [{"rows": 0}, {"rows": 1}, {"rows": 2}]
    assert log.take_notes() == []
    noted(log, 3, [{"rows": 3}])
    assert log.take_notes() == [{"rows": 3}]
    assert deaf.take_notes() == []


def test_a_repair_removes_what_a_crash_has_left_and_nothing_else(tmp_path: Path) -> None:
    filled(tmp_path, [[2], [3]])
    crashed = StreamLog(tmp_path)
    orphan = written(crashed, range(9))
    with (tmp_path / "index").open("ab") as index:
        index.write(line(2, [orphan])[:-5])
    assert StreamLog(tmp_path).repair() == 1
    log = StreamLog(tmp_path)
    assert numbers(log, 0, log.end) == [0, 1, 2, 3, 4]
    assert not (tmp_path / "data" / orphan.file).exists()
    noted(log, 2, [None])
    assert StreamLog(tmp_path).end == 7, "the next line stands on its own"


def test_a_log_that_is_not_there_needs_no_repair(tmp_path: Path) -> None:
    assert StreamLog(tmp_path / "new").repair() == -1
    assert (tmp_path / "new" / "index").exists(), "the sink only appends"


KILLED = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import pyarrow as pa
sys.path.insert(0, sys.argv[2])
from log_writer import commit
from mead.spark.log.stream_log import StreamLog
log, schema = StreamLog(Path(sys.argv[1])), pa.schema([("number", pa.int64())])
for batch in range(log.repair() + 1, 10_000):
    rows = pa.array(range(5 * batch, 5 * batch + 5), pa.int64())
    commit(log, batch, [log.write([pa.record_batch([rows], schema=schema)], schema)])
    print(batch, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_whole_batches(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    for _ in range(4):
        command = [sys.executable, "-c", KILLED, str(tmp_path), str(Path(__file__).parent)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(7):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert log.end % 5 == 0
        assert numbers(log, 0, log.end) == list(range(log.end))
    assert log.end >= 4 * 7 * 5 - 4 * 5
