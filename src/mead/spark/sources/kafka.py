"""Rows of Spark's Kafka connector in the form that pipelines read."""

from __future__ import annotations

import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
"""For ``spark.jars.packages``. Spark downloads it when the session starts."""

OFFSET_BITS = 48
"""A row's number holds its offset in the lowest bits and its partition above, so that numbers are unique."""


def as_tuples(rows: DataFrame) -> DataFrame:
    """Convert rows of ``format("kafka")`` to ``id bigint, arrival_us bigint, value binary, key string``.

    ``arrival_us`` is Kafka's time stamp, to the millisecond: that of the producer, or of the broker where the topic has
    ``message.timestamp.type=LogAppendTime``.
    """
    return rows.select(
        f.shiftleft(f.col("partition").cast("bigint"), OFFSET_BITS).bitwiseOR(f.col("offset")).alias("id"),
        f.unix_micros("timestamp").alias("arrival_us"),
        "value",
        f.col("key").cast("string").alias("key"),
    )
