"""Ctrl-C and SIGTERM as requests; the signals are real."""

from __future__ import annotations

import signal
from threading import Thread

import pytest

from mead.spark.end_requests import SIGNALS, EndRequests


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
