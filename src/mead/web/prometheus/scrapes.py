"""The times at which Prometheus reads the metrics.

Prometheus pulls metrics, so it learns about the end of a run only from one more scrape. A page that ended with its run
would look like a crash. The page therefore waits for that scrape.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_S = 15.0
"""The page does not wait for longer scrape intervals than this, the default of Prometheus."""

LATE = 1.5
"""After this many intervals the next scrape is no longer expected."""


@dataclass
class Scrapes:
    """The last scrape, and the interval before it.

    >>> scrapes = Scrapes(iter([100.0, 105.0, 107.0, 111.0]).__next__)
    >>> for _ in range(2):
    ...     scrapes.add(finished=False)
    >>> scrapes.wait_s()  # at 107 s: the next scrape is due at 110 s and expected until 112.5 s
    5.5
    >>> scrapes.add(finished=True)
    >>> scrapes.wait_s()
    0.0
    """

    clock_s: Callable[[], float] = time.monotonic
    told: bool = field(default=False, init=False)
    """Whether a scrape has reported the end of the run."""
    _last_s: float | None = field(default=None, init=False)
    _interval_s: float | None = field(default=None, init=False)

    def add(self, *, finished: bool) -> None:
        """Add a scrape."""
        now_s = self.clock_s()
        self._interval_s = None if self._last_s is None else now_s - self._last_s
        self._last_s = now_s
        self.told = self.told or finished

    def wait_s(self) -> float:
        """How long to wait for a scrape that reports the end."""
        if self.told or self._last_s is None or self._interval_s is None or self._interval_s > LONGEST_S:
            return 0.0
        return max(0.0, self._last_s + LATE * self._interval_s - self.clock_s())
