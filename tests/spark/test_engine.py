"""What the engine reads of the system around it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mead.spark.engine import java_cpu_s
from mead.spark.python_workers import PROCESSES


def test_cpu_time_of_a_process_is_not_measured_where_the_system_does_not_show_it(tmp_path: Path) -> None:
    assert java_cpu_s(os.getpid(), tmp_path) is None


def test_cpu_time_of_a_process_is_what_it_says_itself() -> None:
    if not PROCESSES.is_dir():
        pytest.skip("no processes are shown as files here")
    before, read = os.times(), java_cpu_s(os.getpid())
    after = os.times()
    assert read is not None
    assert before.user + before.system - 0.05 <= read <= after.user + after.system + 0.05
