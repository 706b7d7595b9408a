"""CPU time of the pattern detector at the paper's size, with its state by key in one to eight tasks.

The window of the DRS paper has 50,000 posts, of which 320 come per second; a micro-batch has half a second of them. The
CPU time of the slowest task is what a micro-batch takes with enough cores. Run it with
``make bench BENCHMARKS=benchmarks/bench_state.py``.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pattern_detection.detector import KEYS, make_detector
from pattern_detection.generator import make_generator
from pattern_detection.posts import make_window
from rich.console import Console

from mead.spark.log.addresses import select_rows
from mead.spark.log.key_state import StateFiles, StatePart, divide_hashes, select_range

if TYPE_CHECKING:
    from benchmarks.common import best_s, table
else:
    from common import best_s, table

WINDOW, RATE_PER_S, TRIGGER_S, LONGEST = 50_000, 320, 0.5, 4
THRESHOLD = 3 * WINDOW // 100
FILL, BATCHES = 5_000, 6
"""Posts of a micro-batch while the window fills, and micro-batches that are measured for each number of tasks."""

TASKS = (1, 2, 4, 8)
KEY_COLUMNS = pa.schema([("itemset", pa.string())])
VALUE_COLUMNS = pa.schema([("occurrences", pa.int64()), ("supersets", pa.int64())])


class Detector:
    """The detector as its tasks run it, one after the other in this process. It closes its loop itself."""

    def __init__(self, folder: Path) -> None:
        self.files = StateFiles(folder, KEY_COLUMNS, VALUE_COLUMNS)
        self.detect = make_detector(THRESHOLD)
        self.parts: list[StatePart] = []
        self.turn, self.records = 0, 0
        self.back: list[pa.RecordBatch] = []

    def run(self, candidates: pa.RecordBatch, tasks: int) -> list[float]:
        """Process one micro-batch; return the CPU seconds of each task."""
        self.turn += 1
        rows, self.back = [_complete(candidates), *self.back], []
        made, taken_s, self.records = [], [], 0
        for keys in divide_hashes(tasks):
            began_s = process_time()
            mine = [select_range(batch, KEYS, *keys) for batch in rows]
            state = self.files.take(keys, self.parts, self.turn)
            output = self.detect(pa.Table.from_batches(mine).combine_chunks().to_batches()[0], state)
            made.append(self.files.put(keys, state))
            taken_s.append(process_time() - began_s)
            self.records += len(state)
            self.back.append(_complete(select_rows(output, "detector")))
        self.parts = made
        return taken_s


def _complete(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Give rows all columns that the detector reads, as its two inputs together do."""
    columns = {"arrival_us": pa.int64(), "itemset": pa.string(), "occurrences": pa.int32(), "supersets": pa.int32()}
    there = rows.schema.names
    arrays = [rows[name] if name in there else pa.nulls(rows.num_rows, kind) for name, kind in columns.items()]
    return pa.record_batch(arrays, schema=pa.schema(list(columns.items())))


def candidates(first: int, end: int) -> pa.RecordBatch:
    """The rows of the generator for some posts."""
    numbers = np.arange(first, end)
    posts = make_window(WINDOW)(numbers)
    return make_generator(LONGEST)(pa.record_batch({"arrival_us": numbers, **_columns(posts)}))


def _columns(posts: pa.RecordBatch) -> dict[str, pa.Array]:
    return {name: posts[name] for name in posts.schema.names}


def main() -> None:
    """Fill the window, then measure micro-batches in more and more tasks."""
    console = Console()
    with TemporaryDirectory() as folder:
        detector = Detector(Path(folder))
        bounds = range(0, WINDOW + 1, FILL)
        filling_s = sum(sum(detector.run(candidates(first, end), 1)) for first, end in pairwise(bounds))
        console.print(f"Filling a window of {WINDOW:,} posts: {filling_s:.1f} s of CPU, {detector.records:,} records")
        posts, first = int(RATE_PER_S * TRIGGER_S), WINDOW
        title = f"Micro-batches of {posts} posts ({RATE_PER_S}/s, every {TRIGGER_S:g} s), CPU ms"
        figures = table(title, "tasks", "slowest task", "all tasks", "rows", "first after the change")
        for tasks in TASKS:
            taken, rows = [], 0
            for _ in range(1 + BATCHES):
                some = candidates(first, first + posts)
                first, rows = first + posts, some.num_rows
                taken.append(detector.run(some, tasks))
            change, *usual = taken
            slowest, total = np.median([max(one) for one in usual]), np.median([sum(one) for one in usual])
            ms = (f"{1000 * seconds:.0f}" for seconds in (slowest, total))
            figures.add_row(str(tasks), *ms, f"{rows:,}", f"{1000 * max(change):.0f}")
        console.print(figures)
        records = dict(detector.files.take((0, 2**32), detector.parts, 0))
        through_json_s = best_s(lambda: json.loads(json.dumps(records)), runs=3)
        console.print(f"The same records through JSON and back: {1000 * through_json_s:.0f} ms of CPU")


if __name__ == "__main__":
    main()
