"""Rows of Spark's Kafka connector as pipelines read them; on a real Kafka where one is named."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mead.spark.kafka_source import PACKAGE, as_tuples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SERVERS = "MEAD_TEST_KAFKA"

ROUND_TRIP = """
import sys, uuid
from pyspark.sql import SparkSession
from mead.spark.kafka_source import PACKAGE, as_tuples

servers, topic = sys.argv[1], "mead-" + uuid.uuid4().hex
builder = SparkSession.builder.master("local[2]").config("spark.jars.packages", PACKAGE)
spark = builder.config("spark.ui.enabled", "false").getOrCreate()
rows = spark.range(1000).selectExpr("cast(id as string) as key", "cast(id as string) as value")
rows.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()
options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest", "minPartitions": "3"}
back = as_tuples(spark.read.format("kafka").options(**options).load())
print(back.count(), back.select("id").distinct().count(), back.select("key").distinct().count())
spark.stop()
"""


def test_a_row_has_a_number_of_its_own_and_the_microsecond_it_arrived(spark: SparkSession) -> None:
    arrived = datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    rows = [(b"k", b"v", 0, 7, arrived), (None, b"v", 3, 7, arrived)]
    columns = "key binary, value binary, partition int, offset bigint, timestamp timestamp"
    first, second = as_tuples(spark.createDataFrame(rows, columns)).collect()
    assert (first.id, first.key, bytes(first.value)) == (7, "k", b"v")
    assert (second.id, second.key) == (3 * 2**48 + 7, None)
    assert first.arrival_us == second.arrival_us == 1_704_164_645_678_000


@pytest.mark.skipif(
    SERVERS not in os.environ,
    reason=f"{SERVERS} names no Kafka (host:port), and Spark would have to download {PACKAGE}",
)
def test_rows_come_back_from_kafka() -> None:
    command = [sys.executable, "-c", ROUND_TRIP, os.environ[SERVERS]]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert run.stdout.split() == ["1000", "1000", "1000"]
