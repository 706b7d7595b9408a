"""How many tasks a micro-batch has: asked for anew by every one, so that a plan needs no restart."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from mead.spark.number_file import number_in, put_number

PAUSED = 0
"""So many tasks stand for: let nothing more in. A query that has nothing to do can be stopped in good order."""


def spans(first: int, end: int, tasks: int) -> list[tuple[int, int]]:
    """A range of rows in equal parts, one for each task; empty parts are left out.

    >>> spans(10, 17, 3)
    [(10, 12), (12, 14), (14, 17)]
    """
    tasks = max(tasks, 1)  # a micro-batch that was begun before the pause, or before a crash
    bounds = [first + (end - first) * n // tasks for n in range(tasks + 1)]
    return [(a, b) for a, b in pairwise(bounds) if a < b]


def ordered_tasks(path: Path) -> int:
    """The number that was ordered last."""
    return number_in(path)


def paused(path: Path) -> bool:
    """Whether nothing more is to be let in."""
    return ordered_tasks(path) == PAUSED


def order_tasks(path: Path, tasks: int) -> None:
    """From the next micro-batch on."""
    put_number(path, tasks)
