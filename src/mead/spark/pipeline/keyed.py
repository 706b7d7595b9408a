"""Operators whose tasks own keys, with or without state.

Every task of a micro-batch reads all rows of its input and keeps those whose keys belong to it. Rows need not pass
through a shuffle, and the number of tasks may change with every micro-batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from mead.spark.log.key_state import STATE, StateFiles, StatePart, divide_hashes, select_range
from mead.spark.log.store import WAY_OUT, LogError
from mead.spark.log.stream_log import WrittenFile
from mead.spark.log.tasks import read_number
from mead.spark.pipeline.in_place import InPlaceOperator, InPlaceReader


class KeyedPartition(InputPartition):
    """The keys of one task, all rows of the micro-batch, and the state before it."""

    def __init__(
        self,
        keys: tuple[int, int],
        rows: Sequence[InputPartition],
        state: Sequence[StatePart],
        turn: int,
        end: dict[str, Any],
    ) -> None:
        super().__init__(None)
        self.keys, self.rows, self.state, self.turn, self.end = keys, rows, state, turn, end


class KeyedReader(InPlaceReader):
    """Reads the output of an operator with keys. Every micro-batch reads the number of tasks again."""

    def __init__(
        self, operator: InPlaceOperator, keys: Sequence[str], columns: pa.Schema, state: pa.Schema | None, tasks: Path
    ) -> None:
        super().__init__(operator)
        self.keys, self.tasks = list(keys), tasks
        key_columns = pa.schema([columns.field(name) for name in keys])
        self.files = None if state is None else StateFiles(operator.output.folder / STATE, key_columns, state)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return one partition for each task; none if the log already has this micro-batch.

        Spark repeats a micro-batch if it was killed between the commit of the log and its own.
        """
        state, turn = ([], 1) if self.files is None else self._last_state(start, end)
        if turn == 0:
            return []
        rows = self.operator.reader.partitions(start, end)
        return [KeyedPartition(keys, rows, state, turn, end) for keys in divide_hashes(read_number(self.tasks))]

    def _last_state(self, start: dict[str, Any], end: dict[str, Any]) -> tuple[list[StatePart], int]:
        """Return the state after the last batch of the log, and the number of the next; 0 if the log has that one."""
        log = self.operator.output
        if log.last < 0:
            return [], 1
        notes = [note[STATE] for note in log.last_notes if STATE in note]
        at = notes[0]["at"] if notes else None
        if at == end != start:
            return [], 0
        if at != start:
            raise LogError(f"{log.folder}: its state is that at {at}, but a micro-batch begins at {start}; {WAY_OUT}")
        return [StatePart(*note["part"]) for note in notes], notes[0]["turn"] + 1

    def process(self, partition: InputPartition) -> tuple[WrittenFile, dict[str, Any]]:
        """Read all rows, work on those of the task's keys, and write results and state."""
        if not isinstance(partition, KeyedPartition):
            raise TypeError(f"not a partition by keys: {partition}")
        operator, keys, function = self.operator, partition.keys, self.operator.function
        rows = [
            select_range(batch, self.keys, *keys) for part in partition.rows for batch in operator.reader.read(part)
        ]
        # One batch, so that the function sees all rows of a key at once.
        batches = pa.Table.from_batches(rows).combine_chunks().to_batches() if sum(map(len, rows)) else []
        if self.files is None:
            return self.work(batches, function)
        state = self.files.take(keys, partition.state, partition.turn)
        written, note = self.work(batches, partial(_with_state, function, state))
        return written, note | {
            STATE: {"part": self.files.put(keys, state), "turn": partition.turn, "at": partition.end}
        }


def _with_state(function: Any, state: Any, batch: pa.RecordBatch) -> pa.RecordBatch:
    made: pa.RecordBatch = function(batch, state)
    return made
