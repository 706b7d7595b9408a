"""How many tasks a micro-batch has: asked for anew by every one, so that a plan needs no restart."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from mead.spark.number_file import number_in, put_number


def spans(first: int, end: int, tasks: int) -> list[tuple[int, int]]:
    """A range of rows in equal parts, one for each task; empty parts are left out.

    >>> spans(10, 17, 3)
    [(10, 12), (12, 14), (14, 17)]
    """
    bounds = [first + (end - first) * n // tasks for n in range(tasks + 1)]
    return [(a, b) for a, b in pairwise(bounds) if a < b]


def ordered_tasks(path: Path) -> int:
    """The number that was ordered last."""
    return number_in(path)


def order_tasks(path: Path, tasks: int) -> None:
    """From the next micro-batch on."""
    put_number(path, tasks)
