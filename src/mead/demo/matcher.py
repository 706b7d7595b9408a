"""Matcher: which of a user's patterns occur in which messages. The expensive operator: every message against each."""

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
    """A function from parsed lines to one row for every pattern and message in which it occurs.

    In a pipeline file: ``function: mead.demo.matcher:make_matcher`` with ``options``, that is, the
    arguments of this factory. ``patterns`` is a file, see `patterns`; ``tried`` is how many of them each message is
    searched for, all of them unless it is told. With more than there are, the first are tried again, to no other effect
    than their work: `calibration` tells which number gives a wanted CPU time per tuple on this machine.
    """
    path = Path(patterns).resolve()
    tried = len(_patterns(path)) if tried is None else tried
    if tried < 1:
        raise ValueError(f"tried must be at least 1, not {tried}")
    return partial(_matches, path, tried)


@lru_cache(maxsize=4)
def _patterns(path: Path) -> tuple[Pattern, ...]:
    """Compile the patterns once per worker: if they were sent along, every task would compile them again."""
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
