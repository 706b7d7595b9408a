"""Files that nobody will commit are cleared away, and no others, whatever a writer does meanwhile."""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.spark.log.log_writer import commit

from mead.cpu import DryRunShares
from mead.spark.log.store import LogError
from mead.spark.log.stream_log import StreamLog, WrittenFile
from mead.spark.pipeline.orphans import EVERY_S, STALE_S, OrphanFinder, OrphanSweep
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.values import Operator, Pipeline

SCHEMA = pa.schema([("number", pa.int64())])


def written(log: StreamLog, *numbers: int) -> WrittenFile:
    return log.write([pa.record_batch([pa.array(numbers, pa.int64())], schema=SCHEMA)], SCHEMA)


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / "data").glob("*")}


def test_a_file_goes_when_the_batch_that_it_could_have_been_of_is_there_without_it(tmp_path: Path) -> None:
    log, orphans = StreamLog(tmp_path), OrphanFinder(tmp_path)
    failed, good = written(log, 1), written(log, 1)
    orphans.sweep()
    assert files(tmp_path) == {failed.file, good.file}, "either may still be committed"
    commit(log, 0, [good])
    next_one = written(log, 2)
    orphans.sweep()
    assert files(tmp_path) == {good.file, next_one.file}
    orphans.sweep()
    commit(log, 1, [next_one])
    orphans.sweep()
    assert files(tmp_path) == {good.file, next_one.file}


def test_a_task_that_takes_ages_loses_nothing(tmp_path: Path) -> None:
    log, orphans = StreamLog(tmp_path), OrphanFinder(tmp_path)
    slow = written(log, 1)
    for _ in range(5):
        orphans.sweep()
    commit(log, 0, [slow])
    orphans.sweep()
    assert files(tmp_path) == {slow.file}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_attempt_that_fails_takes_its_file_along(tmp_path: Path, error: type[BaseException]) -> None:
    def rows() -> pa.RecordBatch:
        yield pa.record_batch([pa.array([1])], schema=SCHEMA)
        raise error

    with pytest.raises(error):
        StreamLog(tmp_path).write(rows(), SCHEMA)
    assert files(tmp_path) == set()


def test_rows_for_nobody_leave_no_file(tmp_path: Path) -> None:
    schema = pa.schema([("number", pa.int64()), ("to", pa.list_(pa.string()))])
    lost = pa.record_batch([pa.array([1]), pa.array([["nobody"]], pa.list_(pa.string()))], schema=schema)
    with pytest.raises(LogError, match="rows are for nobody"):
        StreamLog(tmp_path).write([lost], schema)
    assert files(tmp_path) == set()


def test_logs_are_swept_now_and_then(tmp_path: Path) -> None:
    now_s = [0.0]
    log, sweep = StreamLog(tmp_path), OrphanSweep([tmp_path], tmp_path / "stamps", lambda: now_s[0])
    failed, fresh, stale = written(log, 1), tmp_path / "stamps" / "fresh", tmp_path / "stamps" / "stale"
    fresh.parent.mkdir()
    for file, age_s in ((fresh, STALE_S / 2), (stale, 2 * STALE_S)):
        file.touch()
        os.utime(file, (time.time() - age_s, time.time() - age_s))
    for batch in range(3):
        commit(log, batch, [written(log, batch)])
        sweep.sweep_if_due()
        assert failed.file in files(tmp_path)
    for batch in (3, 4):
        now_s[0] += EVERY_S
        sweep.sweep_if_due()
        commit(log, batch, [written(log, batch)])
    assert failed.file not in files(tmp_path)
    assert (fresh.exists(), stale.exists()) == (True, False)


def test_a_pipeline_that_stops_leaves_no_stamps(tmp_path: Path) -> None:
    spark: Any = SimpleNamespace()
    source = TraceInput(tmp_path / "arrivals.npy")
    pipeline = Pipeline("one", [Operator("parser", 0.001)])
    running = RunningPipeline(spark, pipeline, source, {}, tmp_path, DryRunShares(["parser"]))
    (tmp_path / "stamps").mkdir()
    (tmp_path / "stamps" / "unread").write_bytes(bytes(8))
    running.stop()
    assert list((tmp_path / "stamps").iterdir()) == []


class Writing(RuleBasedStateMachine):
    """A query that writes, fails and writes again, with somebody who sweeps and somebody who reads at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.log, self.orphans, self.reader = StreamLog(self.path), OrphanFinder(self.path), StreamLog(self.path)
        self.reader.register("reader")
        self.batch, self.pending, self.failed = 0, list[WrittenFile](), list[WrittenFile]()
        self.rows = 0

    @rule(fails=st.booleans())
    def task(self, *, fails: bool) -> None:
        """Of the next batch."""
        (self.failed if fails else self.pending).append(written(self.log, self.rows))

    @rule()
    def query_fails(self) -> None:
        """All that its tasks have written comes to nothing."""
        self.failed += self.pending
        self.pending = []

    @rule()
    def commit(self) -> None:
        commit(self.log, self.batch, self.pending)
        self.batch, self.rows, self.pending = self.batch + 1, self.rows + len(self.pending), []

    @rule()
    def sweep(self) -> None:
        self.orphans.sweep()

    @rule()
    def read_all(self) -> None:
        self.reader.release("reader", self.reader.end)

    @invariant()
    def nothing_is_missing(self) -> None:
        there = files(self.path)
        assert {one.file for one in self.pending} <= there
        pieces = self.log.divide(self.log.start, self.rows, 1)
        kept = sum(batch.num_rows for piece in pieces for batch in self.log.read(piece))
        assert kept == self.rows - self.log.start

    def teardown(self) -> None:
        """In the end, two more batches and looks leave no orphan."""
        for _ in range(3):
            self.sweep()
            self.commit()
        self.sweep()
        assert not {one.file for one in self.failed} & files(self.path)
        self.folder.cleanup()


TestWriting = Writing.TestCase
TestWriting.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
