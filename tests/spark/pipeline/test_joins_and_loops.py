"""Operators that read several streams, and their own: each row reaches its readers once, whatever the parallelism."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from tests.spark import log_pipeline as logs
from tests.spark import looped_operators as ops
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.spark.log.store import LogError
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnBatches, OnStream, OperatorError, Work
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.sources.inputs import TraceInput
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.spark.sources.rabbitmq.stream import Retention

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = 40
MANY, FEW = 3, 1

pytestmark = pytest.mark.usefixtures("_operators_by_value")


@pytest.mark.parametrize(
    ("loop", "by_broker"),
    [(ops.DOWN, False), (OnStream(ops.down_stream, ops.ROUTED), False), (ops.DOWN, True)],
    ids=["a function", "a transformation", "by RabbitMQ"],
)
def test_every_row_goes_its_way_once(
    spark: SparkSession,
    tmp_path: Path,
    loop: Work,
    by_broker: bool,  # noqa: FBT001 - of the cases above
    request: pytest.FixtureRequest,
) -> None:
    """In several tasks at first, and later in one."""
    url = request.getfixturevalue("broker").url if by_broker else ""
    np.save(tmp_path / "trace.npy", 5_000 * np.arange(NUMBERS, dtype=np.int64))
    source, work = TraceInput(tmp_path / "trace.npy"), ops.work(loop)
    shares = DryRunShares(list(work))
    streams = RabbitStreams(url, "looped", Retention()) if url else None
    running = RunningPipeline(spark, ops.pipeline(MANY), source, work, tmp_path, shares, streams)
    try:
        running.start()
        engine, began_s = SparkEngine(running, kept_iats=NUMBERS), monotonic()
        before = engine.states["loop"].completed
        while engine.states["start"].completed < NUMBERS:
            engine.observe(monotonic() - began_s)
            running.revive()
            assert monotonic() < began_s + PATIENCE_S, running.restarts
            sleep(0.05)
        for name in work:
            running.order_tasks(name, FEW)
        assert running.drain(PATIENCE_S)
        for _ in range(50):  # the last messages are on their way
            engine.observe(monotonic() - began_s)
            if engine.states["loop"].completed == engine.states["loop"].arrived:
                break
            sleep(0.05)
        states, paths = engine.states, engine.paths
        engine.close()
    finally:
        running.stop()
        shares.close()
    results = logs.results(tmp_path, "loop")
    found = zip(*(results[name].to_pylist() for name in ("id", "value", "rounds")), strict=True)
    assert sorted(found) == ops.expected(NUMBERS)
    assert "to" not in results.column_names
    fives = NUMBERS // 10  # of the numbers of either parity, that go to the other branch as well
    visits = sum(rounds + 1 for _, _, rounds in ops.expected(NUMBERS))
    counted = {"start": NUMBERS, "even": NUMBERS // 2 + fives, "odd": NUMBERS // 2 + fives, "loop": visits}
    assert {name: state.completed for name, state in states.items()} == counted
    assert {name: state.arrived for name, state in states.items()} == counted
    assert paths["start>even>loop"].whole.total == visits - before, "every visit has a response time"
    assert max(len(tasks) for tasks in logs.index(tmp_path, "start").values()) == MANY


def test_a_row_for_an_operator_that_does_not_read_the_stream_is_an_error(tmp_path: Path) -> None:
    log = StreamLog(tmp_path)
    log.register("odd")
    rows = pa.record_batch({"id": [1, 2], "to": pa.array([["odd"], ["eve"]], pa.list_(pa.string()))})
    with pytest.raises(LogError, match="rows are for eve, which does not read this stream"):
        log.write([rows], rows.schema)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"loop": OnStream(ops.down_stream)}, "operator loop: declare the columns of its transformation"),
        ({"loop": OnStream(lambda s: s.select("id", "arrival_us"), ops.ROUTED)}, "returns .*, but declares .*"),
        ({"odd": OnBatches(ops.negate, f"{ops.NUMBERS}, negative boolean, to string")}, "its function returns"),
        ({"odd": OnStream(lambda s: s.withColumn("value", s.value * 1.5))}, "column value is double .* output of odd"),
        ({"odd": OnStream(lambda s: s.selectExpr("*", "'loop' as to"))}, "column to .* must be array<string>, not str"),
    ],
)
def test_streams_that_do_not_fit_are_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, changed: dict[str, Work], said: str
) -> None:
    np.save(tmp_path / "trace.npy", np.arange(3))
    work, source = ops.work() | changed, TraceInput(tmp_path / "trace.npy")
    with closing(DryRunShares(list(work))) as shares:
        running = RunningPipeline(spark, ops.pipeline(FEW), source, work, tmp_path, shares)
        with pytest.raises(OperatorError, match=said) as refused:
            running.start()
        running.stop()
    assert "\n" not in str(refused.value)
    assert running.queries == {}
