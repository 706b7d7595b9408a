"""A run that goes on in its folder knows how far it was, though its queries have not said anything yet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

from tests.spark import log_pipeline as logs
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.demo import matcher, parser
from mead.queueing import Edge
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnBatches, OnStream, Work
from mead.spark.pipeline.query import last_begun
from mead.spark.pipeline.running import WARM_UP, RunningPipeline
from mead.spark.sources.broker_inputs import SparkInput
from mead.spark.sources.inputs import Input
from mead.values import Batches, Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINES = 200
BATCHES = Batches(overhead_s=0.1)
TWO = Pipeline(
    "two",
    [Operator("parser", 0.0001, batches=BATCHES), Operator("matcher", 0.0003, batches=BATCHES)],
    [Edge("parser", "matcher")],
)
WORK: dict[str, Work] = {
    "parser": OnBatches(parser.parse, parser.OUTPUT_SCHEMA),
    "matcher": OnBatches(matcher.make_matcher(tried=logs.TRIED), matcher.OUTPUT_SCHEMA),
}
ONE = Pipeline("one", [Operator("parser", 0.0001, batches=BATCHES)])
AT_A_TIME = 10


def wait(running: RunningPipeline, until: Callable[[], bool]) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        running.revive()
        assert monotonic() < limit_s, running.restarts
        sleep(0.05)


def opened(spark: SparkSession, folder: Path, source: Input, pipeline: Pipeline = TWO) -> RunningPipeline:
    work = WORK if pipeline is TWO else {"parser": OnStream(lambda stream: stream)}
    shares = DryRunShares([operator.name for operator in pipeline.operators])
    return RunningPipeline(spark, pipeline, source, work, folder, shares)


def test_a_run_that_goes_on_needs_no_warm_up_and_counts_from_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    source, parsed = logs.source(tmp_path, [n / 500 for n in range(LINES)]), logs.parsed(LINES).num_rows
    first = opened(spark, tmp_path, source)
    try:
        first.start()
        assert (tmp_path / WARM_UP).exists(), "a new run warms up"
        first.warm_up(PATIENCE_S)
        first.begin()
        wait(first, lambda: logs.stream(tmp_path, "parser").end == parsed)
        assert first.drain(PATIENCE_S)
    finally:
        first.stop()
    assert not (tmp_path / WARM_UP).exists()
    done = {name: last_begun(query.checkpoint) for name, query in first.queries.items()}

    again = opened(spark, tmp_path, source)
    said: list[str] = []
    try:
        again.start()
        again.warm_up(PATIENCE_S, said.append)
        assert said == []
        assert not (tmp_path / WARM_UP).exists()
        engine = SparkEngine(again, kept_iats=10)
        assert {name: state.completed for name, state in engine.states.items()} == {"parser": LINES, "matcher": parsed}
        readings = engine.observe(1.0).operators.values()
        assert [(r.arrived, r.completed, r.backlog) for r in readings] == [(0, 0, 0)] * 2
        assert again.drain(PATIENCE_S), "nothing is left to do, and it is known that nothing is"
        engine.close()
    finally:
        again.stop()
    assert {name: last_begun(query.checkpoint) for name, query in again.queries.items()} == done


def endless(spark: SparkSession) -> DataFrame:
    """Ten rows in every micro-batch, one after the other without a pause."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", AT_A_TIME).load()
    return rows.selectExpr("value as id", "unix_micros(current_timestamp()) as arrival_us")


def test_a_stream_that_cannot_be_paused_is_drained_between_its_micro_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    for _ in range(2):
        running, said = opened(spark, tmp_path, SparkInput(endless), ONE), list[str]()
        try:
            running.start()
            query = running.queries["parser"]
            running.warm_up(PATIENCE_S, said.append)
            assert said == [], "it cannot warm up"
            engine = SparkEngine(running, kept_iats=10)
            before = engine.states["parser"].last
            target = (before.batch if before else -1) + 5
            wait(running, lambda query=query, target=target: query.last is not None and query.last.batch >= target)  # type: ignore[misc]
            assert running.drain(PATIENCE_S)
            assert running.revive() == "", "what has ended on purpose is not started again"
            last = query.last
            assert last is not None
            new = AT_A_TIME * (last.batch - (before.batch if before else -1))
            completed = 0
            for second in range(1, 200):
                completed += engine.observe(float(second)).operators["parser"].completed
                if completed == new:
                    break
                sleep(0.05)
            assert completed == engine.states["parser"].completed == new, "each micro-batch counts once"
            engine.close()
        finally:
            running.stop()
        assert list(running.restarts) == []
        # Spark may have written down one more micro-batch before it saw that it was to begin none. It runs next time.
        assert last_begun(query.checkpoint) <= last.batch + 1
        let_in = logs.stream(tmp_path, "parser").end
        assert AT_A_TIME * (last.batch + 1) <= let_in <= AT_A_TIME * (last.batch + 2)
        assert sorted(logs.results(tmp_path, "parser")["id"].to_pylist()) == list(range(let_in)), "all of it, once"
