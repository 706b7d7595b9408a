"""An application to be killed: a pipeline with joins and a loop, and beside it a query of Spark's own."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from tests.spark import log_pipeline as logs
from tests.spark import looped_operators as ops
from tests.spark.hurried import hurry

from mead.cpu import DryRunShares
from mead.spark.log.key_state import HASHES, STATE, StateFiles, StatePart
from mead.spark.pipeline.operators import OnStream
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.quiet_start import start_quietly
from mead.spark.runtime.spark_session import start_session
from mead.spark.sources.inputs import TraceInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

NUMBERS = 60
AT_A_TIME = 10


def looped(spark: SparkSession, folder: Path) -> RunningPipeline:
    """Numbers that go round and round, in the folder where it has been before, if it has."""
    folder.mkdir(exist_ok=True)
    np.save(folder / "trace.npy", 50_000 * np.arange(NUMBERS, dtype=np.int64))
    work = ops.work(OnStream(ops.down_stream, ops.ROUTED)) | {"even": ops.COUNTED}
    source = TraceInput(folder / "trace.npy")
    return RunningPipeline(spark, ops.pipeline(replicas=2), source, work, folder, DryRunShares(list(work)))


def has_read_all(running: RunningPipeline) -> bool:
    """Whether the pipeline has let in all numbers. Restarts what has failed."""
    running.revive()
    last = running.queries["start"].last
    return last is not None and running.source.count_completed(last) == NUMBERS


def looped_results(folder: Path) -> list[tuple[int, int, int]]:
    """Identity, value and rounds of every number that has come out, sorted."""
    results = logs.results(folder, "loop")
    return sorted(zip(*(results[name].to_pylist() for name in ("id", "value", "rounds")), strict=True))


def counted(folder: Path) -> dict[int, int]:
    """How often each number has come to the operator with state, by its state."""
    log = logs.stream(folder, "even")
    parts = [StatePart(*note[STATE]["part"]) for note in log.last_notes]
    keys, values = pa.schema([("id", pa.int64())]), pa.schema([("seen", pa.int64())])
    return dict(StateFiles(log.folder / STATE, keys, values).take((0, HASHES), parts, 0))


def plain(spark: SparkSession, folder: Path) -> StreamingQuery:
    """Ten rows in every micro-batch, into Parquet files."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", AT_A_TIME).option("numPartitions", 1)
    stream = rows.load().writeStream.trigger(processingTime="200 milliseconds")
    return stream.option("checkpointLocation", str(folder / "checkpoint")).start(str(folder / "out"), format="parquet")


def main(folder: Path) -> None:
    """Until it is killed."""
    hurry()
    cloudpickle.register_pickle_by_value(ops)  # type: ignore[no-untyped-call] # workers cannot import tests
    with start_quietly():
        spark = start_session("killed", master="local[2,4]")
    running = looped(spark, folder / "loops")
    running.start()
    plain(spark, folder / "plain")
    while True:
        running.revive()
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
