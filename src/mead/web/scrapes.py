"""How often Prometheus reads the metrics, so that it can be told of the end of a run.

Prometheus asks for the metrics; nobody can tell it anything. A page that goes with its run would look to it like a
process that was killed. So the page waits for one reading more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST_S = 15.0
"""We do not wait for readings that come less often than this: the interval in Prometheus's own configuration."""

LATE = 1.5
"""After this many intervals we no longer expect a reading."""


@dataclass
class Scrapes:
    """The last reading, and the time from the one before.

    >>> scrapes = Scrapes(iter([100.0, 105.0, 107.0, 111.0]).__next__)
    >>> for _ in range(2):
    ...     scrapes.add(finished=False)
    >>> scrapes.wait_s()  # at 107 s: the next one is due at 110 s, and given up at 112.5 s
    5.5
    >>> scrapes.add(finished=True)
    >>> scrapes.wait_s()
    0.0
    """

    clock_s: Callable[[], float] = time.monotonic
    told: bool = field(default=False, init=False)
    """Whether a reading has said that the run is over."""
    _last_s: float | None = field(default=None, init=False)
    _interval_s: float | None = field(default=None, init=False)

    def add(self, *, finished: bool) -> None:
        """Note that the metrics were read just now."""
        now_s = self.clock_s()
        self._interval_s = None if self._last_s is None else now_s - self._last_s
        self._last_s = now_s
        self.told = self.told or finished

    def wait_s(self) -> float:
        """How long to wait for a reading that tells of the end."""
        if self.told or self._last_s is None or self._interval_s is None or self._interval_s > LONGEST_S:
            return 0.0
        return max(0.0, self._last_s + LATE * self._interval_s - self.clock_s())
