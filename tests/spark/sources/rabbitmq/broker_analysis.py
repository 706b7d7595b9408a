"""The log analysis whose operators are joined by RabbitMQ; as a program, to be killed."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark import log_pipeline as logs
from tests.spark.hurried import hurry

from mead.cpu import DryRunShares
from mead.spark.pipeline.running import RunningPipeline
from mead.spark.runtime.quiet_start import start_quietly
from mead.spark.runtime.spark_session import start_session
from mead.spark.sources.rabbitmq.blocks import RabbitStreams
from mead.spark.sources.rabbitmq.stream import Retention

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES, FIRST, RATE_PER_S, PAUSE_S = 1000, 400, 20, 3600
"""After the first lines there is a pause, which only a run at another speed gets over."""


def analysis(
    spark: SparkSession, folder: Path, url: str, prefix: str, pause_s: float = 0.0, speed: float = 1.0
) -> RunningPipeline:
    folder.mkdir(exist_ok=True)
    times_s = [n / RATE_PER_S + (pause_s if n >= FIRST else 0.0) for n in range(LINES)]
    pipeline, streams = logs.pipeline(max_replicas=2), RabbitStreams(url, prefix, Retention())
    source = replace(logs.source(folder, times_s), warm_up=None, speed=speed)
    shares = DryRunShares([operator.name for operator in pipeline.operators])
    return RunningPipeline(spark, pipeline, source, logs.work(), folder, shares, streams)


def main(folder: Path, url: str, prefix: str) -> None:
    """Until it is killed."""
    hurry()
    with start_quietly():
        spark = start_session("killed", master="local[2,4]")
    running = analysis(spark, folder, url, prefix, PAUSE_S)
    running.start()
    while True:
        running.revive()
        time.sleep(0.05)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
