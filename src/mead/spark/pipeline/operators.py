"""The work of an operator: a function or a transformation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from mead.spark.log.key_state import KEPT, KeyedState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BatchFunction = Callable[..., pa.RecordBatch]
"""From an Arrow batch, and the state of its keys if it has one, to the rows that come of it."""


class OperatorError(Exception):
    """An operator cannot be run as described. The message names it."""


class Work(Protocol):
    """Turns the operator's input into its output."""

    @property
    def schema(self) -> str | None:
        """The columns of its output (DDL); None if unknown beforehand."""

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """Return the operator's output stream. Raises OperatorError if the schemas do not fit."""


@dataclass(frozen=True)
class OnBatches:
    """A function on Arrow batches, called in the operator's Python workers."""

    function: BatchFunction
    schema: str
    """The columns that it returns (DDL)."""
    counts: str | None = None
    """The column whose values are counted, since the beginning of the stream; None for no column."""
    load_aware: bool = False
    """Whether fast workers get more rows of a micro-batch than slow ones (PA-SPS), and not all the same number."""

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """Apply the function to an input that only Spark can read."""
        if self.load_aware:
            raise OperatorError(
                f"operator {operator}: remove its grouping: Spark alone reads its source, and decides which task gets "
                "which rows"
            )
        function = self.function

        def over_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from map(function, batches)

        self.check(to_arrow_schema(stream.schema), operator)
        return stream.mapInArrow(over_batches, self.schema)

    def check(self, columns: pa.Schema, operator: str) -> pa.Schema:
        """Check that the function returns the declared columns for a batch without rows.

        Otherwise a mistake would only show when the first tuple comes.
        """
        expected = to_arrow(self.schema)
        if self.counts is not None and self.counts not in expected.names:
            raise OperatorError(
                f"operator {operator}: it counts {self.counts}, which is not among its columns {_columns(expected)}"
            )
        try:
            made = self.function(pa.RecordBatch.from_pylist([], schema=columns))
        except Exception as error:
            raise OperatorError(
                f"operator {operator}: its function fails on a batch without rows: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(made, pa.RecordBatch) or _types(made.schema) != _types(expected):
            got = made.schema if isinstance(made, pa.RecordBatch) else type(made).__name__
            raise OperatorError(
                f"operator {operator}: its function returns {_columns(got)}, but declares {_columns(expected)}"
            )
        return expected


@dataclass(frozen=True, kw_only=True)
class OnKeys(OnBatches):
    """A function on all rows of a micro-batch that have the same keys, with their state if it keeps one.

    It is called with an Arrow batch and, if it keeps state, with the state of the keys of its task (`KeyedState`).
    """

    keys: tuple[str, ...]
    """Columns of the input."""
    state: str | None = None
    """The columns of the state of a key (DDL); None if the function keeps no state."""

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """Refuse an input that is not the output of another operator: every task reads all of it."""
        del stream
        raise OperatorError(f"operator {operator}: it has a key and reads the source; put an operator before it")

    def check(self, columns: pa.Schema, operator: str) -> pa.Schema:
        """Check the key, and that the function returns the declared columns for a batch without rows."""
        for name in self.keys:
            if name not in columns.names:
                raise OperatorError(f"operator {operator}: its key {name} is not among {', '.join(columns.names)}")
            if pa.types.is_nested(columns.field(name).type):
                raise OperatorError(f"operator {operator}: its key {name} must not be {columns.field(name).type}")
        if self.state is not None and (both := {*self.keys, KEPT} & parse_columns(self.state).keys()):
            raise OperatorError(f"operator {operator}: its state must not have a column {min(both)}; rename it")
        function = self.function if self.state is None else lambda batch: self.function(batch, KeyedState())
        return OnBatches(function, self.schema, self.counts).check(columns, operator)


@dataclass(frozen=True)
class OnStream:
    """A transformation of the stream, stateless or stateful, with Spark's operations."""

    transform: Callable[[DataFrame], DataFrame]
    schema: str | None = None
    """The columns that it returns (DDL). Spark infers them, except in a loop, where they must be declared."""

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """Apply the transformation. Inside `operator_workers`, its functions run in the operator's own workers."""
        try:
            result = self.transform(stream)
        except AnalysisException as error:
            raise OperatorError(f"operator {operator}: {str(error).splitlines()[0]}") from error
        if not getattr(result, "isStreaming", False):
            raise OperatorError(f"operator {operator}: its transformation does not return a stream")
        if self.schema is not None and dict(result.dtypes) != parse_columns(self.schema):
            got, declared = to_ddl(dict(result.dtypes)), to_ddl(parse_columns(self.schema))
            raise OperatorError(f"operator {operator}: its transformation returns {got}, but declares {declared}")
        return result


def to_arrow(columns: str) -> pa.Schema:
    """Convert columns (DDL) to an Arrow schema."""
    return to_arrow_schema(parse_struct(columns))


def parse_struct(columns: str) -> StructType:
    """Convert columns (DDL) to a Spark type."""
    parsed = StructType.fromDDL(columns)
    if not isinstance(parsed, StructType):
        raise OperatorError(f"columns must be named and have types, such as `id bigint, line string`; got {columns!r}")
    return parsed


def parse_columns(columns: str) -> dict[str, str]:
    """Return the types of columns (DDL) by name."""
    return {column.name: column.dataType.simpleString() for column in parse_struct(columns)}


def to_ddl(columns: Mapping[str, str]) -> str:
    """Write columns as DDL: the inverse of `parse_columns`.

    >>> to_ddl({"id": "bigint", "to": "array<string>"})
    '`id` bigint, `to` array<string>'
    """
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


def _types(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    """Return names and types without nullability, since functions pass on the nulls they get."""
    return [(field.name, field.type) for field in schema]


def _columns(schema: pa.Schema | str) -> str:
    return schema if isinstance(schema, str) else ", ".join(f"{field.name} {field.type}" for field in schema)
