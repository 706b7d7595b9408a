"""The streams between operators, including joins, loops and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mead.spark.log.addresses import TO, TO_TYPE
from mead.spark.pipeline.operators import OperatorError, Work, parse_columns
from mead.spark.sources.inputs import Input, check_stamps
from mead.spark.sources.log_inputs import JoinedInput, LogInput
from mead.spark.sources.rabbitmq.blocks import RabbitStore, RabbitStreams
from mead.spark.sources.rabbitmq.connection import RabbitError
from mead.values import Pipeline

RESULTS = "results"
"""The reader of rows that leave the pipeline, as rows name it."""


def results_query(operator: str) -> str:
    """The name of the query that moves the results of an operator into Parquet files."""
    return f"{operator}.{RESULTS}"


@dataclass(frozen=True)
class Wiring:
    """The streams of a pipeline. Raises OperatorError if Spark cannot run it."""

    pipeline: Pipeline
    streams: RabbitStreams | None = None
    """RabbitMQ streams that join the operators; None for embedded logs."""

    def __post_init__(self) -> None:
        pipeline = self.pipeline
        first = pipeline.sources
        if len(first) > 1:
            raise OperatorError(f"{pipeline.name}: only one operator may read the source, not {' and '.join(first)}")
        if back := self.predecessors(first[0]):
            raise OperatorError(
                f"operator {first[0]}: it reads the source, and {back[0]} leads back to it; put an operator before it"
            )
        for operator in pipeline.operators:
            if operator.batches and operator.batches.max_tuples:
                raise OperatorError(
                    f"operator {operator.name}: remove max_tuples; a micro-batch of Spark takes all waiting tuples"
                )
            if operator.name == RESULTS:
                raise OperatorError(f"operator {RESULTS}: the name is reserved for results on Spark; choose another")
        for sink in self.sinks:
            if any(operator.name == results_query(sink) for operator in pipeline.operators):
                raise OperatorError(
                    f"operator {results_query(sink)}: the name is reserved for the results of {sink} on Spark; "
                    "choose another"
                )

    @property
    def sinks(self) -> tuple[str, ...]:
        """Operators whose output leaves the pipeline: other operators read it only in a loop."""
        inner = {edge.source for edge in self.pipeline.edges if edge not in self.pipeline.returns}
        return tuple(o.name for o in self.pipeline.operators if o.name not in inner)

    @property
    def landings(self) -> dict[str, str]:
        """Queries that move results into Parquet files, with the operators of these results."""
        return {results_query(operator): operator for operator in self.sinks}

    def predecessors(self, operator: str) -> list[str]:
        """Return the operators whose output it reads, including loops."""
        return [edge.source for edge in self.pipeline.edges if edge.target == operator]

    def is_first(self, operator: str) -> bool:
        """Return whether it reads the source of the pipeline."""
        return operator in self.pipeline.sources

    def is_read(self, operator: str) -> bool:
        """Return whether an operator reads its output."""
        return any(edge.source == operator for edge in self.pipeline.edges)

    def store(self, operator: str) -> RabbitStore | None:
        """Return the broker's store of its output; None for its log. Only output that operators read needs one."""
        return self.streams.store(operator) if self.streams and self.is_read(operator) else None

    def check_broker(self) -> None:
        """Raise OperatorError if the broker of the streams does not answer, and change nothing."""
        self._ask_broker(RabbitStore.check)

    def make_streams(self) -> None:
        """Make the streams that the broker does not have. Raises OperatorError."""
        self._ask_broker(RabbitStore.make)

    def _ask_broker(self, ask: Callable[[RabbitStore], None]) -> None:
        for operator in self.pipeline.order:
            try:
                if store := self.store(operator):
                    ask(store)
            except RabbitError as error:
                raise OperatorError(f"operator {operator}: cannot open the stream for its output: {error}") from None

    def check(self, operator: str, schema: str) -> None:
        """Raise OperatorError for output that its readers cannot use."""
        columns = parse_columns(schema)
        if self.is_read(operator):
            check_stamps(columns, f"{operator}, whose output others read")
        if columns.get(TO, TO_TYPE) != TO_TYPE:
            raise OperatorError(
                f"operator {operator}: column {TO} names the readers of a row and must be {TO_TYPE}, not {columns[TO]}"
            )

    def declared(self, operator: str, work: Mapping[str, Work]) -> str:
        """Return the declared columns of an operator in a loop: they must be known before it is built."""
        schema = work[operator].schema
        if schema is None:
            raise OperatorError(
                f"operator {operator}: declare the columns of its transformation in `output`, because it is in a loop"
            )
        return schema

    def input(self, operator: str, streams: Path, schemas: Mapping[str, str], work: Mapping[str, Work]) -> Input:
        """Return the logs that an operator reads; ``schemas`` are those of the operators before it."""
        logs = {
            name: LogInput(streams / name, operator, schemas.get(name) or self.declared(name, work), self.store(name))
            for name in self.predecessors(operator)
        }
        return JoinedInput(logs) if len(logs) > 1 else next(iter(logs.values()))
