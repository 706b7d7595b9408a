"""A Java machine that is paused while another run takes its folder adds nothing when it wakes up, and ends."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import pytest
from tests.faults.killed_application import NUMBERS, has_read_all, looped, looped_results
from tests.faults.test_crash import VISITS, visits, wait
from tests.programs import program
from tests.spark import log_pipeline as logs
from tests.spark import looped_operators as ops
from tests.waiting import PATIENCE_S

from mead.cpu import list_processes
from mead.spark.pipeline.query import last_begun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow


def java_of(controller: int) -> int:
    return next(one.pid for one in list_processes() if one.parent == controller)


def interrupted(folder: Path) -> list[str]:
    """Operators in the middle of a micro-batch."""
    operators = [path.name for path in (folder / "streams").glob("*")]
    return [name for name in operators if last_begun(folder / "checkpoints" / name) > logs.stream(folder, name).last]


def is_alive(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


def pause_in_a_batch(java: int, folder: Path) -> None:
    while True:
        while not interrupted(folder):
            assert is_alive(java)
        os.kill(java, signal.SIGSTOP)
        if interrupted(folder):
            return
        os.kill(java, signal.SIGCONT)
        sleep(0.01)


@pytest.mark.usefixtures("_operators_by_value")
def test_a_java_machine_that_wakes_up_in_a_folder_of_another_run_adds_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "loops"
    controller = subprocess.Popen(program("tests.faults.killed_application", tmp_path), start_new_session=True)
    try:
        wait(lambda: visits(tmp_path) >= 20, lambda: controller.poll() is None)
        java = java_of(controller.pid)
        pause_in_a_batch(java, folder)
        paused = interrupted(folder)
        os.kill(controller.pid, signal.SIGKILL)
        controller.wait()
        before = {name: logs.stream(folder, name).last for name in paused}
        running = looped(spark, folder)

        try:
            running.start()
            # The new run has done the interrupted batches itself when the old one goes on with them.
            wait(
                lambda: running.revive() is not None and all(logs.stream(folder, n).last > before[n] for n in paused),
                lambda: True,
            )
            os.kill(java, signal.SIGCONT)
            wait(lambda: not is_alive(java), lambda: True)
            wait(lambda: has_read_all(running), lambda: True)
            assert running.drain(PATIENCE_S), running.restarts
        finally:
            running.stop()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(controller.pid, signal.SIGKILL)
        controller.wait()
    assert visits(tmp_path) == VISITS
    assert looped_results(folder) == ops.expected(NUMBERS)
