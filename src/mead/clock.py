"""Clocks of the control loop: the wall clock, and one that jumps in virtual time."""

from __future__ import annotations

import time
from threading import Event
from typing import Protocol


class Clock(Protocol):
    """Seconds since the run began."""

    def now_s(self) -> float:
        """The time now."""

    def wait_until(self, time_s: float) -> None:
        """Return at that time, or at once if it has passed."""


class VirtualClock:
    """A clock that jumps to the next event, so half an hour of control takes seconds.

    >>> clock = VirtualClock()
    >>> clock.wait_until(60.0)
    >>> clock.now_s()
    60.0
    """

    def __init__(self) -> None:
        self._now_s = 0.0

    def now_s(self) -> float:
        """The time now."""
        return self._now_s

    def wait_until(self, time_s: float) -> None:
        """Jump to that time; time never runs backwards."""
        self._now_s = max(self._now_s, time_s)


class WallClock:
    """Real time since the start; changes of the system's date have no effect."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()

    def now_s(self) -> float:
        """The time now."""
        return time.monotonic() - self._start_s

    def wait_until(self, time_s: float) -> None:
        """Sleep until then."""
        time.sleep(max(0.0, time_s - self.now_s()))


class Stopped(Exception):  # noqa: N818 - no error
    """The run is over."""


class RunClock(WallClock):
    """Real time until the run is stopped."""

    def __init__(self) -> None:
        super().__init__()
        self._stopped = Event()

    def stop(self) -> None:
        """End the run: every wait, now or later, raises Stopped."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether the run is over."""
        return self._stopped.is_set()

    def wait_until(self, time_s: float) -> None:
        """Sleep until then. Raises Stopped if the run ends before."""
        if self._stopped.wait(max(0.0, time_s - self.now_s())):
            raise Stopped
