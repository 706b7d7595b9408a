"""Table of open panes and their owners, which assigns tuples to workers.

The rule of Alg. 1 (Elastic-PPQ, section 3.1) is compiled, because simulator and micro-batches run it for every tuple.
Rarer steps are in `mead.preference.windows.pane_emitter`.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import numpy as np
from numba import njit

from mead.arrays import IntArray

NO_WORKER = -1

PANE = np.dtype([("owner", np.int64), ("active", np.int64), ("count", np.int64), ("tuples", np.int64)])
"""Owner of the active partition, tuples in it, number of partitions ever made, tuples of the pane."""

FIRST_PANES = 16


class Splitting(IntEnum):
    """When a pane gets another partition."""

    ADAPTIVE = 0
    """When the active partition is above the threshold; the least loaded worker takes over."""
    NEVER = 1
    """Whole panes go to one worker after the other (the pane-based baseline)."""
    EVEN = 2
    """Every tuple goes to the next worker (the tuple-based baseline)."""


class OwnerTable:
    """The open panes. A pane has a row from its first tuple until it is closed; rows are reused.

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
        self.cursor = np.full(1, NO_WORKER, dtype=np.int64)
        """The worker that was chosen last: ties go to the one behind it."""
        self.base = 0
        """The oldest pane that may be open. Pane p has row ``p % rows``."""
        self._make_rows(FIRST_PANES)

    def _make_rows(self, rows: int) -> None:
        self.panes = np.zeros(rows, dtype=PANE)
        self.panes["owner"] = NO_WORKER
        self.sizes = np.zeros((rows, self.active.size), dtype=np.int64)
        self.holds = np.zeros((rows, self.active.size), dtype=np.bool_)

    @property
    def workers(self) -> int:
        """Maximum number of workers."""
        return self.active.size

    @property
    def rows(self) -> int:
        """Number of panes that fit."""
        return self.panes.size

    def activate(self, workers: list[int], *, on: bool = True) -> None:
        """Let workers get tuples from now on; with ``on=False``, no longer."""
        self.active[workers] = on

    def reserve(self, newest: int) -> None:
        """Make room for panes up to this one."""
        rows = self.rows
        while newest - self.base >= rows:
            rows *= 2
        if rows == self.rows:
            return
        old_rows, old = self.rows, (self.panes, self.sizes, self.holds)
        self._make_rows(rows)
        for pane in range(self.base, self.base + old_rows):
            for new, before in zip((self.panes, self.sizes, self.holds), old, strict=True):
                new[pane % rows] = before[pane % old_rows]

    def assign(self, panes: IntArray, queues: IntArray, threshold: float) -> IntArray:
        """Choose the worker of every tuple, one after the other; each lengthens its worker's queue by one.

        For micro-batches, where nothing is served while tuples are assigned.
        """
        if panes.size:
            self.reserve(int(panes.max()))
        return _assign(  # type: ignore[no-any-return]
            int(self.splitting), panes, self.panes, self.sizes, self.holds, self.active, queues, self.cursor, threshold
        )

    def least_loaded(self, queues: IntArray) -> int:
        """Choose the active worker with the shortest queue."""
        return int(least_loaded(self.active, queues, self.cursor))

    def next_active(self) -> int:
        """Choose the next active worker, whatever its queue."""
        return int(next_active(self.active, self.cursor))

    def is_open(self, pane: int) -> bool:
        """Return whether the pane has tuples and is not closed."""
        return self.base <= pane < self.base + self.rows and bool(self.panes["tuples"][pane % self.rows] > 0)

    def open_panes(self) -> Iterator[int]:
        """Yield the open panes, oldest first."""
        return (pane for pane in range(self.base, self.base + self.rows) if self.is_open(pane))

    def count(self, pane: int) -> int:
        """Return the number of partitions, including those of removed workers."""
        return int(self.panes["count"][pane % self.rows])

    def owner(self, pane: int) -> int:
        """Return the worker that gets the pane's next tuple, unless its partition is too large."""
        return int(self.panes["owner"][pane % self.rows])

    def size(self, pane: int, worker: int) -> int:
        """Return the number of tuples of the pane that the worker holds."""
        return int(self.sizes[pane % self.rows, worker])

    def holders(self, pane: int) -> list[int]:
        """Return the workers that hold a partition of the pane, even an empty one."""
        return [int(worker) for worker in np.flatnonzero(self.holds[pane % self.rows])]

    def open_partition(self, pane: int, worker: int) -> int:
        """Give the worker an empty partition; return the pane's new number of partitions."""
        row = pane % self.rows
        self.holds[row, worker] = True
        self.panes["count"][row] += 1
        return self.count(pane)

    def make_owner(self, pane: int, worker: int) -> None:
        """Make the worker's partition the active one."""
        row = pane % self.rows
        self.panes["owner"][row], self.panes["active"][row] = worker, self.sizes[row, worker]

    def drop(self, pane: int, worker: int) -> int:
        """Forget the worker's partition; return its number of tuples."""
        row = pane % self.rows
        had = self.size(pane, worker)
        self.sizes[row, worker], self.holds[row, worker] = 0, False
        return had

    def close(self, pane: int) -> None:
        """Forget the oldest pane."""
        row = pane % self.rows
        self.panes[row] = (NO_WORKER, 0, 0, 0)
        self.sizes[row], self.holds[row] = 0, False
        self.base = pane + 1

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values, for ``from_json``."""
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
        """Restore the state of ``as_json``."""
        table = cls(len(document["active"]), Splitting[document["splitting"]])
        table.active[:] = document["active"]
        table.cursor[0], table.base = document["cursor"], document["base"]
        for entry in document["panes"]:
            table.reserve(entry["pane"])
            row = entry["pane"] % table.rows
            table.panes[row] = tuple(entry["record"])
            for worker, size in entry["sizes"].items():
                table.sizes[row, int(worker)], table.holds[row, int(worker)] = size, True
        return table


@njit(cache=True)
def least_loaded(active, queues, cursor):  # pragma: no cover - compiled
    """Choose the active worker with the shortest queue; of several, the first behind the last choice."""
    best = -1
    for step in range(1, active.size + 1):
        worker = (cursor[0] + step) % active.size
        if active[worker] and (best < 0 or queues[worker] < queues[best]):
            best = worker
    cursor[0] = best
    return best


@njit(cache=True)
def next_active(active, cursor):  # pragma: no cover - compiled
    """Choose the first active worker behind the last choice."""
    for step in range(1, active.size + 1):
        worker = (cursor[0] + step) % active.size
        if active[worker]:
            cursor[0] = worker
            return worker
    return -1


@njit(cache=True)
def needs_choice(splitting, pane, threshold):  # pragma: no cover - compiled
    """Return whether the next tuple of a pane depends on the queues: most tuples follow the last one."""
    if pane.tuples == 0:
        return True
    return splitting == 0 and pane.active > threshold


@njit(cache=True)
def place(splitting, pane, sizes, holds, active, queues, cursor, threshold):  # pragma: no cover - compiled
    """Choose the worker of the next tuple of a pane (Alg. 1, lines 9 to 14) and update the table."""
    worker = pane.owner
    if splitting == 2 or (splitting == 1 and pane.tuples == 0):
        worker = next_active(active, cursor)
    elif needs_choice(splitting, pane, threshold):
        worker = least_loaded(active, queues, cursor)
    if not holds[worker]:
        holds[worker] = True
        pane.count += 1
    sizes[worker] += 1
    pane.tuples += 1
    pane.owner, pane.active = worker, sizes[worker]
    return worker


@njit(cache=True)
def _assign(splitting, numbers, panes, sizes, holds, active, queues, cursor, threshold):  # pragma: no cover - compiled
    workers = np.empty(numbers.size, dtype=np.int64)
    for i in range(numbers.size):
        row = numbers[i] % panes.size
        workers[i] = place(splitting, panes[row], sizes[row], holds[row], active, queues, cursor, threshold)
        queues[workers[i]] += 1
    return workers
