"""A very small Spark job, to see whether everything works together.

``python -m mead.spark.runtime.trial`` prints the times as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from time import perf_counter

import pyarrow as pa

TIMEOUT_S = 300
ROWS = 100


class TrialError(Exception):
    """The job did not run. The message is Spark's last line."""


@dataclass(frozen=True)
class Trial:
    """Times of a session with the fast profile on two cores."""

    version: str
    start_s: float
    job_s: float


def try_spark(environment: Mapping[str, str] = os.environ) -> Trial:
    """Run the job in a separate process."""
    command = [sys.executable, "-m", __name__]
    try:
        run = subprocess.run(  # noqa: S603 - this very module
            command, env=dict(environment), check=False, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise TrialError(f"no answer within {TIMEOUT_S} s") from None
    said = [line for line in run.stderr.splitlines() if line.strip()]
    if run.returncode:
        raise TrialError(said[-1].strip() if said else f"ended with code {run.returncode}")
    return Trial(**json.loads(run.stdout.splitlines()[-1]))


def _run_trial() -> Trial:
    from mead.spark.runtime.spark_session import start_session  # noqa: PLC0415 - PySpark may be missing: a finding

    began = perf_counter()
    spark = start_session("trial", master="local[2]")
    started = perf_counter()

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    try:
        rows = spark.range(0, ROWS, 1, 1).mapInArrow(same, "id bigint").count()
    finally:
        ended = perf_counter()
        spark.stop()
    if rows != ROWS:
        raise TrialError(f"{rows} rows came back of {ROWS}")
    return Trial(spark.version, started - began, ended - started)


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(asdict(_run_trial()))}\n")
