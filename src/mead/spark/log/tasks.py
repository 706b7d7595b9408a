"""Tasks of a micro-batch: a file with their number or their execution times, and their rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from heapq import heapify, heapreplace
from itertools import accumulate, pairwise
from pathlib import Path

from mead.spark.log.store import WAY_OUT, LogError

TIMES = ".times"
"""The end of the name of a file with execution times."""


def divide_rows(first: int, end: int, tasks: int | Sequence[float]) -> list[tuple[int, int]]:
    """Divide a range of rows into parts, one for each task, without empty parts.

    The parts of a number of ``tasks`` are equal; those of tasks with execution times are as `count_rows` says.

    >>> divide_rows(10, 17, 3)
    [(10, 12), (12, 14), (14, 17)]
    >>> divide_rows(10, 17, [0.001, 0.001, 0.002])
    [(10, 13), (13, 16), (16, 17)]
    """
    if isinstance(tasks, int):
        bounds = [first + (end - first) * n // tasks for n in range(tasks + 1)]
    else:
        bounds = list(accumulate(count_rows(end - first, tasks), initial=first))
    return [(a, b) for a, b in pairwise(bounds) if a < b]


def count_rows(rows: int, times_s: Sequence[float]) -> list[int]:
    """Return how many rows each replica gets by Algorithm 1 of PA-SPS, given its execution time of a row.

    One row after the other goes to the replica of least load, which rises by the execution time (equation 1); of equal
    loads the first counts. All loads begin at 0: a micro-batch begins when the one before has ended. As long as all
    rows of load below ``level_s`` are surely given, they are counted and not gone through: ``level_s`` is so low that
    rounding up gives no replica a row too many.

    >>> count_rows(10, [1.0, 1.0, 4.0])
    [5, 4, 1]
    """
    level_s = max(rows - len(times_s), 0) / sum(1 / time_s for time_s in times_s)
    counts = [int(level_s / time_s) for time_s in times_s]
    loads = [(count * time_s, place) for place, (count, time_s) in enumerate(zip(counts, times_s, strict=True))]
    heapify(loads)
    for _ in range(rows - sum(counts)):
        place = loads[0][1]
        counts[place] += 1
        heapreplace(loads, (counts[place] * times_s[place], place))
    return counts


def read_tasks(path: Path) -> int | list[float]:
    """Read the number of tasks, or the execution times that `write_times` has written."""
    try:
        return [float(time_s) for time_s in path.read_text().split()] if path.suffix == TIMES else read_number(path)
    except ValueError:
        raise LogError(f"{path}: damaged: it must hold execution times; {WAY_OUT}") from None


def read_number(path: Path, missing: int | None = None) -> int:
    """Read a number that another process may replace. Without ``missing``, a missing file is an error.

    Raises LogError if the file holds anything but a number.
    """
    try:
        return int(path.read_text())
    except ValueError:
        raise LogError(f"{path}: empty or damaged: it must hold a number; {WAY_OUT}") from None
    except FileNotFoundError:
        if missing is None:
            raise
        return missing


def write_number(path: Path, number: int) -> None:
    """Replace the number atomically: a reader sees the old or the new one."""
    _replace(path, str(number))


def write_times(path: Path, times_s: Sequence[float]) -> None:
    """Replace the execution times of tasks atomically."""
    _replace(path, " ".join(map(repr, times_s)))


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(text)
    new.rename(path)
