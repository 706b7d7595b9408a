"""What cannot work is refused when a pipeline is started, in one line that names the operator."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from mead.cpu import DryRunShares
from mead.queueing import Edge
from mead.spark.pipeline.build import ARRIVALS
from mead.spark.pipeline.operators import OnBatches, OnStream, OperatorError, Work
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.pipeline.wiring import Wiring
from mead.spark.sources.broker_inputs import SparkInput
from mead.spark.sources.inputs import Input, TraceInput
from mead.values import Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAMPED = "id bigint, arrival_us bigint"


def rows(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().selectExpr("value as id", "1L as arrival_us")


def mute(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["id"])


def divides(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, 1 // batch.num_rows)


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


MISTAKES: dict[str, tuple[Work, str]] = {
    "other columns": (
        OnBatches(mute, STAMPED),
        "operator a: its function returns id int64, but declares id int64, arrival_us",
    ),
    "no batch": (
        OnBatches(lambda _: 7, STAMPED),
        "operator a: its function returns int, but declares id int64, arrival_us",
    ),
    "a function that fails": (OnBatches(divides, STAMPED), "fails on a batch without rows: ZeroDivisionError"),
    "no stamps for the next": (
        OnBatches(mute, "id bigint"),
        "operator a, whose output others read: its rows need a colu",
    ),
    "no stream": (
        OnStream(lambda df: df.sparkSession.range(3)),
        "operator a: its transformation does not return a stream",
    ),
    "nothing": (OnStream(lambda _: None), "operator a: its transformation does not return a stream"),  # type: ignore[arg-type,return-value]
    "an unknown column": (OnStream(lambda df: df.select("nothing")), "operator a: .*nothing"),
    "no stamps of a transformation": (OnStream(lambda df: df.select("id")), "operator a, whose output others read"),
}


@pytest.mark.usefixtures("spark")
def test_columns_that_are_never_null_may_be_declared_without_saying_so() -> None:
    given = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("arrival_us", pa.int64(), nullable=False)])
    assert OnBatches(same, STAMPED).check(given, "a").names == given.names


@pytest.mark.parametrize("kind", ["trace", "foreign"])
@pytest.mark.parametrize(("work", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_an_operator_is_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, work: Work, said: str, kind: str
) -> None:
    pipeline = Pipeline("two", [Operator("a", 0.001), Operator("b", 0.001)], [Edge("a", "b")])
    np.save(tmp_path / "trace.npy", np.arange(3))
    source: Input = SparkInput(rows) if kind == "foreign" else TraceInput(tmp_path / "trace.npy")
    both = {"a": work, "b": OnBatches(same, STAMPED)}
    with closing(DryRunShares(["a", "b"])) as shares:
        running = RunningPipeline(spark, pipeline, source, both, tmp_path, shares)
        with pytest.raises(OperatorError, match=said) as refused:
            running.start()
        running.stop()
    assert "\n" not in str(refused.value)
    assert running.queries == {}


@pytest.mark.parametrize("mistake", ["other columns", "a function that fails", "nothing", "an unknown column"])
def test_nothing_starts_if_the_last_operator_cannot(spark: SparkSession, tmp_path: Path, mistake: str) -> None:
    work, said = MISTAKES[mistake]
    pipeline = Pipeline("two", [Operator("a", 0.001), Operator("b", 0.001)], [Edge("a", "b")])
    before = len(spark.streams.active)
    with closing(DryRunShares(["a", "b"])) as shares:
        both: dict[str, Work] = {"a": OnStream(lambda stream: stream), "b": work}
        running = RunningPipeline(spark, pipeline, SparkInput(rows), both, tmp_path, shares)
        with pytest.raises(OperatorError, match=said.replace("operator a", "operator b")):
            running.start()
    assert running.queries == {}
    assert len(spark.streams.active) == before
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_moved_or_written_if_an_operator_cannot_start_over(spark: SparkSession, tmp_path: Path) -> None:
    pipeline, folder = Pipeline("two", [Operator("a", 0.001), Operator("b", 0.001)], [Edge("a", "b")]), tmp_path / "run"
    for kind in ("streams", "checkpoints", "results"):
        (folder / kind / "a").mkdir(parents=True)
    (folder / "streams" / "a" / "index").write_text("damaged\n")
    (folder / ARRIVALS).write_text("damaged")
    before = sorted(folder.rglob("*"))
    source = TraceInput(folder / ARRIVALS, times_us=np.arange(3))
    work: dict[str, Work] = {"a": OnStream(lambda stream: stream), "b": OnBatches(mute, STAMPED)}
    with closing(DryRunShares(["a", "b"])) as shares:
        running = RunningPipeline(spark, pipeline, source, work, folder, shares)
        with pytest.raises(OperatorError, match="operator b: its function returns id int64"):
            running.start(start_over=True)
    assert sorted(folder.rglob("*")) == before


def test_a_function_that_workers_cannot_import_is_refused_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    """As those of this file."""
    np.save(tmp_path / "trace.npy", np.arange(3))
    pipeline, source = Pipeline("one", [Operator("a", 0.001)]), TraceInput(tmp_path / "trace.npy")
    with closing(DryRunShares(["a"])) as shares:
        running = RunningPipeline(spark, pipeline, source, {"a": OnBatches(same, STAMPED)}, tmp_path, shares)
        with pytest.raises(OperatorError, match="workers cannot load its function: ModuleNotFoundError") as refused:
            running.start()
    assert "\n" not in str(refused.value)


def test_a_source_without_stamps_is_refused_at_the_start(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline("one", [Operator("a", 0.001)])
    source = SparkInput(lambda spark: spark.readStream.format("rate").load())
    with closing(DryRunShares(["a"])) as shares:
        running = RunningPipeline(spark, pipeline, source, {"a": OnStream(lambda df: df)}, tmp_path, shares)
        with pytest.raises(
            OperatorError, match=r"operator a: its rows need a column arrival_us .* not among timestamp"
        ):
            running.start()


def two_sources(spark: SparkSession) -> DataFrame:
    return rows(spark).union(rows(spark))


@pytest.mark.parametrize("where", ["source", "transformation"])
def test_several_sources_of_spark_in_one_stream_are_refused_at_the_start(
    spark: SparkSession, tmp_path: Path, where: str
) -> None:
    pipeline, joined = Pipeline("one", [Operator("a", 0.001)]), where == "source"
    source = SparkInput(two_sources if joined else rows)
    work = OnStream(lambda df: df if joined else df.union(rows(spark)))
    with closing(DryRunShares(["a"])) as shares:
        running = RunningPipeline(spark, pipeline, source, {"a": work}, tmp_path, shares)
        with pytest.raises(OperatorError, match="operator a: its stream reads 2 sources of Spark") as refused:
            running.start()
    assert "\n" not in str(refused.value)
    assert running.queries == {}


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ([Edge("a", "c"), Edge("b", "c")], "three: only one operator may read the source, not a and b"),
        ([Edge("a", "b"), Edge("b", "c"), Edge("c", "a", 0.5)], "operator a: it reads the source, and c leads back to"),
        ([Edge("a", "b")], "three: only one operator may read the source, not a and c"),
    ],
)
def test_a_pipeline_that_spark_cannot_run_is_refused(
    spark: SparkSession, tmp_path: Path, edges: list[Edge], said: str
) -> None:
    pipeline = Pipeline("three", [Operator(name, 0.001) for name in "abc"], edges)
    with closing(DryRunShares(["a", "b", "c"])) as shares, pytest.raises(OperatorError, match=said):
        RunningPipeline(spark, pipeline, SparkInput(rows), {}, tmp_path, shares)


def test_an_operator_is_not_named_like_the_results_of_another() -> None:
    """Both queries would share a name, a checkpoint and a file of tasks."""
    named = Pipeline("p", [Operator("a", 0.001), Operator("a.results", 0.001)], [Edge("a.results", "a")])
    with pytest.raises(OperatorError, match=r"operator a.results: the name is reserved for the results of a on Spark"):
        Wiring(named)
    Wiring(Pipeline("p", [Operator("a", 0.001), Operator("a.results", 0.001)], [Edge("a", "a.results")]))
