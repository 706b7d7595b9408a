"""Policies one after the other in the same Spark session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments.comparison import PolicyContender
from experiments.live.comparison import ROWS, LiveComparison, runs_of
from experiments.live.rows import live_table
from experiments.workloads import PATH, Workload

from mead.cpu import detect
from mead.values import Requirement
from mead.workload import Poisson

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

RUN_S = 6.0


@pytest.mark.skipif(detect().kind == "none", reason=f"CPU shares cannot be set here: {detect()}")
def test_every_run_is_measured_and_limited_like_the_first(spark: SparkSession, tmp_path: Path) -> None:
    trace = Poisson(rate_per_s=100.0, duration_s=RUN_S + 10.0).generate(np.random.default_rng(1))
    workload = Workload("live", "live", 0.0015, trace)
    comparison = LiveComparison(spark, detect().open, workload, trace, RUN_S, 200, tmp_path, 0.01)
    policies = [PolicyContender.of("static"), PolicyContender.of("static@share=0.55")]
    (full, strict), (half, _) = comparison.rows(runs_of([Requirement(PATH, 60.0), Requirement(PATH, 1e-3)], policies))
    for row in (full, half):
        assert row.mean_s is not None
        assert row.mean_s > 0
        assert row.used > 0.01, "the workers are in the groups of their run"
        assert row.replayed_mean_s > 0
        assert row.prediction_error is None, "a static share predicts nothing"
        assert (row.drained, row.trouble) == (True, "")
        assert row.java is not None
        assert row.java > 0
    assert full.cores == pytest.approx({"parser": 0.4, "counter": 0.4, "matcher": 1.0})
    assert 0.55 <= half.cores["matcher"] < 0.85  # until its first round, all that may be had is given
    assert half.throttled > 0, "bursts of a micro-batch are held back by a share below 1, and that is measured"
    assert (full.met, strict.met) == (True, False), "one run is judged by both"
    assert strict.mean_s == full.mean_s
    assert live_table([full, half], workload.title).row_count == 2
    written = [json.loads(line) for line in (tmp_path / ROWS).read_text().splitlines()]
    assert [(row["policy"], row["met"]) for row in written[:2]] == [("static", True), ("static", False)]
    assert len(written) == 4
