"""An application that is killed, in the middle of micro-batches and of quiet commits, goes on from its checkpoints.

Here it goes on in another session. That it does so as a user starts it again is tested in tests/cli/test_live.py.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING

import pytest
from tests.faults.killed_application import AT_A_TIME, NUMBERS, counted, has_read_all, looped, looped_results, plain
from tests.programs import program
from tests.spark import log_pipeline as logs
from tests.spark import looped_operators as ops
from tests.waiting import PATIENCE_S

from mead.spark.pipeline.query import last_finished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

VISITS = sum(rounds + 1 for _, _, rounds in ops.expected(NUMBERS))
"""Of the loop, by all that goes round."""


def wait(until: Callable[[], bool], alive: Callable[[], bool]) -> None:
    limit_s = monotonic() + PATIENCE_S
    while not until():
        assert alive(), "it ended by itself"
        assert monotonic() < limit_s, "nothing comes of it"
        sleep(0.01)


def commits(folder: Path) -> int:
    """Micro-batches that the plain query has done."""
    last = last_finished(folder / "plain/checkpoint")
    return last.batch + 1 if last else 0


def visits(folder: Path) -> int:
    return logs.stream(folder / "loops", "loop").end


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder."""
    folder = tmp_path_factory.mktemp("killed")
    application = subprocess.Popen(program("tests.faults.killed_application", folder), start_new_session=True)
    try:
        wait(lambda: visits(folder) >= 40 and commits(folder) >= 5, lambda: application.poll() is None)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(application.pid, signal.SIGKILL)  # Python and Java at once
        application.wait()
    return folder


def test_a_query_of_sparks_own_goes_on_without_loss_or_repetition(spark: SparkSession, killed: Path) -> None:
    goal = commits(killed) + 5
    query = plain(spark, killed / "plain")
    try:
        wait(lambda: commits(killed) >= goal, lambda: query.isActive)
    finally:
        query.stop()
    values = sorted(row.value for row in spark.read.parquet(str(killed / "plain/out")).collect())
    assert values == list(range(len(values)))
    assert len(values) >= AT_A_TIME * goal


@pytest.mark.usefixtures("_operators_by_value")
def test_every_row_goes_round_once_though_the_application_was_killed(spark: SparkSession, killed: Path) -> None:
    assert 0 < visits(killed) < VISITS, "it was killed in the middle"
    running = looped(spark, killed / "loops")
    try:
        running.start()
        wait(lambda: has_read_all(running), lambda: True)
        assert running.drain(PATIENCE_S), running.restarts
    finally:
        running.stop()
    assert visits(killed) == VISITS
    assert looped_results(killed / "loops") == ops.expected(NUMBERS)
    assert counted(killed / "loops") == {n: 1 for n in range(NUMBERS) if n % 2 == 0 or n % 5 == 0}, "state is exact"
