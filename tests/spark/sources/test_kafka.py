"""Rows of Spark's Kafka connector as pipelines read them; on a real Kafka where one is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.sources.kafka_run import ROWS

from mead.spark.sources.kafka import PACKAGE, as_tuples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SERVERS = "MEAD_TEST_KAFKA"


def test_a_row_has_a_number_of_its_own_and_the_microsecond_it_arrived(spark: SparkSession) -> None:
    arrived = datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    rows = [(b"k", b"v", 0, 7, arrived), (None, b"v", 3, 7, arrived)]
    columns = "key binary, value binary, partition int, offset bigint, timestamp timestamp"
    first, second = as_tuples(spark.createDataFrame(rows, columns)).collect()
    assert (first.id, first.key, bytes(first.value)) == (7, "k", b"v")
    assert (second.id, second.key) == (3 * 2**48 + 7, None)
    assert first.arrival_us == second.arrival_us == 1_704_164_645_678_000


@pytest.mark.slow
@pytest.mark.skipif(
    SERVERS not in os.environ,
    reason=f"{SERVERS} names no Kafka (host:port), and Spark would have to download {PACKAGE}",
)
def test_a_topic_goes_through_a_pipeline_once_while_it_grows(tmp_path: Path) -> None:
    program = Path(__file__).with_name("kafka_run.py")
    command = [sys.executable, str(program), os.environ[SERVERS], str(tmp_path)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    assert found == {"completed": 2 * ROWS, "drained": 1, "rows": 2 * ROWS, "ids": 2 * ROWS, "keys": 2 * ROWS}
