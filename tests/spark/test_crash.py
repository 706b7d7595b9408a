"""An application that is killed between, or within, quiet commits goes on from its checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

APPLICATION = """
import sys
from pyspark.sql import SparkSession
from mead.spark.fast_profile import FastProfile

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
spark = FastProfile().start(builder)
rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).option("numPartitions", 1).load()
stream = rows.writeStream.option("checkpointLocation", sys.argv[1] + "/checkpoint")
stream.start(sys.argv[1] + "/out", format="parquet").awaitTermination()
"""


def last_commit(folder: Path) -> int:
    return max((int(file.name) for file in (folder / "checkpoint/commits").glob("[0-9]*")), default=-1)


def await_commit(folder: Path, batch: int, running: subprocess.Popen[bytes] | StreamingQuery) -> None:
    until_s = time.monotonic() + 120
    while last_commit(folder) < batch:
        ended = running.poll() is not None if isinstance(running, subprocess.Popen) else not running.isActive
        assert not ended, "it ended by itself"
        assert time.monotonic() < until_s, "no progress for two minutes"
        time.sleep(0.02)


def test_killed_application_goes_on_without_loss_or_repetition(spark: SparkSession, tmp_path: Path) -> None:
    command = [sys.executable, "-c", APPLICATION, str(tmp_path)]
    application = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        await_commit(tmp_path, 5, application)
    finally:
        os.killpg(application.pid, signal.SIGKILL)  # Python and Java at once
        application.wait()
    killed_at = last_commit(tmp_path)

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).option("numPartitions", 1).load()
    stream = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = stream.start(str(tmp_path / "out"), format="parquet")
    try:
        await_commit(tmp_path, killed_at + 5, query)
    finally:
        query.stop()

    values = sorted(row.value for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert values == list(range(len(values)))
    assert len(values) >= 10 * (killed_at + 5)
