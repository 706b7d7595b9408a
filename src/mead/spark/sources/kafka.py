"""Rows of Spark's own Kafka connector in the form that pipelines read: a number, the time of arrival, and the value."""

from __future__ import annotations

import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
"""For ``spark.jars.packages``. Spark downloads it when the session starts."""

OFFSET_BITS = 48
"""The lowest bits of a row's number hold its offset; those above hold its partition, so that numbers are unique."""


def as_tuples(rows: DataFrame) -> DataFrame:
    """What ``readStream.format("kafka")`` has loaded, as ``id bigint, arrival_us bigint, value binary, key string``.

    ``arrival_us`` is Kafka's time stamp, to the millisecond: that of the producer, or of the broker where the topic
    says ``message.timestamp.type=LogAppendTime``.
    """
    return rows.select(
        f.shiftleft(f.col("partition").cast("bigint"), OFFSET_BITS).bitwiseOR(f.col("offset")).alias("id"),
        f.unix_micros("timestamp").alias("arrival_us"),
        "value",
        f.col("key").cast("string").alias("key"),
    )
