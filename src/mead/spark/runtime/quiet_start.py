"""Start Spark, and let Java end, without their output on standard error."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any

from mead.spark.runtime.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT_BYTES = 64 * 1024
"""Size of the output that is kept, from its beginning: the first error is printed first."""

LAST_WORDS_S = 1.0
"""How long to wait for the last output of a Java machine that has ended."""


class SparkStartError(RuntimeError):
    """Spark did not start. The message is the first error that was printed."""


def check_java() -> None:
    """Raise SparkStartError, in one line, where Spark would print a page: there is no Java that it runs on."""
    java = find_java(os.environ)
    if java is None or not java.new_enough:
        raise SparkStartError("Spark needs Java, and there is none that it runs on; `mead doctor` says what to install")


class StandardErrorPipe:
    """Reads the output of other processes as long as they live, and keeps its beginning.

    A file would grow without end in an endless run.
    """

    def __init__(self) -> None:
        self.said = b""
        self._from, self.into = os.pipe()
        self._reader = Thread(target=self._read, name="mead-unseen", daemon=True)
        self._reader.start()

    def lines(self) -> list[str]:
        """Return the lines that were kept."""
        self._reader.join(LAST_WORDS_S)
        return self.said.decode(errors="replace").splitlines()

    def _read(self) -> None:
        with os.fdopen(self._from, "rb", buffering=0) as words:
            while some := words.read(KEPT_BYTES):
                self.said += some[: KEPT_BYTES - len(self.said)]


@contextmanager
def start_quietly() -> Iterator[None]:
    """Hide the standard error of processes started in the block, unless the start fails.

    Java keeps that standard error as long as it lives. Errors of jobs are not lost: they return as exceptions.
    """
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - takes a second

    unseen = StandardErrorPipe()
    try:
        with _standard_error(unseen.into):
            yield
    except PySparkRuntimeError as error:
        # The first line names the cause; later ones are consequences.
        complaints = (line for line in unseen.lines() if line.strip() and not line.startswith("WARNING"))
        raise SparkStartError(next(complaints, str(error))) from error


@contextmanager
def _standard_error(into: int) -> Iterator[None]:
    """Redirect standard error to a file in the block; then only processes started in it keep it open."""
    sys.stderr.flush()
    ours = os.dup(2)
    os.dup2(into, 2)
    os.close(into)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(ours, 2)
        os.close(ours)


def silence_loss(spark: SparkSession) -> None:
    """Suppress tracebacks if Java ends before Spark is stopped: the caller reports it in one line.

    PySpark's server of accumulators would print one, since its connection is cut off, and so would Py4J for a running
    call.
    """
    server: Any = spark.sparkContext._accumulatorServer  # noqa: SLF001 - its way to complain is this method
    server.handle_error = lambda *_: None
    logging.getLogger().addFilter(lambda record: record.msg != "Exception while sending command.")
