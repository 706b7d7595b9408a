"""The detector on Spark, its loop and its state in several tasks: patterns by brute force, and every input followed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np
import pytest
from pattern_detection import detector, generator, reporter
from tests.examples.pattern_detection.oracle import last_window, maximal
from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.queueing import Edge
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnBatches, OnKeys, Work
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.spark.telemetry.tree_samples import is_chosen
from mead.values import Batches, Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

POSTS, WINDOW, THRESHOLD, LONGEST, MOST = 600, 60, 6, 3, 3
NAMES = ("generator", "detector", "reporter")
PIPELINE = Pipeline(
    "patterns",
    [Operator(name, 0.0001, batches=Batches(0.1), max_replicas=MOST) for name in NAMES],
    [Edge("generator", "detector", 20), Edge("detector", "detector", 0.1), Edge("detector", "reporter", 0.1)],
)
WORK: dict[str, Work] = {
    "generator": OnBatches(generator.make_generator(LONGEST), generator.OUTPUT_SCHEMA),
    "detector": OnKeys(
        detector.make_detector(THRESHOLD), detector.OUTPUT_SCHEMA, keys=detector.KEYS, state=detector.STATE_SCHEMA
    ),
    "reporter": OnBatches(reporter.report, reporter.OUTPUT_SCHEMA),
}


def chosen(folder: Path) -> int:
    """Count the posts that are followed: each has a word, and so a candidate."""
    log = logs.stream(folder, "generator")
    rows = [batch for pieces in log.divide(0, log.end, 1) for batch in log.read(pieces)]
    stamps_us = np.unique(np.concatenate([batch["arrival_us"].to_numpy() for batch in rows]))
    return int(is_chosen(stamps_us).sum())


def test_patterns_are_those_of_brute_force_and_every_input_is_seen_done(spark: SparkSession, tmp_path: Path) -> None:
    """Half of the posts come at once, so that micro-batches are large; the detector gets other tasks on the way."""
    times_us = np.concatenate([np.arange(POSTS // 2), 10_007 * np.arange(1, POSTS // 2 + 1)])
    np.save(tmp_path / "trace.npy", times_us)
    source = TraceInput(
        tmp_path / "trace.npy",
        payload="pattern_detection.posts:make_window",
        payload_schema="entering string, leaving string",
        payload_options=f'{{"window": {WINDOW}}}',
    )
    with closing(DryRunShares(list(WORK))) as shares:
        running = RunningPipeline(spark, PIPELINE, source, WORK, tmp_path, shares, follows=True)
        try:
            logs.stream(tmp_path, "generator").register("test")  # so that all rows are kept
            running.start()
            engine, began_s = SparkEngine(running, kept_iats=POSTS), monotonic()
            inputs, tasks = [], 0
            behind = [name for name in running.queries if name != "generator"]
            while engine.states["generator"].completed < POSTS or not running._is_at_rest(
                behind, running._is_caught_up
            ):
                assert monotonic() < began_s + PATIENCE_S, running.restarts
                running.order_tasks("detector", 1 + tasks % MOST)
                tasks += 1
                running.revive()
                sleep(0.2)
                inputs.append(engine.observe(monotonic() - began_s).inputs)
            while sum(one.completed for one in inputs if one) < chosen(tmp_path):
                assert monotonic() < began_s + PATIENCE_S, "some inputs are never done"
                sleep(0.1)  # the last reports are on their way
                inputs.append(engine.observe(monotonic() - began_s).inputs)
            engine.close()
            assert running.drain(PATIENCE_S), running.restarts
        finally:
            running.stop()
    last: dict[str, tuple[int, bool]] = {}
    for row in logs.results(tmp_path, "reporter").to_pylist():
        last[row["pattern"]] = max(last.get(row["pattern"], (0, False)), (row["turn"], row["maximal"]))
    found = {pattern for pattern, (_, is_so) in last.items() if is_so}
    assert found == maximal(last_window(POSTS, WINDOW), THRESHOLD, LONGEST)
    assert max(len(pattern.split()) for pattern in last) == LONGEST
    assert sum(one.completed for one in inputs if one) == chosen(tmp_path) > POSTS / 14
    assert all(one.mean_s > 0 for one in inputs if one and one.mean_s is not None)
    assert engine.trees is not None
    assert not engine.trees._trees, "nothing is left open"
