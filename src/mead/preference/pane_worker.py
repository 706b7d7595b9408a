"""A worker of the pane stage: partitions of open panes, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from mead.preference.messages import (
    UNKNOWN_COUNT,
    ClosedEmpty,
    EmptyPane,
    Insert,
    Message,
    PaneResult,
    Punctuation,
    R,
    TurnOff,
    UpdateCount,
)

S = TypeVar("S")
"""What a partition has become: the skyline of its tuples."""


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

    def receive(self, message: Message[R]) -> list[PaneResult[S]]:
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
