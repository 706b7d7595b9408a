"""A session under a umask that forbids nothing, with workers and a planner of a Python source. Ends with its input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader

from mead.spark.runtime.spark_session import start_session, stop_session

CLOSED = ("spark.authenticate", "spark.network.crypto.enabled")


class Reader(DataSourceReader):
    def read(self, partition: object) -> Iterator[tuple[int]]:
        del partition
        yield (1,)


class One(DataSource):
    @classmethod
    def name(cls) -> str:
        return "one"

    def schema(self) -> str:
        return "id long"

    def reader(self, schema: object) -> Reader:
        del schema
        return Reader()


def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


if __name__ == "__main__":
    os.umask(0)
    spark = start_session("open", master=sys.argv[1])
    spark.dataSource.register(One)
    rows = spark.read.format("one").load().mapInArrow(same, "id long").count()
    settings = spark.sparkContext.getConf()
    print(rows, *(settings.get(name, "false") for name in CLOSED), flush=True)  # noqa: T201 - read by the test
    with suppress(KeyboardInterrupt):
        sys.stdin.read()
    stop_session(spark)
