"""The pane stage message by message, as the paper has it: the oracle for what virtual time and Spark only count.

Neither sends a message per tuple: virtual time knows what each would cost, and Spark moves columns. That their short
ways come to the same is tested against this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from mead.arrays import IntArray
from mead.preference.windows.messages import (
    UNKNOWN_COUNT,
    ClosedEmpty,
    EmptyPane,
    Message,
    PaneResult,
    Punctuation,
    TurnOff,
    UpdateCount,
)
from mead.preference.windows.pane_emitter import PaneEmitter

R = TypeVar("R")
S = TypeVar("S")
"""A tuple, and what a partition has become: the skyline of its tuples."""


@dataclass(frozen=True)
class Insert(Generic[R]):
    """A tuple, with the number of partitions that its pane has now."""

    pane: int
    count: int
    row: R


def sent(emitter: PaneEmitter, pane: int, row: R, queues: IntArray) -> Iterator[tuple[int, Message | Insert[R]]]:
    """The messages for one tuple, by worker. Whoever holds a partition hears of a new one before the tuple is sent."""
    table = emitter.table
    table.reserve(pane)
    before, counted = table.holders(pane), table.count(pane)
    worker = int(table.assign(np.array([pane], dtype=np.int64), queues, emitter.threshold.tuples)[0])
    count = table.count(pane)
    if count > counted:
        yield from ((holder, UpdateCount(pane, count)) for holder in before)
    yield worker, Insert(pane, count, row)


@dataclass
class PaneWorker(Generic[R, S]):
    """Keeps one result per pane, with the number of partitions of that pane.

    >>> worker = PaneWorker(empty=frozenset, insert=lambda held, row: held | {row})
    >>> worker.receive(Insert(pane=3, count=1, row="a"))
    []
    >>> worker.receive(UpdateCount(pane=3, count=2))
    []
    >>> worker.receive(Punctuation(pane=4))
    [PaneResult(pane=3, count=2, result=frozenset({'a'}))]
    """

    empty: Callable[[], S]
    insert: Callable[[S, R], S]
    _results: dict[int, S] = field(default_factory=dict)
    _counts: dict[int, int] = field(default_factory=dict)

    def receive(self, message: Message | Insert[R]) -> list[PaneResult[S]]:
        """What goes to the window stage because of a message."""
        match message:
            case Insert(pane, count, row):
                self._open(pane, count)
                self._results[pane] = self.insert(self._results[pane], row)
            case UpdateCount(pane, count):
                if pane not in self._counts:
                    raise ValueError(f"pane {pane} is counted anew at a worker that does not hold it")
                self._counts[pane] = count
            case EmptyPane(pane, count):
                self._open(pane, count)
            case ClosedEmpty(pane):
                return [PaneResult(pane, 1, self.empty())]
            case Punctuation(pane):
                return [self._hand_on(held, self._counts[held]) for held in sorted(self._counts) if held < pane]
            case TurnOff():
                return [self._hand_on(held, UNKNOWN_COUNT) for held in sorted(self._counts)]
        return []

    def _open(self, pane: int, count: int) -> None:
        if pane not in self._counts:
            self._results[pane], self._counts[pane] = self.empty(), count

    def _hand_on(self, pane: int, count: int) -> PaneResult[S]:
        del self._counts[pane]
        return PaneResult(pane, count, self._results.pop(pane))
