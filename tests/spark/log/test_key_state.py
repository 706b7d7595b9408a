"""State by key against a plain dictionary, whatever the tasks, the attempts and the workers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.spark.log.log_writer import commit

from mead.spark.log import key_state
from mead.spark.log.key_state import (
    HASHES,
    STATE,
    KeyedState,
    StateFiles,
    StatePart,
    divide_hashes,
    find_unused,
    hash_rows,
    select_range,
)
from mead.spark.log.store import LogError
from mead.spark.log.stream_log import StreamLog, WrittenFile

KEYS = pa.schema([("word", pa.string()), ("number", pa.int64())])
VALUES = pa.schema([("count", pa.int64())])
Key = tuple[str | None, int]


class Turn(NamedTuple):
    """One micro-batch."""

    tasks: int
    fails_first: bool
    """Whether an attempt comes before it whose files never count."""
    new_worker: bool
    """Whether its tasks run in workers that have nothing in memory."""
    adds: list[Key]
    removes: list[Key]


KEY = st.tuples(st.sampled_from(["a", "b", "ü", None]), st.integers(0, 30))
TURNS = st.lists(
    st.builds(Turn, st.integers(1, 5), st.booleans(), st.booleans(), st.lists(KEY, max_size=20), st.lists(KEY)),
    max_size=12,
)


def batch_of(keys: list[Key]) -> pa.RecordBatch:
    words, numbers = [word for word, _ in keys], [number for _, number in keys]
    return pa.record_batch([pa.array(words, pa.string()), pa.array(numbers, pa.int64())], schema=KEYS)


def attempt(files: StateFiles, parts: list[StatePart], turn: Turn, number: int) -> list[StatePart]:
    """Every task adds to its own keys, and removes some."""
    made = []
    for keys in divide_hashes(turn.tasks):
        state = files.take(keys, parts, number)
        for key in own(turn.adds, keys):
            state[key] = state.get(key, 0) + 1
        for key in own(turn.removes, keys):
            state.pop(key, None)
        made.append(files.put(keys, state))
    return made


def own(keys: list[Key], part: tuple[int, int]) -> list[Key]:
    rows = select_range(batch_of(keys), KEYS.names, *part).to_pylist()
    return [(row["word"], row["number"]) for row in rows]


@settings(max_examples=25)
@given(TURNS, st.integers(1, 4), st.integers(0, 40))
def test_state_is_exact_whatever_the_tasks_and_the_attempts(turns: list[Turn], most_files: int, spare: int) -> None:
    expected: dict[Key, int] = {}
    parts: list[StatePart] = []
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_state, "MOST_FILES", most_files)
        patch.setattr(key_state, "SPARE_ROWS", spare)
        log = StreamLog(Path(folder))
        files = StateFiles(log.folder / STATE, KEYS, VALUES)
        for number, turn in enumerate(turns):
            if turn.new_worker:
                key_state._in_memory.clear()
            if turn.fails_first:
                attempt(files, parts, turn, number)
            parts = attempt(files, parts, turn, number)
            notes = [{STATE: {"part": part}} for part in parts]
            commit(log, number, [WrittenFile("", 0)] * len(parts), notes)
            for unused in find_unused(log):
                unused.unlink()
            for key in turn.adds:
                expected[key] = expected.get(key, 0) + 1
            for key in turn.removes:
                expected.pop(key, None)
            key_state._in_memory.clear() if turn.new_worker else None
            assert dict(files.take((0, HASHES), parts, 0)) == expected, "all of it, read as one task would"
        assert all(len(files.read_chain(part.file)[0]) <= most_files for part in parts)


def test_only_what_has_changed_is_written(tmp_path: Path) -> None:
    files = StateFiles(tmp_path, KEYS, VALUES)
    state = files.take((0, HASHES), [], 1)
    state.update({("a", number): number for number in range(5000)})
    parts = [files.put((0, HASHES), state)]
    whole = (tmp_path / parts[0].file).stat().st_size
    state = files.take((0, HASHES), parts, 2)
    state["a", 7] = 8
    parts = [files.put((0, HASHES), state)]
    assert (tmp_path / parts[0].file).stat().st_size < whole / 10
    assert files.put((0, HASHES), files.take((0, HASHES), parts, 3)) == parts[0], "nothing has changed"
    key_state._in_memory.clear()
    assert files.take((0, HASHES), parts, 4)["a", 7] == 8


def test_keys_are_spread_evenly_over_any_number_of_tasks() -> None:
    words = pa.array([f"w{number}" for number in range(20_000)], pa.string())
    hashes = hash_rows(pa.record_batch({"word": words}), ["word"])
    for tasks in (2, 3, 7, 16):
        counts = np.histogram(hashes, bins=[first for first, _ in divide_hashes(tasks)] + [HASHES])[0]
        assert counts.max() < 1.15 * counts.mean()


def test_state_with_other_columns_is_refused(tmp_path: Path) -> None:
    state = KeyedState(chain=[])
    state["a", 1] = 2
    part = StateFiles(tmp_path, KEYS, VALUES).put((0, HASHES), state)
    key_state._in_memory.clear()
    other = StateFiles(tmp_path, KEYS, pa.schema([("total", pa.float64())]))
    with pytest.raises(LogError, match="its state has the columns word string, number int64, count int64"):
        other.take((0, HASHES), [part], 2)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    files, state = StateFiles(tmp_path, KEYS, VALUES), KeyedState(chain=[])
    state["a", 1] = 2
    part = files.put((0, HASHES), state)
    key_state._in_memory.clear()
    content = bytearray((tmp_path / part.file).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / part.file).write_bytes(content)
    with pytest.raises(LogError, match=part.file):
        files.take((0, HASHES), [part], 2)
