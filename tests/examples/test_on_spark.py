"""The two applications of the DRS paper live, by their pipeline files, under policies that scale replicas."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from logo_detection.frames import logos_in
from tests.examples.pattern_detection.oracle import last_window, maximal
from tests.paths import EXAMPLES
from tests.spark import log_pipeline as logs

from mead.config import parse_pipeline
from mead.cpu import DryRunShares
from mead.policies import PolicyOptions
from mead.policies.drs.policy import DRSOptions
from mead.policies.pasps.policy import PaSpsOptions
from mead.session import LiveResult, Session
from mead.spark.pipeline.build import live_pipeline, load_source, load_work
from mead.spark.pipeline.query import last_finished
from mead.spark.pipeline.run import run_pipeline
from mead.spark.pipeline.running import WARM_UP
from mead.values import Knowledge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

DURATION_S = 4.0
WINDOW, THRESHOLD, LONGEST = 40, 5, 4
LOGOS, SHOWN = 16, 20


def ran(
    spark: SparkSession, application: str, policy: PolicyOptions, folder: Path, changed: Mapping[str, str]
) -> tuple[LiveResult, int]:
    """The pipeline file that ships, with a few numbers changed, and how many tuples its source has let in."""
    text = (EXAMPLES / f"{application}.yaml").read_text()
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    file = parse_pipeline(text.encode())
    pipeline = live_pipeline(file.pipeline)
    source = load_source(file, EXAMPLES, folder, DURATION_S, folder / WARM_UP)
    with closing(DryRunShares([operator.name for operator in pipeline.operators])) as shares:
        result = run_pipeline(
            Session(pipeline, policy),
            spark,
            Knowledge(pipeline, 0.0),
            source,
            load_work(file, EXAMPLES),
            folder,
            shares,
            duration_s=DURATION_S,
        )
    last = last_finished(folder / "checkpoints" / pipeline.order[0])
    assert last is not None
    return result, last.end_offset["count"]


def test_patterns_under_drs_are_those_of_brute_force(spark: SparkSession, tmp_path: Path) -> None:
    changed = {"window: 1000": f"window: {WINDOW}", "threshold: 30": f"threshold: {THRESHOLD}"}
    result, posts = ran(spark, "pattern-detection", DRSOptions(interval_s=1.0, t_ra_s=0.0), tmp_path, changed)
    assert result.drained
    assert result.failed_rounds == 0
    assert posts > WINDOW, "posts have left the window"
    last: dict[str, tuple[int, bool]] = {}
    for row in logs.results(tmp_path, "reporter").to_pylist():
        last[row["pattern"]] = max(last.get(row["pattern"], (0, False)), (row["turn"], row["maximal"]))
    found = {pattern for pattern, (_, is_so) in last.items() if is_so}
    assert found == maximal(last_window(posts, WINDOW), THRESHOLD, LONGEST)
    assert result.responses["generator>detector>reporter"].total > 0


def test_logos_under_pasps_are_found_where_they_are(spark: SparkSession, tmp_path: Path) -> None:
    policy = PaSpsOptions(interval_s=1.0, sample_s=0.5, hold_down_s=0.0)
    result, frames = ran(spark, "logo-detection", policy, tmp_path, {"rate_per_s: 13": "rate_per_s: 3"})
    assert result.drained
    assert result.failed_rounds == 0
    rows = logs.results(tmp_path, "aggregator")
    there = {(n, logo) for n in range(frames) for logo in logos_in(n, SHOWN) if logo < LOGOS}
    assert there
    assert set(zip(rows["id"].to_pylist(), rows["logo"].to_pylist(), strict=True)) == there
    assert rows.num_rows == len(there), "each once, though its features were matched by several tasks"
    assert any(allocation["extractor"].replicas < 4 for _, allocation in result.timeline), "as few as it needs"
