"""A topic of a real Kafka through a pipeline: a program of its own, for its session has the connector's packages."""

from __future__ import annotations

import json
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from tests.waiting import PATIENCE_S

from mead.cpu import DryRunShares
from mead.spark.pipeline import running as running_module
from mead.spark.pipeline.engine import SparkEngine
from mead.spark.pipeline.operators import OnStream
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.fast_profile import FastProfile
from mead.spark.sources.broker_inputs import SparkInput
from mead.spark.sources.kafka import PACKAGE, as_tuples
from mead.values import Batches, Operator, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 1000
PIPELINE = Pipeline("kafka", [Operator("copy", 0.0001, batches=Batches(0.1, trigger_s=0.2))])


def put(spark: SparkSession, servers: str, topic: str, first: int) -> None:
    """Numbers as keys and values."""
    rows = spark.range(first, first + ROWS).selectExpr("cast(id as string) as key", "cast(id as string) as value")
    rows.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def copied(spark: SparkSession, servers: str, topic: str, folder: Path) -> dict[str, int]:
    """Half of it is there before, and half comes while the query runs."""
    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}

    def rows(spark: SparkSession) -> DataFrame:
        return as_tuples(spark.readStream.format("kafka").options(**options).load())

    put(spark, servers, topic, 0)
    source, work = SparkInput(rows), {"copy": OnStream(lambda stream: stream)}
    running = RunningPipeline(spark, PIPELINE, source, work, folder, DryRunShares(["copy"]))
    completed, until_s = 0, time.monotonic() + PATIENCE_S
    try:
        running.start()
        engine = SparkEngine(running, kept_iats=10)
        put(spark, servers, topic, ROWS)
        while completed < 2 * ROWS and time.monotonic() < until_s:
            running.revive()
            time.sleep(0.2)
            completed += engine.observe(time.monotonic()).operators["copy"].completed
        drained = running.drain(PATIENCE_S)
        engine.close()
    finally:
        running.stop()
    landed = spark.read.parquet(str(folder / "results" / "copy"))
    return {
        "completed": completed,
        "drained": int(drained),
        "rows": landed.count(),
        "ids": landed.select("id").distinct().count(),
        "keys": landed.select("key").distinct().count(),
    }


def main(servers: str, folder: Path) -> None:
    """Print what came of it."""
    running_module.LANDING_S = 1
    builder = SparkSession.builder.master("local[2,4]").config("spark.jars.packages", PACKAGE)
    spark = FastProfile().start(builder.config("spark.ui.enabled", "false").config("spark.log.level", "ERROR"))
    try:
        print(json.dumps(copied(spark, servers, f"mead-{uuid.uuid4().hex}", folder)))  # noqa: T201 - read by the test
    finally:
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
