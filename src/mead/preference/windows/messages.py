"""Messages to pane workers, and results for the window stage.

The paper calls two messages EMPTY. One makes an empty result at once (here ``ClosedEmpty``); the other opens a
partition that can still be filled (here ``EmptyPane``, Alg. 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

R = TypeVar("R")
"""A result: rows of a skyline, their number, or their place in a file."""

UNKNOWN_COUNT = 0
"""The count of a result that was closed early: its pane may still be split."""


@dataclass(frozen=True)
class UpdateCount:
    """The pane has another partition (UPDATE_CNT)."""

    pane: int
    count: int


@dataclass(frozen=True)
class EmptyPane:
    """Open an empty partition, which may be filled later."""

    pane: int
    count: int


@dataclass(frozen=True)
class ClosedEmpty:
    """The pane has no tuple: send an empty result at once."""

    pane: int


@dataclass(frozen=True)
class Punctuation:
    """All panes before this one are closed: send their results."""

    pane: int


@dataclass(frozen=True)
class TurnOff:
    """Send all results and sleep."""


Message: TypeAlias = UpdateCount | EmptyPane | ClosedEmpty | Punctuation | TurnOff


@dataclass(frozen=True)
class Order:
    """A message to one worker, which reads its messages in the order sent."""

    worker: int
    message: Message


@dataclass(frozen=True)
class PaneResult(Generic[R]):
    """The result of one partition, on its way to the window stage.

    All known counts of one pane are equal: the final number of its partitions. It has that many results, including
    those with unknown counts.
    """

    pane: int
    count: int
    result: R
