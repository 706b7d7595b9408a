"""What is printed at the start is seen only if it fails, and takes no room however much it is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from pyspark.errors import PySparkRuntimeError

from mead.spark.runtime.quiet_start import KEPT_BYTES, SparkStartError, StandardErrorPipe, start_quietly

LOUD = "import sys; sys.stderr.write({!r})"


def printing(words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", LOUD.format(words)])


def test_the_first_complaint_is_told_when_the_start_fails(capfd: pytest.CaptureFixture[str]) -> None:
    said = "WARNING: a module\n\nError: JAVA_HOME is wrong\nException in thread main\n"

    def fails() -> None:
        printing(said).wait()
        raise PySparkRuntimeError("no gateway")

    with pytest.raises(SparkStartError, match=r"^Error: JAVA_HOME is wrong$"), start_quietly():
        fails()
    assert capfd.readouterr().err == ""


def test_what_is_printed_later_is_taken_in_without_end(capfd: pytest.CaptureFixture[str]) -> None:
    with start_quietly():
        talker = subprocess.Popen(
            [sys.executable, "-c", "import sys; [sys.stderr.write('x' * 1024) for _ in range(8 * 1024)]"]
        )
    assert talker.wait(60) == 0, "nobody is held up because nobody reads"
    sys.stderr.write("mine again")
    assert capfd.readouterr().err == "mine again"


def test_only_the_beginning_is_kept() -> None:
    unseen = StandardErrorPipe()
    talker = subprocess.Popen([sys.executable, "-c", "print('first'); print('x' * 1_000_000)"], stdout=unseen.into)
    os.close(unseen.into)
    assert talker.wait(60) == 0
    assert unseen.lines()[0] == "first"
    assert len(unseen.said) == KEPT_BYTES
