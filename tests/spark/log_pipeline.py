"""The log analysis as the tests of the live engine run it, and what must come out of it, counted without Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import time_ns
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mead.demo import counter, matcher, parser
from mead.demo.log_lines import log_lines
from mead.queueing import Edge
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.operators import OnBatches, OnKeys, Work
from mead.spark.pipeline.running import WARM_UP
from mead.spark.sources.inputs import TraceInput
from mead.values import Batches, Operator, Pipeline, Requirement

TRIED = 200
PATH = "parser>matcher"


def pipeline(max_replicas: int = 1, bound_s: float = 1.0) -> Pipeline:
    batches = Batches(overhead_s=0.1)
    return Pipeline(
        "log-analysis",
        [
            Operator("parser", 0.0001, batches=batches),
            Operator("counter", 0.0001, batches=batches),
            Operator("matcher", 0.0003, batches=batches, max_replicas=max_replicas),
        ],
        [Edge("parser", "counter"), Edge("parser", "matcher")],
        [Requirement(PATH, bound_s)],
    )


def work() -> dict[str, Work]:
    return {
        "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
        "counter": OnKeys(counter.count, counter.OUTPUT_SCHEMA, keys=counter.KEYS, state=counter.STATE_SCHEMA),
        "matcher": OnBatches(matcher.make_matcher(tried=TRIED), matcher.OUTPUT_SCHEMA, counts="pattern"),
    }


def wall_us() -> int:
    return time_ns() // 1000


def source(
    folder: Path, times_s: list[float], kind: type[TraceInput] = TraceInput, now_us: Callable[[], int] = wall_us
) -> TraceInput:
    """Lines that arrive at these times, by this clock."""
    np.save(folder / "trace.npy", np.round(1e6 * np.array(times_s)).astype(np.int64))
    return kind(
        folder / "trace.npy",
        warm_up=folder / WARM_UP,
        payload="mead.demo.log_lines:log_lines",
        payload_schema="line string",
        now_us=now_us,
    )


def parsed(lines: int) -> pa.RecordBatch:
    """What the parser makes of the first lines."""
    numbers = np.arange(lines, dtype=np.int64)
    return parser.parse(pa.record_batch({"id": numbers, "arrival_us": numbers, "line": log_lines(numbers)["line"]}))


def expected_totals(lines: int) -> dict[tuple[str, str], int]:
    rows = parsed(lines)
    return dict(Counter(zip(rows["component"].to_pylist(), rows["level"].to_pylist(), strict=True)))


def expected_matches(lines: int) -> list[tuple[int, str]]:
    rows = matcher.make_matcher(tried=TRIED)(parsed(lines))
    return sorted(zip(rows["id"].to_pylist(), rows["pattern"].to_pylist(), strict=True))


def expected_counts(lines: int) -> dict[str, int]:
    """Matched events by pattern."""
    return dict(Counter(pattern for _, pattern in expected_matches(lines)))


def results(folder: Path, operator: str) -> pa.Table:
    """The Parquet files, read without Spark."""
    return pq.read_table(folder / "results" / operator)


def totals(folder: Path) -> dict[tuple[str, str], int]:
    """The last of every component and level: totals only grow."""
    rows = results(folder, "counter").to_pylist()
    last: dict[tuple[str, str], int] = {}
    for row in rows:
        key = (row["component"], row["level"])
        last[key] = max(last.get(key, 0), row["count"])
    return last


def matches(folder: Path) -> list[tuple[int, str]]:
    rows = results(folder, "matcher")
    return sorted(zip(rows["id"].to_pylist(), rows["pattern"].to_pylist(), strict=True))


def index(folder: Path, operator: str) -> dict[int, list[Any]]:
    """By batch, what each of its tasks has written."""
    lines = (folder / "streams" / operator / "index").read_text().splitlines()
    return dict(json.loads(line.partition(" ")[2]) for line in lines)


def stream(folder: Path, operator: str) -> StreamLog:
    return StreamLog(folder / "streams" / operator)
