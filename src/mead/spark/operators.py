"""What an operator does with its stream: a function on Arrow batches, or a transformation of the whole stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BatchFunction = Callable[[pa.RecordBatch], pa.RecordBatch]


class OperatorError(Exception):
    """An operator cannot be run as described. The message names it."""


class Work(Protocol):
    """From the operator's input to its output."""

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """The stream that leaves it. Raises OperatorError if the schemas do not fit."""


@dataclass(frozen=True)
class OnBatches:
    """A function that is given Arrow batches, in the operator's Python workers."""

    function: BatchFunction
    schema: str
    """Of what it returns (DDL)."""

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """Checked here with a batch of no rows, for Spark would notice only when the first tuple has come."""
        from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - loads PySpark

        function = self.function

        def over_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from map(function, batches)

        result = stream.mapInArrow(over_batches, self.schema)
        nothing = pa.RecordBatch.from_pylist([], schema=to_arrow_schema(stream.schema))
        try:
            made = function(nothing)
        except Exception as error:
            raise OperatorError(
                f"operator {operator}: its function fails on a batch without rows: {type(error).__name__}: {error}"
            ) from error
        expected = to_arrow_schema(result.schema)
        if not isinstance(made, pa.RecordBatch) or not made.schema.equals(expected):
            got = made.schema if isinstance(made, pa.RecordBatch) else type(made).__name__
            raise OperatorError(
                f"operator {operator}: its function returns {_columns(got)}, and not {_columns(expected)} as declared"
            )
        return result


@dataclass(frozen=True)
class OnStream:
    """A transformation of the stream, stateless or stateful, in Spark's own terms."""

    transform: Callable[[DataFrame], DataFrame]

    def output(self, stream: DataFrame, operator: str) -> DataFrame:
        """Its Python functions run in the operator's workers, if it is called where these belong to the operator."""
        from pyspark.errors import AnalysisException  # noqa: PLC0415 - loads PySpark

        try:
            result = self.transform(stream)
        except AnalysisException as error:
            raise OperatorError(f"operator {operator}: {str(error).splitlines()[0]}") from error
        if not getattr(result, "isStreaming", False):
            raise OperatorError(f"operator {operator}: its transformation does not return a stream")
        return result


def _columns(schema: pa.Schema | str) -> str:
    return schema if isinstance(schema, str) else ", ".join(f"{field.name} {field.type}" for field in schema)
