"""An application that is killed goes on in its folder, and one that ends by itself leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.spark import log_pipeline as logs

LINES = 1500
RATE_PER_S = 200
PATIENCE_S = 240.0

APPLICATION = """
import sys, time
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import log_pipeline as logs
from mead.execute.detect import detect
from mead.spark import running as running_module
from mead.spark.quiet_start import quiet_start
from mead.spark.running import RunningPipeline
from mead.spark.session import started

running_module.LANDING_S, running_module.WARM_BATCHES = 1, 3
folder, lines, rate_per_s, pipeline = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), logs.pipeline()
shares = detect().open([operator.name for operator in pipeline.operators])
print(shares.group("matcher"), flush=True)
with quiet_start():
    spark = started("killed", master="local[2,4]")
source = logs.source(folder, [n / rate_per_s for n in range(lines)])
running = RunningPipeline(spark, pipeline, source, logs.work(), folder, shares)
running.start()
running.begin(60.0)
while logs.stream(folder, "parser").end < logs.parsed(lines).num_rows:
    running.revive()
    time.sleep(0.1)
drained = running.drain(60.0)
running.stop()
spark.stop()
shares.close()
print("drained" if drained else f"not drained, {running.restarts}", flush=True)
"""


@contextmanager
def application(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """With its Java machine in one group of processes; whatever happens, it is gone afterwards."""
    arguments = [str(Path(__file__).parent), str(folder), str(LINES), str(RATE_PER_S)]
    command = [sys.executable, "-c", APPLICATION, *arguments]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def groups(process: subprocess.Popen[str]) -> list[Path]:
    assert process.stdout is not None
    return [Path(group) for group in process.stdout.readline().strip().split(os.pathsep) if group]


def left(groups: list[Path]) -> list[str]:
    """Processes that were started by an application with these control groups."""
    applications, found = {group.parent.name for group in groups}, []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended in the meantime
            environment = (process / "environ").read_text(errors="replace")
            if any(application in environment for application in applications):
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str, list[Path]]:
    """The folder, what the second application printed, and the control groups of both."""
    folder = tmp_path_factory.mktemp("crash")
    with application(folder) as first:
        made = groups(first)
        until_s = monotonic() + PATIENCE_S
        while logs.stream(folder, "counter").end < 20 or logs.stream(folder, "matcher").end < 100:
            assert first.poll() is None, "it ended by itself"
            assert monotonic() < until_s, "nothing comes of it"
            sleep(0.02)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert logs.stream(folder, "parser").end < logs.parsed(LINES).num_rows, "it was killed in the middle"
    with application(folder) as second:
        made += groups(second)
        output, errors = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 0, errors
    return folder, output, errors, made


def test_totals_are_exact_though_the_application_was_killed(ended: tuple[Path, str, str, list[Path]]) -> None:
    folder, output, _, _ = ended
    assert output.strip() == "drained"
    assert logs.totals(folder) == logs.expected_totals(LINES)
    assert logs.matches(folder) == logs.expected_matches(LINES)


def test_nothing_is_printed_but_what_it_says_itself(ended: tuple[Path, str, str, list[Path]]) -> None:
    assert ended[2] == ""


def test_no_control_group_is_left_of_either_application(ended: tuple[Path, str, str, list[Path]]) -> None:
    assert [group for group in ended[3] if group.exists()] == []


def test_no_process_is_left_of_either_application(ended: tuple[Path, str, str, list[Path]]) -> None:
    until_s = monotonic() + PATIENCE_S
    while left(ended[3]) and monotonic() < until_s:
        sleep(0.1)
    assert left(ended[3]) == []
