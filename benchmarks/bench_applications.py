"""Demands and selectivities of the two applications of the DRS paper, as their pipeline files state them.

Measured in one process without Spark: what a worker does with a tuple, and how many rows come of it. Micro-batches of
the pattern detector are of half a second, as in its pipeline file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from logo_detection.aggregator import ENOUGH, judged
from logo_detection.extractor import extract
from logo_detection.frames import make_frames
from logo_detection.matcher import make_matcher
from pattern_detection.detector import summed
from pattern_detection.generator import make_generator
from pattern_detection.posts import make_window
from pattern_detection.records import Change, Records, apply
from rich.console import Console

if TYPE_CHECKING:
    from benchmarks.common import best_s, table
else:
    from common import best_s, table

WINDOW, THRESHOLD, LONGEST = 1000, 30, 4
POSTS, POSTS_IN_A_BATCH = 4000, 20
FRAMES, LOGOS, SHOWN = 100, 16, 20


@dataclass
class Detector:
    """The detector with its loop closed, as Spark runs it in micro-batches."""

    records: Records = field(default_factory=dict)
    rows: int = 0
    looped: int = 0
    reported: int = 0
    waiting: list[Change] = field(default_factory=list)

    def run(self, candidates: pa.RecordBatch) -> None:
        """Run one micro-batch on candidates, and on what the one before has sent back."""
        back = self.waiting
        rows = pa.Table.from_batches([candidates]).append_column("supersets", pa.nulls(candidates.num_rows, pa.int32()))
        told_back = {
            "arrival_us": pa.array([change.arrival_us for change in back], pa.int64()),
            "itemset": pa.array([change.itemset for change in back], pa.string()),
            "occurrences": pa.nulls(len(back), pa.int32()),
            "supersets": pa.array([change.supersets for change in back], pa.int32()),
        }
        every = pa.concat_tables([rows, pa.table(told_back)]).combine_chunks().to_batches()[0]
        told = apply(self.records, summed(every), THRESHOLD)
        self.rows += every.num_rows
        self.looped += len(told.to_subsets)
        self.reported += len(told.maximal)
        self.waiting = told.to_subsets


def patterns() -> list[tuple[str, float, float | None, str]]:
    """Operator, seconds per tuple, rows per tuple and to whom."""
    numbers = np.arange(POSTS)
    posts = make_window(WINDOW)(numbers)
    batch = pa.record_batch({"arrival_us": numbers, **{name: posts[name] for name in posts.schema.names}})
    generate = make_generator(LONGEST)
    generator_s = best_s(lambda: generate(batch), runs=3) / POSTS
    parts = [generate(batch.slice(first, POSTS_IN_A_BATCH)) for first in range(0, POSTS, POSTS_IN_A_BATCH)]

    def detected() -> Detector:
        detector = Detector()
        for part in parts:
            detector.run(part)
        return detector

    detector = detected()
    detector_s = best_s(detected, runs=3) / detector.rows
    return [
        ("generator", generator_s, sum(part.num_rows for part in parts) / POSTS, "detector"),
        ("detector", detector_s, detector.looped / detector.rows, "detector"),
        ("", detector_s, detector.reported / detector.rows, "reporter"),
    ]


def logos() -> list[tuple[str, float, float | None, str]]:
    """The same for frames."""
    numbers = np.arange(FRAMES)
    frames = pa.record_batch({"id": numbers, "arrival_us": numbers, "pixels": make_frames(SHOWN)(numbers)["pixels"]})
    match, features = make_matcher(LOGOS), extract(frames)
    matches = match(features)
    return [
        ("extractor", best_s(lambda: extract(frames), runs=3) / FRAMES, features.num_rows / FRAMES, "matcher"),
        (
            "matcher",
            best_s(lambda: match(features)) / features.num_rows,
            matches.num_rows / features.num_rows,
            "aggregator",
        ),
        ("aggregator", best_s(lambda: judged(ENOUGH, matches)) / matches.num_rows, None, ""),
    ]


def main() -> None:
    """Print one table for each application."""
    for title, rows in (("Frequent patterns", patterns()), ("Logos in frames", logos())):
        figures = table(title, "operator", "µs per tuple", "rows per tuple", "to")
        for operator, demand_s, selectivity, to in rows:
            figures.add_row(operator, f"{1e6 * demand_s:.3g}", "" if selectivity is None else f"{selectivity:.3g}", to)
        Console().print(figures)


if __name__ == "__main__":
    main()
