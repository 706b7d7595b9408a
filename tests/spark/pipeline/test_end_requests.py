"""Ctrl-C, SIGTERM and lost terminals as requests; signals and terminals are real."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.waiting import PATIENCE_S

from mead.spark.pipeline.end_requests import SIGNALS, EndRequests
from mead.spark.runtime import spark_session as session


@pytest.fixture(autouse=True)
def _hang_ups_as_usual() -> Iterator[None]:
    """The tests may run under nohup, which ignores them."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("which", SIGNALS)
def test_a_signal_interrupts_until_requests_are_held(which: signal.Signals) -> None:
    with EndRequests() as requests:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(which)
        assert requests.count == 1
        requests.hold()
        for count in (2, 3):
            signal.raise_signal(which)
            assert requests.count == count
        with pytest.raises(KeyboardInterrupt):
            requests.check()


def test_nobody_is_interrupted_where_nobody_has_asked() -> None:
    with EndRequests() as requests:
        requests.check()


def test_signals_are_as_before_when_the_last_block_ends() -> None:
    before = [signal.getsignal(which) for which in SIGNALS]
    with EndRequests() as requests:
        with requests as same:
            assert same is requests
            requests.hold()
        signal.raise_signal(signal.SIGTERM)
        assert requests.count == 1, "what was held inside is held outside, too"
    assert [signal.getsignal(which) for which in SIGNALS] == before


def test_another_thread_is_never_asked() -> None:
    before, counts = signal.getsignal(signal.SIGTERM), list[int]()

    def run() -> None:
        with EndRequests() as requests:
            requests.hold()
            counts.append(requests.count)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert counts == [0]
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(("ignored", "asked"), [(False, 1), (True, 0)], ids=["as usual", "by nohup"])
def test_who_was_started_by_nohup_is_not_asked_by_the_end_of_a_terminal(*, ignored: bool, asked: int) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN) if ignored else signal.getsignal(signal.SIGHUP)
    try:
        with EndRequests() as requests:
            requests.hold()
            signal.raise_signal(signal.SIGHUP)
            assert requests.count == asked
            assert (signal.getsignal(signal.SIGHUP) is signal.SIG_IGN) == ignored
    finally:
        signal.signal(signal.SIGHUP, before)


RUN = """
import fcntl, sys, termios, time
from pathlib import Path
from mead.spark.runtime import spark_session
from mead.spark.pipeline.end_requests import EndRequests
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
with EndRequests() as requests:
    requests.hold()
    print("running", flush=True)
    until_s = time.monotonic() + 600
    while not requests.count and time.monotonic() < until_s:
        time.sleep(0.02)
    print("the table", flush=True)
    print("what is wrong", file=sys.stderr, flush=True)
    Path(sys.argv[1]).write_text(f"asked {requests.count} times")
"""


def test_a_run_whose_terminal_is_lost_ends_in_good_order(tmp_path: Path) -> None:
    """What it still says goes nowhere, and does not end it in the middle."""
    terminal, side = pty.openpty()
    command = [sys.executable, "-c", RUN, str(tmp_path / "report")]
    run = subprocess.Popen(command, stdin=side, stdout=side, stderr=side, start_new_session=True)
    os.close(side)
    until_s = time.monotonic() + PATIENCE_S
    said = b""
    while b"running" not in said and time.monotonic() < until_s:
        said += os.read(terminal, 1000)
    os.close(terminal)
    assert run.wait(PATIENCE_S) == 0
    assert (tmp_path / "report").read_text() == "asked 1 times"


def test_a_terminal_that_is_still_there_is_written_to_after_the_signal() -> None:
    terminal, side = pty.openpty()
    let = "from mead.spark.pipeline.end_requests import redirect_lost_terminals as redirect; redirect()"
    said = f"{let}; print('still here', flush=True)"
    subprocess.run([sys.executable, "-c", said], stdout=side, check=True)
    assert b"still here" in os.read(terminal, 1000)
    os.close(terminal)
    os.close(side)


def test_what_is_started_with_spark_outlives_the_terminal_and_the_request_is_heard_afterwards() -> None:
    said = "import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    with EndRequests() as requests:
        requests.hold()
        with session._ignore_hang_ups():
            child = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
            signal.raise_signal(signal.SIGHUP)
            assert requests.count == 0
        assert child.stdout.strip() == "True"
        assert requests.count == 1
