"""Output of other operators as an input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceStreamReader

from mead.spark.log.addresses import TO
from mead.spark.log.source import JoinedDataSource, LogDataSource
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.operators import OperatorError, parse_columns, to_ddl
from mead.spark.sources.inputs import Input, make_reader, open_stream
from mead.spark.sources.rabbitmq.blocks import RabbitStore
from mead.spark.telemetry.reports import FinishedBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class LogInput(Input):
    """The embedded log that another operator writes."""

    folder: Path
    consumer: str
    schema: str
    store: RabbitStore | None = None
    """The RabbitMQ stream that holds the rows; None for files in the folder."""
    _log: StreamLog = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_log", StreamLog(self.folder))

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open it."""
        return open_stream(spark, operator, LogDataSource, self._options(tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Return a reader for use inside a worker."""
        return make_reader(LogDataSource, self._options(tasks))

    def _options(self, tasks: Path) -> dict[str, str]:
        folder, rabbitmq = self.place
        options = {"path": folder, "schema": to_ddl(self.columns), "consumer": self.consumer, "tasks": str(tasks)}
        return options if rabbitmq is None else options | {"rabbitmq": json.dumps(rabbitmq)}

    @property
    def place(self) -> tuple[str, dict[str, str] | None]:
        """The folder, and the options of the RabbitMQ stream that has its rows."""
        return str(self.folder), None if self.store is None else self.store.place.options

    def prepare(self) -> None:
        """Keep rows for this consumer from now on, even before its query starts.

        Uses a new `StreamLog`: a query may be restarted while the controller counts in another thread.
        """
        StreamLog(self.folder).register(self.consumer)

    @property
    def columns(self) -> dict[str, str]:
        """Types of the columns by name, without the column that addresses rows."""
        return {name: kind for name, kind in parse_columns(self.schema).items() if name != TO}

    def count_completed(self, done: FinishedBatch) -> int:
        """Count the rows for this consumer up to the offset."""
        return self._log.count_for_reader(self.consumer, int(done.end_offset["rows"]))

    def count_arrived(self, last: FinishedBatch | None) -> int:
        """Count all committed rows for this consumer."""
        del last
        return self._log.count_for_reader(self.consumer, self._log.end)


@dataclass(frozen=True)
class JoinedInput(Input):
    """The embedded logs of several operators, which may include the reader's own."""

    logs: Mapping[str, LogInput]
    """Each log by the name of the operator that writes it."""

    def prepare(self) -> None:
        """Keep rows of all of them for this consumer from now on."""
        for log in self.logs.values():
            log.prepare()

    def load(self, spark: SparkSession, operator: str, tasks: Path) -> DataFrame:
        """Open all of them as one stream."""
        return open_stream(spark, operator, JoinedDataSource, self._options(operator, tasks))

    def reader(self, tasks: Path) -> tuple[DataSourceStreamReader, str] | None:
        """Return a reader of all logs for use inside a worker."""
        return make_reader(JoinedDataSource, self._options(next(iter(self.logs.values())).consumer, tasks))

    def _options(self, consumer: str, tasks: Path) -> dict[str, str]:
        columns: dict[str, str] = {}
        for name, log in self.logs.items():
            for column, kind in log.columns.items():
                if columns.setdefault(column, kind) != kind:
                    raise OperatorError(
                        f"operator {consumer}: it reads from {' and '.join(self.logs)}, but column {column} is {kind} "
                        f"in the output of {name}, and {columns[column]} in the others"
                    )
        places = json.dumps({name: log.place for name, log in self.logs.items()})
        return {"logs": places, "schema": to_ddl(columns), "consumer": consumer, "tasks": str(tasks)}

    def count_completed(self, done: FinishedBatch) -> int:
        """Count the rows done, of all logs together."""
        return sum(
            log.count_completed(replace(done, end_offset=done.end_offset[name])) for name, log in self.logs.items()
        )

    def count_arrived(self, last: FinishedBatch | None) -> int | None:
        """Count the committed rows of all logs together."""
        return sum(log.count_arrived(last) for log in self.logs.values())
