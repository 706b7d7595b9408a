"""Who holds which partition of which pane: the table by which the emitter sends every tuple to a worker.

The rule of Alg. 1 (Elastic-PPQ, section 3.1) is compiled, because it is asked for every tuple, by virtual time and by
micro-batches alike. Everything rarer is in ``mead.preference.windows.pane_emitter``.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import numpy as np
from numba import njit

from mead.arrays import IntArray

NOBODY = -1

PANE = np.dtype([("owner", np.int64), ("active", np.int64), ("count", np.int64), ("tuples", np.int64)])
"""Owner of the active partition, tuples in it, number of partitions ever made, tuples of the pane."""

FIRST_PANES = 16


class Splitting(IntEnum):
    """When a pane gets another partition."""

    ADAPTIVE = 0
    """When the active partition is above the threshold; the least loaded worker takes over."""
    NEVER = 1
    """Panes go whole to one worker after the other (the pane-based baseline)."""
    EVEN = 2
    """Every tuple goes to the next worker (the tuple-based baseline)."""


class OwnerTable:
    """The open panes. A pane has a row from its first tuple until it is closed; rows are used again.

    >>> table = OwnerTable(workers=3, splitting=Splitting.ADAPTIVE)
    >>> table.activate([0, 1])
    >>> queues = np.zeros(3, dtype=np.int64)
    >>> table.assign(np.array([7, 7, 7, 8]), queues, threshold=1.0).tolist()
    [0, 0, 1, 1]
    >>> table.count(7), table.holders(7), table.size(7, 0)
    (2, [0, 1], 2)
    """

    def __init__(self, workers: int, splitting: Splitting) -> None:
        self.splitting = splitting
        self.active = np.zeros(workers, dtype=np.bool_)
        self.cursor = np.full(1, NOBODY, dtype=np.int64)
        """The worker that was chosen last: ties go to the one behind it."""
        self.base = 0
        """The oldest pane that may be open. Pane p has row ``p % rows``."""
        self._make_rows(FIRST_PANES)

    def _make_rows(self, rows: int) -> None:
        self.panes = np.zeros(rows, dtype=PANE)
        self.panes["owner"] = NOBODY
        self.sizes = np.zeros((rows, self.active.size), dtype=np.int64)
        self.held = np.zeros((rows, self.active.size), dtype=np.bool_)

    @property
    def workers(self) -> int:
        """The most workers that there can be."""
        return self.active.size

    @property
    def rows(self) -> int:
        """How many panes there is room for."""
        return self.panes.size

    def activate(self, workers: list[int], *, on: bool = True) -> None:
        """Let workers get tuples from now on, or, with ``on=False``, no longer."""
        self.active[workers] = on

    def reserve(self, newest: int) -> None:
        """Make room for panes up to this one."""
        rows = self.rows
        while newest - self.base >= rows:
            rows *= 2
        if rows == self.rows:
            return
        old_rows, old = self.rows, (self.panes, self.sizes, self.held)
        self._make_rows(rows)
        for pane in range(self.base, self.base + old_rows):
            for new, before in zip((self.panes, self.sizes, self.held), old, strict=True):
                new[pane % rows] = before[pane % old_rows]

    def assign(self, panes: IntArray, queues: IntArray, threshold: float) -> IntArray:
        """The worker of every tuple, one after the other. Each makes the queue of its worker longer by one.

        This is for micro-batches, where nothing is served while tuples are assigned.
        """
        if panes.size:
            self.reserve(int(panes.max()))
        return _assign(  # type: ignore[no-any-return]
            int(self.splitting), panes, self.panes, self.sizes, self.held, self.active, queues, self.cursor, threshold
        )

    def least_loaded(self, queues: IntArray) -> int:
        """The active worker with the shortest queue."""
        return int(least_loaded(self.active, queues, self.cursor))

    def next_active(self) -> int:
        """The next active worker, whatever its queue."""
        return int(next_active(self.active, self.cursor))

    def is_open(self, pane: int) -> bool:
        """Whether the pane has tuples and is not closed."""
        return self.base <= pane < self.base + self.rows and bool(self.panes["tuples"][pane % self.rows] > 0)

    def open_panes(self) -> Iterator[int]:
        """The open panes, oldest first."""
        return (pane for pane in range(self.base, self.base + self.rows) if self.is_open(pane))

    def count(self, pane: int) -> int:
        """Partitions of the pane, those of removed workers included."""
        return int(self.panes["count"][pane % self.rows])

    def owner(self, pane: int) -> int:
        """The worker that gets the pane's next tuple, unless the partition is too large."""
        return int(self.panes["owner"][pane % self.rows])

    def size(self, pane: int, worker: int) -> int:
        """Tuples of the pane that the worker holds."""
        return int(self.sizes[pane % self.rows, worker])

    def holders(self, pane: int) -> list[int]:
        """The workers that hold a partition of the pane, an empty one included."""
        return [int(worker) for worker in np.flatnonzero(self.held[pane % self.rows])]

    def open_partition(self, pane: int, worker: int) -> int:
        """Give the worker an empty partition; returns how many partitions the pane has now."""
        row = pane % self.rows
        self.held[row, worker] = True
        self.panes["count"][row] += 1
        return self.count(pane)

    def make_owner(self, pane: int, worker: int) -> None:
        """Make the worker's partition the active one."""
        row = pane % self.rows
        self.panes["owner"][row], self.panes["active"][row] = worker, self.sizes[row, worker]

    def drop(self, pane: int, worker: int) -> int:
        """Note that the worker holds nothing of the pane any more; returns how many tuples it had."""
        row = pane % self.rows
        had = self.size(pane, worker)
        self.sizes[row, worker], self.held[row, worker] = 0, False
        return had

    def close(self, pane: int) -> None:
        """Forget the oldest pane."""
        row = pane % self.rows
        self.panes[row] = (NOBODY, 0, 0, 0)
        self.sizes[row], self.held[row] = 0, False
        self.base = pane + 1

    def as_json(self) -> dict[str, Any]:
        """The state as plain values, for ``from_json``."""
        return {
            "splitting": self.splitting.name,
            "active": self.active.tolist(),
            "cursor": int(self.cursor[0]),
            "base": self.base,
            "panes": [
                {
                    "pane": pane,
                    "record": [int(value) for value in self.panes[pane % self.rows]],
                    "sizes": {str(worker): self.size(pane, worker) for worker in self.holders(pane)},
                }
                for pane in self.open_panes()
            ],
        }

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> OwnerTable:
        """The table that ``as_json`` has written."""
        table = cls(len(document["active"]), Splitting[document["splitting"]])
        table.active[:] = document["active"]
        table.cursor[0], table.base = document["cursor"], document["base"]
        for entry in document["panes"]:
            table.reserve(entry["pane"])
            row = entry["pane"] % table.rows
            table.panes[row] = tuple(entry["record"])
            for worker, size in entry["sizes"].items():
                table.sizes[row, int(worker)], table.held[row, int(worker)] = size, True
        return table


@njit(cache=True)
def least_loaded(active, queues, cursor):  # pragma: no cover - compiled
    """The active worker with the shortest queue, the first one behind the last choice if several are."""
    best = -1
    for step in range(1, active.size + 1):
        worker = (cursor[0] + step) % active.size
        if active[worker] and (best < 0 or queues[worker] < queues[best]):
            best = worker
    cursor[0] = best
    return best


@njit(cache=True)
def next_active(active, cursor):  # pragma: no cover - compiled
    """The first active worker behind the last choice."""
    for step in range(1, active.size + 1):
        worker = (cursor[0] + step) % active.size
        if active[worker]:
            cursor[0] = worker
            return worker
    return -1


@njit(cache=True)
def needs_choice(splitting, pane, threshold):  # pragma: no cover - compiled
    """Whether the next tuple of a pane needs to know the queues of the workers: most go where the last one went."""
    if pane.tuples == 0:
        return True
    return splitting == 0 and pane.active > threshold


@njit(cache=True)
def place(splitting, pane, sizes, held, active, queues, cursor, threshold):  # pragma: no cover - compiled
    """The worker of the next tuple of a pane (Alg. 1, lines 9 to 14). The table is changed accordingly."""
    worker = pane.owner
    if splitting == 2 or (splitting == 1 and pane.tuples == 0):
        worker = next_active(active, cursor)
    elif needs_choice(splitting, pane, threshold):
        worker = least_loaded(active, queues, cursor)
    if not held[worker]:
        held[worker] = True
        pane.count += 1
    sizes[worker] += 1
    pane.tuples += 1
    pane.owner, pane.active = worker, sizes[worker]
    return worker


@njit(cache=True)
def _assign(splitting, numbers, panes, sizes, held, active, queues, cursor, threshold):  # pragma: no cover - compiled
    workers = np.empty(numbers.size, dtype=np.int64)
    for i in range(numbers.size):
        row = numbers[i] % panes.size
        workers[i] = place(splitting, panes[row], sizes[row], held[row], active, queues, cursor, threshold)
        queues[workers[i]] += 1
    return workers
