"""Build the queries of a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from mead.cpu import ShareManager
from mead.spark.log.results import RESULT_COLUMNS, ResultFiles, ResultsReader
from mead.spark.log.sink import commit_files, write_stream
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.in_place import InPlaceOperator, InPlaceReader, make_source
from mead.spark.pipeline.keyed import KeyedReader
from mead.spark.pipeline.load_aware import LoadAwareReader, times_file
from mead.spark.pipeline.operators import OnBatches, OnKeys, OperatorError, Work, to_arrow, to_ddl
from mead.spark.pipeline.query import find_cause
from mead.spark.pipeline.wiring import RESULTS, Wiring
from mead.spark.runtime.workers import operator_workers
from mead.spark.sources.inputs import Input, check_one_source, check_stamps
from mead.spark.sources.log_inputs import LogInput
from mead.spark.telemetry.complaints import COMPLAINTS
from mead.spark.telemetry.probe import add_probe
from mead.values import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

STREAMS, CHECKPOINTS, TASKS, STAMPS, GROUPING = "streams", "checkpoints", "tasks", "stamps", "grouping"
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
    follows: bool = False
    """Whether tasks note the rows of some inputs."""
    inputs: dict[str, Input] = field(default_factory=dict)
    """The input of each query, once it has been built."""
    _schemas: dict[str, str] = field(default_factory=dict)
    """The output columns of each operator (DDL)."""
    _checked: dict[str, tuple[DataFrame, bool]] = field(default_factory=dict)
    """Streams that were checked, until their queries are built."""

    def checkpoint(self, name: str) -> Path:
        """Return the checkpoint folder of a query."""
        return self.folder / CHECKPOINTS / name

    def writer(self, name: str) -> DataStreamWriter:
        """Return a query to be started."""
        writer = self._landing(name) if name in self.wiring.landings else self._operator(name)
        return writer.queryName(name).option("checkpointLocation", str(self.checkpoint(name)))

    def check(self, operator: str) -> None:
        """Check an operator and its columns, and change nothing. Operators before it have been checked."""
        with self._workers(operator):
            self._checked[operator] = self._stream(operator)

    def _workers(self, operator: str) -> AbstractContextManager[None]:
        complaints = self.folder / TASKS / COMPLAINTS
        return operator_workers(self.spark, operator, self.shares.group(operator), str(complaints))

    def _operator(self, operator: str) -> DataStreamWriter:
        """Build the query of an operator."""
        with self._workers(operator):
            if operator not in self._checked:  # it is started again
                self._checked[operator] = self._stream(operator)
            stream, in_place = self._checked.pop(operator)
            self._input(operator).prepare()
            log, stamps = self._log(operator), self.folder / STAMPS if self.follows else None
            writer = (
                commit_files(stream, log.folder)
                if in_place
                else write_stream(stream, log.folder, log.store, stamps, log.counts)
            )
        batches = self.pipeline.operator(operator).batches
        if batches and batches.trigger_s:
            return writer.trigger(processingTime=f"{round(1000 * batches.trigger_s)} milliseconds")
        return writer

    def _log(self, operator: str) -> StreamLog:
        work = self.work[operator]
        counts = work.counts if isinstance(work, OnBatches) else None
        return StreamLog(self.folder / STREAMS / operator, store=self.wiring.store(operator), counts=counts)

    def _stream(self, operator: str) -> tuple[DataFrame, bool]:
        """Return the output of an operator, and whether its function works in place.

        If it does, the output is the files with it.

        That needs an input that can be read there.
        """
        work, source, first = self.work[operator], self._input(operator), self.wiring.is_first(operator)
        tasks = self.folder / TASKS / operator
        load_aware = self.folder / GROUPING / operator if isinstance(work, OnBatches) and work.load_aware else None
        in_file = times_file(load_aware) if load_aware else tasks
        reader = (
            source.reader(in_file) if isinstance(work, OnBatches) and not (first and isinstance(work, OnKeys)) else None
        )
        if reader is None or not isinstance(work, OnBatches):
            stream = source.load(self.spark, operator, tasks)
            check_stamps(dict(stream.dtypes), operator)
            output = work.output(add_probe(stream, every_stamp=first, followed=self.follows), operator)
            check_one_source(output, operator)
            self._declare(operator, to_ddl(dict(output.dtypes)))
            return output, False
        schema = work.check(to_arrow(reader[1]), operator)
        self._declare(operator, work.schema)
        stamps, name = self.folder / STAMPS, f"mead-operator-{operator}"
        in_place = InPlaceOperator(reader[0], work.function, self._log(operator), schema, stamps, first, self.follows)
        made = self._reader(in_place, work, reader[1], tasks, load_aware)
        self.spark.dataSource.register(make_source(name, made))
        try:
            return self.spark.readStream.format(name).load(), True
        except AnalysisException as error:
            raise OperatorError(
                f"operator {operator}: workers cannot load its function: {find_cause(error)}"
            ) from error

    def _reader(
        self, in_place: InPlaceOperator, work: OnBatches, columns: str, tasks: Path, load_aware: Path | None
    ) -> InPlaceReader:
        """Return the reader that works in place: by keys, by the speed of workers, or on equal parts."""
        if isinstance(work, OnKeys):
            state = None if work.state is None else to_arrow(work.state)
            return KeyedReader(in_place, work.keys, to_arrow(columns), state, tasks)
        return LoadAwareReader(in_place, tasks, load_aware) if load_aware else InPlaceReader(in_place)

    def _declare(self, operator: str, schema: str) -> None:
        """Check and remember the columns of an operator's output."""
        self.wiring.check(operator, schema)
        self._schemas[operator] = schema

    def _landing(self, name: str) -> DataStreamWriter:
        """Build a query that moves results from the log of an operator into Parquet files. Its sink gets no rows."""
        operator = self.wiring.landings[name]
        source = LogInput(
            self.folder / STREAMS / operator, RESULTS, self._schemas[operator], self.wiring.store(operator)
        )
        source.prepare()
        log, files = StreamLog(source.folder, store=source.store), ResultFiles(self.folder / RESULTS / operator)
        reader = ResultsReader(log, RESULTS, to_arrow(to_ddl(source.columns)), files)
        self.inputs[name] = source
        self.spark.dataSource.register(make_source(f"mead-results-{operator}", reader, RESULT_COLUMNS))
        stream = self.spark.readStream.format(f"mead-results-{operator}").load()
        return stream.writeStream.format("noop").trigger(processingTime=f"{self.landing_s:g} seconds")

    def _input(self, operator: str) -> Input:
        if operator not in self.inputs:
            self.inputs[operator] = (
                self.source
                if self.wiring.is_first(operator)
                else self.wiring.input(operator, self.folder / STREAMS, self._schemas, self.work)
            )
        return self.inputs[operator]
