"""The live comparison of Elastic-PPQ on Spark itself: a few seconds of it, every answer checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments.ppq.live import CONTROLS, bursty_points, runs

from mead.preference.spark.points import GeneratedPoints
from mead.workload import Steps

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET_PER_S, BURST_PER_S = 1_000.0, 24_000.0
QUIET_S, BURST_S = 2, 8


def burst() -> GeneratedPoints:
    """More than one task can do, for long enough: no pane is split before six of them are closed."""
    rates = [QUIET_PER_S] * QUIET_S + [BURST_PER_S] * BURST_S
    arrivals = Steps(rates_per_s=tuple(rates), step_s=1.0).generate(np.random.default_rng(1))
    return GeneratedPoints(arrivals.with_random_delays(0.2, np.random.default_rng(2)), seed=1)


@pytest.mark.slow
def test_both_levels_act_in_a_burst_and_every_window_is_right(spark: SparkSession, tmp_path: Path) -> None:
    points = burst()
    (done,) = runs(spark, points, [control for control in CONTROLS if control.name == "both"], tmp_path)
    assert done.right == done.windows == QUIET_S + BURST_S
    assert done.tuples == len(points.trace)
    assert done.decisions >= 2
    assert done.most_pane_tasks >= 2, "the outer level adds tasks"
    assert done.split > 0, "the inner level splits panes"
    assert done.micro_batches > BURST_S / 2, "who is behind still works in pieces"


def test_the_stream_comes_in_bursts() -> None:
    points = bursty_points(rate_per_s=20_000.0, idc=25_000.0, duration_s=60.0, seed=1)
    per_s = np.bincount(points.trace.timestamps_us // 1_000_000)[:59]
    assert per_s.max() > 25_000
    assert per_s.min() < 16_000
