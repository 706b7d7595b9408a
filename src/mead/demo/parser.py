"""Parser: split log lines into fields.

Malformed lines are dropped; the report of a run shows their number as the difference of rows in and out. The operator
in `rejects` returns the lines themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import pyarrow as pa

from mead.demo.log_lines import LEVELS

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, logged_us bigint, level string, component string, message string"

LINE_COLUMN = "line"
"""Default column of the lines."""

LINE = re.compile(
    r"(?P<stamp>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2}))"
    rf" +(?P<level>{'|'.join(LEVELS)})"
    r" +\[(?P<component>[^\s\]]+)\]"
    r" (?P<message>[^\n]*[^\s])\s*"
)
"""ISO 8601 with a time zone, level, component in brackets, message; trailing blanks are ignored."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

ROW = pa.schema(
    [
        ("id", pa.int64()),
        ("arrival_us", pa.int64()),
        ("logged_us", pa.int64()),
        ("level", pa.string()),
        ("component", pa.string()),
        ("message", pa.string()),
    ]
)


def make_parser(column: str = LINE_COLUMN) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Make a `parse` for lines in another column, such as ``value`` of a broker.

    In a pipeline file: ``function: mead.demo.parser:make_parser``, ``options: {column: value}``.
    """
    return partial(parse, column=column)


def parse(batch: pa.RecordBatch, column: str = LINE_COLUMN) -> pa.RecordBatch:
    """Turn rows of ``id, arrival_us, line`` into the fields of every well-formed line.

    >>> lines = ["2023-11-14T22:13:20.021Z WARN [search] slow query 7: 950 ms", "    at search.Handler.run:7"]
    >>> parse(pa.record_batch({"id": [1, 2], "arrival_us": [5, 6], "line": lines})).to_pylist()
    ... # doctest: +NORMALIZE_WHITESPACE
    [{'id': 1, 'arrival_us': 5, 'logged_us': 1700000000021000, 'level': 'WARN', 'component': 'search',
      'message': 'slow query 7: 950 ms'}]
    """
    whole, logged_us, levels, components, messages = [], [], [], [], []
    for row, line in enumerate(batch.column(column).to_pylist()):
        parts = parse_line(line)
        if parts is not None:
            whole.append(row)
            logged_us.append(parts[0])
            levels.append(parts[1])
            components.append(parts[2])
            messages.append(parts[3])
    kept = pa.array(whole, pa.int64())
    columns = [batch.column("id").take(kept), batch.column("arrival_us").take(kept)]
    return pa.record_batch([*columns, logged_us, levels, components, messages], schema=ROW)


def parse_line(line: str | None) -> tuple[int, str, str, str] | None:
    """Time in microseconds since 1970, level, component and message; None if the line is malformed."""
    found = LINE.fullmatch(line) if line is not None else None
    if found is None:
        return None
    stamp, level, component, message = found.groups()
    try:
        logged_us = (datetime.fromisoformat(stamp) - EPOCH) // MICROSECOND
    except ValueError:  # such as month 13
        return None
    return logged_us, level, component, message
