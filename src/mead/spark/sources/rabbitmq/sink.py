"""A RabbitMQ stream as a sink: at least once, with keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import BinaryType, StringType, StructType

from mead.spark.sources.rabbitmq.connection import RabbitError
from mead.spark.sources.rabbitmq.location import FORMAT, StreamLocation
from mead.spark.sources.rabbitmq.publisher import OutgoingMessage, publish


@dataclass(frozen=True)
class Task:
    """One task of a micro-batch."""

    query: str
    """The id of the query, which stays the same when the query is restarted."""
    batch: str
    number: int

    @classmethod
    def current(cls) -> Task:
        """Return the task in which this is called."""
        task = TaskContext.get()
        if task is None:
            raise RuntimeError("rows can only be written in a Spark task")
        query, batch = task.getLocalProperty("sql.streaming.queryId"), task.getLocalProperty("streaming.sql.batchId")
        return cls(f"{query}", f"{batch}", task.partitionId())


class RabbitWriter(DataSourceStreamArrowWriter):
    """Publishes rows in tasks. A batch that is retried publishes again, under the same keys.

    A key is the id of the query and the column ``key``. Without that column, or where it is null, it is the ids of
    query, batch, task and row: the same again only if the batch has the same number of tasks.
    """

    def __init__(self, place: StreamLocation, schema: StructType, key: str | None) -> None:
        self.place, self.key = place, key
        columns = {column.name: column.dataType for column in schema}
        there = f"there are {', '.join(columns)}"
        if not isinstance(columns.get("value"), BinaryType | StringType):
            raise RabbitError(f"format {FORMAT} needs a column value, binary or string; {there}")
        if key is not None and key not in columns:
            raise RabbitError(f"format {FORMAT}: no column {key} for the key; {there}")

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish rows, in a task; the broker has confirmed all when this returns."""
        task = Task.current()
        messages = self._messages(iterator, task.query, f"{task.batch}:{task.number}")
        publish(self.place, messages, reached=task.batch != "0")
        return WriterCommitMessage()

    def _messages(self, batches: Iterable[pa.RecordBatch], query: str, task: str) -> Iterator[OutgoingMessage]:
        number = 0
        for batch in batches:
            rows = range(number, number := number + batch.num_rows)
            named = batch[self.key].to_pylist() if self.key else [None] * len(rows)
            # A row without a key gets a unique one.
            keys = [f"{task}:{row}" if key is None else key for key, row in zip(named, rows, strict=True)]
            stamps = batch["arrival_us"].to_pylist() if "arrival_us" in batch.schema.names else [None] * len(rows)
            for value, key, stamp in zip(batch["value"].to_pylist(), keys, stamps, strict=True):
                body = value.encode() if isinstance(value, str) else value
                yield OutgoingMessage(body or b"", f"{query}:{key}", stamp)
