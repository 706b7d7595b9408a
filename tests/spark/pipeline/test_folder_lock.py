"""One run at a time in a folder."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mead.spark.pipeline.folder_lock import lock_folder
from mead.spark.pipeline.operators import OperatorError

HOLDS = """
import sys
from pathlib import Path
from mead.spark.pipeline.folder_lock import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_in_the_same_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    with lock_folder(tmp_path / "run"):
        with (
            pytest.raises(OperatorError, match="another run uses this folder") as refused,
            lock_folder(tmp_path / "run"),
        ):
            pytest.fail("both have it")
        assert str(refused.value).startswith(f"{tmp_path}/run: ")
        assert "\n" not in str(refused.value)
        with lock_folder(tmp_path / "another"):
            pass
    with lock_folder(tmp_path / "run"):
        pass


def test_a_run_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    command, pipe = [sys.executable, "-c", HOLDS, str(tmp_path)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(OperatorError), lock_folder(tmp_path):
            pytest.fail("both have it")
        other.send_signal(signal.SIGKILL)
        other.wait()
    with lock_folder(tmp_path):
        pass
