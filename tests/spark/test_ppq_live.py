"""The live comparison of Elastic-PPQ on Spark itself: a few seconds of it, every answer checked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mead.evaluate.ppq.live import CONTROLS, bursty_points, oracle, runs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_both_levels_answer_every_window_of_a_bursty_stream(spark: SparkSession, tmp_path: Path) -> None:
    points = bursty_points(rate_per_s=1500.0, idc=300.0, duration_s=5.0, seed=1)
    (done,) = runs(spark, points, [control for control in CONTROLS if control.name == "both"], tmp_path)
    answers = oracle(points)
    assert done.right == done.windows == len(answers) >= 3
    assert done.tuples == len(points.trace) > 5000
    assert done.splitting >= 1
    assert done.micro_batches > 0
