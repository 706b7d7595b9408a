"""A streaming query of one's own under advice: ``python examples/attach.py``, or with the number of seconds behind it.

The query is ordinary: 50 rows a second, each of which costs a Python function 4 ms. Nothing in it is made for MEAD.
"""

from __future__ import annotations

import os
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

import mead

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run in this very Python
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def score(value: int) -> int:
    """Something that takes its time."""
    until_s = time.thread_time() + 0.004
    while time.thread_time() < until_s:
        pass
    return value % 7


rows = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
scores = rows.select(sql.udf(score, "long", useArrow=False)("value").alias("score"))
query = scores.writeStream.format("noop").queryName("scores").start()
while len(query.recentProgress) < 3:  # the first starts the Python workers and takes seconds, the next catches up
    time.sleep(0.1)

with mead.attach(query, requirement="p95 <= 4 s", mode="advise") as attached:
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 60):
        time.sleep(1)
        print(attached.status())

query.stop()
spark.stop()
