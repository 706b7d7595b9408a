"""The emitter of the pane stage: messages, and changes of workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mead.arrays import IntArray
from mead.preference.control.threshold import Threshold
from mead.preference.windows.messages import (
    ClosedEmpty,
    EmptyPane,
    Order,
    Punctuation,
    TurnOff,
    UpdateCount,
)
from mead.preference.windows.owner_table import OwnerTable


@dataclass(frozen=True)
class Partition:
    """The part of one pane that one worker holds."""

    pane: int
    worker: int
    tuples: int


@dataclass(frozen=True)
class ClosedPane:
    """A pane that is complete."""

    pane: int
    count: int
    """Partitions ever made, including those of removed workers; 1 for a pane without tuples."""
    partitions: tuple[Partition, ...]
    """Partitions that workers still hold."""


@dataclass(frozen=True)
class PaneClosing:
    """The panes that a punctuation closes, and the resulting messages."""

    closed: tuple[ClosedPane, ...]
    orders: tuple[Order, ...]


@dataclass(frozen=True)
class Removal:
    """The results and messages that follow from removing workers."""

    flushed: tuple[Partition, ...]
    """Partitions sent on before their panes are complete, so that their counts are unknown."""
    orders: tuple[Order, ...]


class PaneEmitter:
    """Owner table, threshold, and the panes closed so far. The caller keeps queues and clock."""

    def __init__(self, table: OwnerTable, threshold: Threshold, next_pane: int = 0) -> None:
        self.table = table
        self.threshold = threshold
        self.next_pane = next_pane
        """The oldest pane that no punctuation has closed."""

    @property
    def active(self) -> list[int]:
        """The workers that get tuples."""
        return [int(worker) for worker in self.table.active.nonzero()[0]]

    def close_before(self, pane: int) -> PaneClosing:
        """Handle a punctuation: no tuple of an earlier pane will come."""
        if pane < self.next_pane:
            return PaneClosing((), ())
        closed: list[ClosedPane] = []
        orders: list[Order] = []
        for number in range(self.next_pane, pane):
            if self.table.is_open(number):
                whole = self._closed(number)
                self.threshold = self.threshold.after_closing(partition.tuples for partition in whole.partitions)
                closed.append(whole)
            else:
                orders.append(Order(self.table.next_active(), ClosedEmpty(number)))
                closed.append(ClosedPane(number, 1, ()))
            self.table.close(number)
        self.next_pane = pane
        self.threshold = self.threshold.after_punctuation(pane)
        orders += [Order(worker, Punctuation(pane)) for worker in self.active]
        return PaneClosing(tuple(closed), tuple(orders))

    def add(self, workers: Iterable[int]) -> None:
        """Let workers get tuples from now on."""
        self.table.activate(list(workers))

    def remove(self, workers: Iterable[int], queues: IntArray) -> Removal:
        """Remove workers: they get no more tuples and send on their results (Alg. 4 of the paper)."""
        leaving = list(workers)
        self.table.activate(leaving, on=False)
        if not self.table.active.any():
            self.table.activate(leaving)
            raise ValueError("cannot remove the last worker: no worker would own the open panes")
        orders: list[Order] = [Order(worker, TurnOff()) for worker in leaving]
        flushed: list[Partition] = []
        for pane in self.table.open_panes():
            flushed += [
                Partition(pane, worker, self.table.drop(pane, worker))
                for worker in self.table.holders(pane)
                if worker in leaving
            ]
            if self.table.owner(pane) in leaving:
                orders += self._new_owner(pane, queues)
        return Removal(tuple(flushed), tuple(orders))

    def _new_owner(self, pane: int, queues: IntArray) -> Iterator[Order]:
        """Choose a new owner. It holds a partition even if no tuple follows: a worker must know the final count."""
        worker, holders = self.table.least_loaded(queues), self.table.holders(pane)
        if worker not in holders:
            count = self.table.open_partition(pane, worker)
            yield from self._updates(holders, pane, count)
            yield Order(worker, EmptyPane(pane, count))
        self.table.make_owner(pane, worker)

    @staticmethod
    def _updates(holders: Iterable[int], pane: int, count: int) -> Iterator[Order]:
        return (Order(holder, UpdateCount(pane, count)) for holder in holders)

    def _closed(self, pane: int) -> ClosedPane:
        partitions = (Partition(pane, worker, self.table.size(pane, worker)) for worker in self.table.holders(pane))
        return ClosedPane(pane, self.table.count(pane), tuple(partitions))

    def as_json(self) -> dict[str, Any]:
        """Return the state as plain values, for ``from_json``."""
        return {"table": self.table.as_json(), "threshold": self.threshold.as_json(), "next_pane": self.next_pane}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> PaneEmitter:
        """Restore the state of ``as_json``."""
        table, threshold = OwnerTable.from_json(document["table"]), Threshold.from_json(document["threshold"])
        return cls(table, threshold, document["next_pane"])
