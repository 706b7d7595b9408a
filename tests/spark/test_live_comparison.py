"""Policies one after the other in the same Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from mead.evaluate.comparison import PolicyContender
from mead.evaluate.live_comparison import LiveComparison, live_table
from mead.evaluate.workloads import PATH, Workload
from mead.execute.detect import detect
from mead.knowledge.requirement import Requirement
from mead.workload.generators.poisson import Poisson

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RUN_S = 6.0


@pytest.mark.skipif(detect().kind == "none", reason=f"CPU shares cannot be set here: {detect()}")
def test_every_run_is_measured_and_limited_like_the_first(spark: SparkSession, tmp_path: Path) -> None:
    trace = Poisson(rate_per_s=100.0, duration_s=RUN_S + 10.0).generate(np.random.default_rng(1))
    workload = Workload("live", "live", 0.0015, trace)
    comparison = LiveComparison(spark, detect().open, workload, trace, RUN_S, 200, tmp_path, 0.01)
    policies = [PolicyContender.of("static"), PolicyContender.of("static@share=0.55")]
    full, half = comparison.rows([Requirement(PATH, 5.0)], policies)
    for row in (full, half):
        assert row.mean_s is not None
        assert row.mean_s > 0
        assert row.used > 0.01, "the workers are in the groups of their run"
        assert row.predicted_mean_s > 0
        assert row.java > 0
    assert full.cores == pytest.approx((0.4 + 0.4 + 1.0) / 3)
    assert (0.4 + 0.4 + 0.55) / 3 <= half.cores < 0.55  # until its first round, all that may be had is given
    assert live_table([full, half]).row_count == 2
