"""The loop in a thread: it ends with its clock, and is started again when it dies."""

from __future__ import annotations

from threading import Event, active_count
from types import SimpleNamespace
from typing import Any

import pytest
from tests.waiting import PATIENCE_S

from mead.clock import RunClock
from mead.session.controller import Controller

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # threads die here


class Loop:
    """Turns until the clock stops, and dies when it is told to."""

    def __init__(self, clock: RunClock) -> None:
        self.clock, self.policy = clock, SimpleNamespace(interval_s=5.0)
        self.runs = 0
        self.started, self.deadly = Event(), Event()

    def run(self, duration_s: float) -> None:
        del duration_s
        self.runs += 1
        self.started.set()
        while not self.deadly.is_set():
            self.clock.wait_until(self.clock.now_s() + 0.01)
        raise SystemExit  # nothing that could be handled: as if the thread was killed


def controlled(duration_s: float = 3600.0) -> tuple[Controller, Any]:
    clock = RunClock()
    loop: Any = Loop(clock)
    return Controller(loop, clock, "test", duration_s), loop


def killed(controller: Controller, loop: Any) -> None:
    assert loop.started.wait(PATIENCE_S)
    loop.deadly.set()
    assert controller._thread is not None
    controller._thread.join(PATIENCE_S)
    loop.started.clear()
    loop.deadly.clear()


def test_one_that_dies_is_started_again_once() -> None:
    controller, loop = controlled()
    controller.start()
    assert not controller.revive(), "it lives"
    killed(controller, loop)
    assert controller.revive()
    assert loop.started.wait(PATIENCE_S)
    assert not controller.revive()
    assert loop.runs == 2
    controller.end(PATIENCE_S)


def test_one_that_is_told_to_end_ends_and_stays_so() -> None:
    threads = active_count()
    controller, loop = controlled()
    controller.start()
    assert loop.started.wait(PATIENCE_S)
    assert controller.end(PATIENCE_S)
    assert active_count() == threads
    assert not controller.revive()


def test_one_that_hangs_is_not_said_to_have_ended() -> None:
    clock, released = RunClock(), Event()
    loop: Any = SimpleNamespace(run=lambda _: released.wait(PATIENCE_S), policy=SimpleNamespace(interval_s=5.0))
    controller = Controller(loop, clock, "test")
    controller.start()
    assert not controller.end(0.01)
    released.set()
    assert controller.end(PATIENCE_S)


@pytest.mark.parametrize(("duration_s", "again"), [(4.0, False), (3600.0, True)], ids=["the last round", "earlier"])
def test_one_that_ends_in_the_last_interval_has_done_its_work(duration_s: float, *, again: bool) -> None:
    controller, loop = controlled(duration_s)
    controller.start()
    killed(controller, loop)
    assert controller.revive() == again
    controller.end(PATIENCE_S)


def test_what_was_never_started_can_be_ended() -> None:
    controller, _ = controlled()
    assert not controller.revive()
    assert controller.end(0.0)
