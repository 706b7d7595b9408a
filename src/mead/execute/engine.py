"""What runs a pipeline, as seen by whoever controls it."""

from __future__ import annotations

from typing import Protocol

from mead.knowledge.allocation import Allocation
from mead.knowledge.observation import Observation


class Engine(Protocol):
    """Spark, or the simulator."""

    def observe(self, time_s: float) -> Observation:
        """Readings of the time since the last call, up to ``time_s``."""

    def apply(self, allocation: Allocation) -> None:
        """Have this allocation from now on."""
