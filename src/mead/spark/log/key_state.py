"""State by key, divided among tasks by the hashes of keys, in files that the index of a log names.

Each task owns a range of hashes. Equal ranges divide the state among any number of tasks. A task that has the same
range as before writes only the changed keys, behind a chain of earlier files; from time to time, and when ranges
change, it writes all of its keys. Python workers keep the state in memory and read only what other workers have
written.

The last batch in the index names one file for each range. So state and output count at the same moment or not at all,
and a batch repeated after a crash begins with the state that it began with before.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mead.spark.log.store import START_OVER, FileStore, LogError
from mead.spark.log.stream_log import Extent, StreamLog

STATE = "state"
"""The folder of the files in that of the log, and the key of a task's note."""

HASHES = 2**32
"""Number of hashes of keys."""

MOST_FILES, SPARE_ROWS = 100, 1000
"""A chain ends when it has so many files, or as many rows more than twice the keys that there are."""

KEPT, CHAIN = "kept", b"mead.chain"
"""A column that is false for removed keys; and in the schema of a file, the files before it and their rows."""


class StatePart(NamedTuple):
    """The state of one range of hashes: its last file; an empty name if it has no keys."""

    first: int
    end: int
    file: str


@dataclass
class KeyedState(MutableMapping[Any, Any]):
    """The values of the keys of one task. It notes which keys change.

    A key of one column is its value, a key of several a tuple; so are values.
    """

    turn: int = 1
    """The number of this micro-batch: higher than that of all before it that had this state."""
    values_by_key: dict[Any, Any] = field(default_factory=dict, repr=False)
    changed: set[Any] = field(default_factory=set, repr=False)
    chain: list[str] | None = None
    """The files that it consists of; None if they belong to other ranges."""
    rows: int = 0
    """Rows in these files."""

    def __getitem__(self, key: Hashable) -> Any:
        return self.values_by_key[key]

    def get(self, key: Hashable, default: Any = None) -> Any:
        """Return the value of a key."""
        return self.values_by_key.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.values_by_key

    def __setitem__(self, key: Hashable, value: Any) -> None:
        self.values_by_key[key] = value
        self.changed.add(key)

    def __delitem__(self, key: Hashable) -> None:
        del self.values_by_key[key]
        self.changed.add(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values_by_key)

    def __len__(self) -> int:
        return len(self.values_by_key)


_in_memory: dict[tuple[Path, int, int], KeyedState] = {}
"""The states that this Python worker has read or written last, by folder and range."""


@dataclass(frozen=True)
class StateFiles:
    """The files with the state of one operator."""

    folder: Path
    keys: pa.Schema
    values: pa.Schema

    def take(self, part: tuple[int, int], parts: Sequence[StatePart], turn: int) -> KeyedState:
        """Return the state of a range, from memory if it is there. A task puts it back with `put` when it is done."""
        for known in [place for place in _in_memory if place[0] != self.folder or place[1:] not in ranges(parts)]:
            del _in_memory[known]
        state = _in_memory.pop((self.folder, *part), None)
        sources = [source for source in parts if source.first < part[1] and source.end > part[0]]
        if [source[:2] for source in sources] == [part]:
            state = self._follow(state, sources[0].file)
        else:
            state = KeyedState(chain=None if sources else [])
            for source in sources:
                for file in self.read_chain(source.file)[0]:
                    self._add(file, state, part)
        state.changed, state.turn = set(), turn
        return state

    def put(self, part: tuple[int, int], state: KeyedState) -> StatePart:
        """Write the changes of a range, or all of it, and keep it in memory."""
        chain, rows = state.chain, state.rows + len(state.changed)
        if chain is None or len(chain) >= MOST_FILES or rows > 2 * len(state) + SPARE_ROWS:
            chain, rows = [], len(state)
            changed = [*state]
        else:
            changed = [*state.changed]
        if changed:
            chain = [*chain, self._write(changed, state.values_by_key, chain, rows)]
        state.chain, state.rows = chain, rows
        _in_memory[self.folder, *part] = state
        return StatePart(*part, chain[-1] if chain else "")

    def read_chain(self, file: str) -> tuple[list[str], int]:
        """Return the files that make up a state, ending with this one, and their rows."""
        if not file:
            return [], 0
        metadata = self._read(file)[0].schema.metadata
        before, rows = json.loads(metadata[CHAIN])
        return [*before, file], rows

    def _follow(self, state: KeyedState | None, file: str) -> KeyedState:
        """Bring a state from memory up to date, or read it anew."""
        if state is not None and (state.chain or [""])[-1] == file:
            return state
        chain, rows = self.read_chain(file)
        had = state.chain if state is not None else None
        if state is None or not had or had[-1] not in chain:
            state, had = KeyedState(), None
        for new in chain[chain.index(had[-1]) + 1 if had else 0 :]:
            self._add(new, state)
        state.chain, state.rows = chain, rows
        return state

    def _add(self, file: str, state: KeyedState, part: tuple[int, int] | None = None) -> None:
        """Apply the changes in a file, all or those of a range."""
        for every in self._read(file):
            batch = every if part is None else select_range(every, self.keys.names, *part)
            keys, values = _items(batch, self.keys.names), _items(batch, self.values.names)
            kept = batch.column(KEPT).to_numpy(zero_copy_only=False)
            state.values_by_key.update(zip(keys, values, strict=True))
            for place in np.flatnonzero(~kept).tolist():
                state.values_by_key.pop(keys[place], None)

    def _write(self, keys: list[Any], values_by_key: dict[Any, Any], before: list[str], rows: int) -> str:
        kept = [key in values_by_key for key in keys]
        none = (None,) * len(self.values) if len(self.values) > 1 else None
        values = [values_by_key.get(key, none) for key in keys]
        arrays = [*_columns(keys, self.keys), *_columns(values, self.values), pa.array(kept, pa.bool_())]
        schema = self._schema.with_metadata({CHAIN: json.dumps([before, rows])})
        return FileStore(self.folder).write([pa.RecordBatch.from_arrays(arrays, schema=schema)], schema)

    @property
    def _schema(self) -> pa.Schema:
        columns = [*self.keys, *self.values, pa.field(KEPT, pa.bool_())]
        return pa.schema([(column.name, column.type) for column in columns])

    def _read(self, file: str) -> list[pa.RecordBatch]:
        batches = list(FileStore(self.folder).read([Extent(file, 0, sys.maxsize)]))
        if not batches[0].schema.equals(self._schema, check_metadata=False):
            had = ", ".join(f"{column.name} {column.type}" for column in batches[0].schema if column.name != KEPT)
            raise LogError(f"{self.folder}: its state has the columns {had}; restore them, or {START_OVER}")
        return batches


def find_unused(log: StreamLog) -> set[Path]:
    """Return files with state that the last batch of a log does not need; of a batch in progress, too."""
    folder = log.folder / STATE
    there = set(folder.glob("*.arrow"))
    used = {note[STATE]["part"][2] for note in log.last_notes if STATE in note}
    for file in used - {""}:
        with pa.memory_map(str(folder / file)) as source:
            used = used | set(json.loads(pa.ipc.open_file(source).schema.metadata[CHAIN])[0])
    return {path for path in there if path.name not in used}


def divide_hashes(tasks: int) -> list[tuple[int, int]]:
    """Divide the hashes into equal ranges.

    >>> divide_hashes(2)
    [(0, 2147483648), (2147483648, 4294967296)]
    """
    return list(pairwise(HASHES * n // tasks for n in range(tasks + 1)))


def ranges(parts: Sequence[StatePart]) -> list[tuple[int, int]]:
    """Return the ranges of parts."""
    return [(part.first, part.end) for part in parts]


def select_range(batch: pa.RecordBatch, keys: Sequence[str], first: int, end: int) -> pa.RecordBatch:
    """Return the rows whose keys have a hash in a range."""
    hashes = hash_rows(batch, keys)
    return batch.filter(pa.array((hashes >= first) & (hashes < end)))


def hash_rows(batch: pa.RecordBatch, keys: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return the hash of the key of each row, the same in every process."""
    hashes = np.zeros(batch.num_rows, dtype=np.uint64)
    for name in keys:
        column = batch.column(name).dictionary_encode(null_encoding="encode")
        values = column.dictionary.to_pylist()
        known = np.array([crc32(v.encode() if isinstance(v, str) else repr(v).encode()) for v in values], np.uint64)
        hashes = (hashes * np.uint64(31) + known[column.indices.to_numpy()]) * np.uint64(0x9E3779B1) % np.uint64(HASHES)
    return hashes


def _items(batch: pa.RecordBatch, names: Sequence[str]) -> list[Any]:
    """Return one item per row: the value of a single column, or a tuple of several."""
    columns = [batch.column(name).to_pylist() for name in names]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _columns(items: list[Any], schema: pa.Schema) -> list[pa.Array]:
    columns = [items] if len(schema) == 1 else list(zip(*items, strict=True))
    return [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
