"""What the emitter of the pane stage says to its workers beside tuples, and what they say to the window stage.

The paper calls two messages EMPTY. One makes a result of a pane without tuples at once (here ``ClosedEmpty``); the
other opens a partition that can still be filled (here ``EmptyPane``, Alg. 4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

R = TypeVar("R")
"""A result: rows of a skyline, their number, or where they are stored."""

UNKNOWN_COUNT = 0
"""The count of a result that was closed by force: its pane may still be split."""


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
    """No tuple fell into this pane: hand on an empty result at once."""

    pane: int


@dataclass(frozen=True)
class Punctuation:
    """All panes before this one are closed: hand on what you hold of them."""

    pane: int


@dataclass(frozen=True)
class TurnOff:
    """Hand on all that you hold, and sleep."""


Message: TypeAlias = UpdateCount | EmptyPane | ClosedEmpty | Punctuation | TurnOff


@dataclass(frozen=True)
class Order:
    """A message to one worker. Each worker reads its messages in the order in which they were sent."""

    worker: int
    message: Message


@dataclass(frozen=True)
class PaneResult(Generic[R]):
    """The result of one partition, on its way to the window stage.

    Of one pane, all counts but the unknown ones are the same: the final number of its partitions. And there are as
    many results, the unknown ones included.
    """

    pane: int
    count: int
    result: R
