"""How the tasks of a micro-batch share its rows. How many they are is asked anew each time: a plan needs no restart."""

from __future__ import annotations

from itertools import pairwise


def spans(first: int, end: int, tasks: int) -> list[tuple[int, int]]:
    """A range of rows in equal parts, one for each task; empty parts are left out.

    >>> spans(10, 17, 3)
    [(10, 12), (12, 14), (14, 17)]
    """
    bounds = [first + (end - first) * n // tasks for n in range(tasks + 1)]
    return [(a, b) for a, b in pairwise(bounds) if a < b]
