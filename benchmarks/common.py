"""Helpers of the benchmarks: timing, tables, and the cost of the first call in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def best_s(work: Callable[[], object], runs: int = 10, clock: Callable[[], float] = time.process_time) -> float:
    """Seconds of the fastest run, in processor time unless told otherwise: other work on the machine counts least."""
    times = []
    for _ in range(runs):
        started = clock()
        work()
        times.append(clock() - started)
    return min(times)


def quiet_spark() -> SparkSession.Builder:
    """Local Spark on two cores that says nothing but its errors; it is not started yet."""
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.log.level", "ERROR")
    )


def table(title: str, *columns: str) -> Table:
    """A table whose first column is text and whose others are figures."""
    result = Table(*columns[:1], title=title, title_justify="left")
    for column in columns[1:]:
        result.add_column(column, justify="right")
    return result


def fresh_process_table(title: str, code: str, *columns: str, arguments: tuple[str, ...] = ()) -> Table:
    """What ``code``, which prints seconds, says in a fresh process: with nothing compiled yet, and again after that."""
    result = table(title, "cache of compiled code", *columns)
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"NUMBA_CACHE_DIR": cache}
        for state in ("empty (cold compile)", "filled by the run before"):
            command = [sys.executable, "-c", code, *arguments]
            run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
            result.add_row(state, *(f"{float(seconds):.2f}" for seconds in run.stdout.split()))
    return result
