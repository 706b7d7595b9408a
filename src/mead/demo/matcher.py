"""Matcher: search every message for every pattern. The most expensive operator of the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa

from mead.demo.patterns import SHIPPED, Pattern, read_patterns

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, component string, pattern string, message string"


def make_matcher(
    patterns: str | Path = SHIPPED, tried: int | None = None
) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Make a function that returns one row for each pattern found in a message of a batch of parsed lines.

    In a pipeline file: ``function: mead.demo.matcher:make_matcher``, with these arguments as ``options``. ``patterns``
    is a file as `patterns` describes it. ``tried`` is the number of patterns to search for, by default all of them. If
    it exceeds their number, the first ones are searched again and only cost time: `calibration` finds the number that
    gives a wanted CPU time per tuple on this machine.
    """
    path = Path(patterns).resolve()
    tried = len(_patterns(path)) if tried is None else tried
    if tried < 1:
        raise ValueError(f"tried must be at least 1, not {tried}")
    return partial(_matches, path, tried)


@lru_cache(maxsize=4)
def _patterns(path: Path) -> tuple[Pattern, ...]:
    """Read and compile the patterns once per worker, not once per task."""
    return read_patterns(path)


def _matches(path: Path, tried: int, batch: pa.RecordBatch) -> pa.RecordBatch:
    patterns = _patterns(path)
    searches = [(pattern.name, pattern.expression.search) for pattern in patterns[:tried]]
    again = [pattern.expression.search for pattern in islice(cycle(patterns), len(searches), tried)]
    rows, names = [], []
    for row, message in enumerate(batch.column("message").to_pylist()):
        for name, search in searches:
            if search(message):
                rows.append(row)
                names.append(name)
        for search in again:
            search(message)
    taken = batch.select(["id", "arrival_us", "component", "message"]).take(pa.array(rows, pa.int64()))
    return taken.add_column(3, "pattern", pa.array(names, pa.string()))
