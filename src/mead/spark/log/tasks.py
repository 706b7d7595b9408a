"""Tasks of a micro-batch: a file with their number, and their rows."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

from mead.spark.log.store import WAY_OUT, LogError


def divide_rows(first: int, end: int, tasks: int) -> list[tuple[int, int]]:
    """Divide a range of rows into equal parts, one for each task, without empty parts.

    >>> divide_rows(10, 17, 3)
    [(10, 12), (12, 14), (14, 17)]
    """
    bounds = [first + (end - first) * n // tasks for n in range(tasks + 1)]
    return [(a, b) for a, b in pairwise(bounds) if a < b]


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
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_text(str(number))
    new.rename(path)
