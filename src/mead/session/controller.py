"""The control loop in a thread of its own, for engines that run by the wall clock."""

from __future__ import annotations

from contextlib import suppress
from math import inf
from threading import Thread

from mead.clock import RunClock, Stopped
from mead.cpu import give_way
from mead.loop import ControlLoop


class Controller:
    """Runs a loop until its time is over or its clock is stopped.

    If the thread dies, the allocation stays in force.
    """

    def __init__(self, loop: ControlLoop, clock: RunClock, name: str, duration_s: float = inf) -> None:
        self.loop, self.clock, self.name, self.duration_s = loop, clock, f"mead-controller-{name}", duration_s
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread, or start it again."""
        self._thread = Thread(target=self._control, name=self.name, daemon=True)
        self._thread.start()

    def revive(self) -> bool:
        """Start the thread again if it has died; returns whether it had. The last interval has no more rounds."""
        over = self.clock.stopped or self.clock.now_s() >= self.duration_s - self.loop.policy.interval_s
        if over or self._thread is None or self._thread.is_alive():
            return False
        self.start()
        return True

    def end(self, limit_s: float) -> bool:
        """Stop the clock and wait at most ``limit_s`` for the current round; returns whether the thread has ended."""
        self.clock.stop()
        if self._thread is None:
            return True
        self._thread.join(limit_s)
        return not self._thread.is_alive()

    def _control(self) -> None:
        give_way()
        with suppress(Stopped):
            self.loop.run(self.duration_s)
