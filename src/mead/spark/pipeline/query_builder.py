"""Build the queries of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from mead.cpu import ShareManager
from mead.spark.log.sink import commit_files, write_stream
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.in_place import InPlaceOperator, make_source
from mead.spark.pipeline.operators import OnBatches, OperatorError, Work, to_arrow, to_ddl
from mead.spark.pipeline.query import find_cause
from mead.spark.pipeline.wiring import RESULTS, Wiring
from mead.spark.runtime.workers import operator_workers
from mead.spark.sources.inputs import Input, check_one_source, check_stamps
from mead.spark.sources.log_inputs import LogInput
from mead.spark.telemetry.complaints import COMPLAINTS
from mead.spark.telemetry.probe import add_probe
from mead.values import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

STREAMS, CHECKPOINTS, TASKS, STAMPS = "streams", "checkpoints", "tasks", "stamps"
"""Folders of a run."""


@dataclass
class QueryBuilder:
    """Builds queries in the order of the flow: a schema is known once its predecessor is built."""

    spark: SparkSession
    pipeline: Pipeline
    wiring: Wiring
    source: Input
    work: Mapping[str, Work]
    folder: Path
    shares: ShareManager
    landing_s: float
    """Interval at which results become Parquet files."""
    inputs: dict[str, Input] = field(default_factory=dict)
    """The input of each query, once it has been built."""
    _schemas: dict[str, str] = field(default_factory=dict)
    """The output columns of each operator (DDL)."""

    @property
    def landings(self) -> dict[str, str]:
        """Queries that move results into Parquet files, with the operators of these results."""
        return {f"{operator}.{RESULTS}": operator for operator in self.wiring.sinks}

    def checkpoint(self, name: str) -> Path:
        """Return the checkpoint folder of a query."""
        return self.folder / CHECKPOINTS / name

    def writer(self, name: str) -> DataStreamWriter:
        """Return a query to be started."""
        writer = self._landing(name) if name in self.landings else self._operator(name)
        return writer.queryName(name).option("checkpointLocation", str(self.checkpoint(name)))

    def _operator(self, operator: str) -> DataStreamWriter:
        """Build the query of an operator. A function works in place if its input can be read there."""
        work, source, first = self.work[operator], self._input(operator), self.wiring.is_first(operator)
        tasks = self.folder / TASKS / operator
        log = StreamLog(self.folder / STREAMS / operator, store=self.wiring.store(operator))
        with operator_workers(self.spark, operator, self.shares.group(operator), str(tasks.parent / COMPLAINTS)):
            reader = source.reader(tasks) if isinstance(work, OnBatches) else None
            if reader is not None and isinstance(work, OnBatches):
                schema = work.check(to_arrow(reader[1]), operator)
                self._declare(operator, work.schema)
                stamps = self.folder / STAMPS if first else None
                name = f"mead-operator-{operator}"
                self.spark.dataSource.register(
                    make_source(name, InPlaceOperator(reader[0], work.function, log, schema, stamps))
                )
                try:
                    writer = commit_files(self.spark.readStream.format(name).load(), log.folder)
                except AnalysisException as error:
                    raise OperatorError(
                        f"operator {operator}: workers cannot load its function: {find_cause(error)}"
                    ) from error
            else:
                stream = source.load(self.spark, operator, tasks)
                check_stamps(dict(stream.dtypes), operator)
                output = work.output(add_probe(stream, every_stamp=first), operator)
                check_one_source(output, operator)
                self._declare(operator, to_ddl(dict(output.dtypes)))
                writer = write_stream(output, log.folder, log.store)
        batches = self.pipeline.operator(operator).batches
        if batches and batches.trigger_s:
            return writer.trigger(processingTime=f"{round(1000 * batches.trigger_s)} milliseconds")
        return writer

    def _declare(self, operator: str, schema: str) -> None:
        """Check and remember the columns of an operator's output."""
        self.wiring.check(operator, schema)
        self._schemas[operator] = schema

    def _landing(self, name: str) -> DataStreamWriter:
        """Build a query that moves results from the log of an operator into Parquet files."""
        operator = self.landings[name]
        folder, schema = self.folder / STREAMS / operator, self._schemas[operator]
        self.inputs[name] = LogInput(folder, RESULTS, schema, self.wiring.store(operator))
        stream = self.inputs[name].load(self.spark, name, self.folder / TASKS / name)
        return (
            stream.writeStream.format("parquet")
            .option("path", str(self.folder / RESULTS / operator))
            .trigger(processingTime=f"{self.landing_s:g} seconds")
        )

    def _input(self, operator: str) -> Input:
        if operator not in self.inputs:
            self.inputs[operator] = (
                self.source
                if self.wiring.is_first(operator)
                else self.wiring.input(operator, self.folder / STREAMS, self._schemas, self.work)
            )
        return self.inputs[operator]
