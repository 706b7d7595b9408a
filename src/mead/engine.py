"""What runs a pipeline, as seen by whoever controls it."""

from __future__ import annotations

from typing import Protocol

from mead.values.allocation import Allocation
from mead.values.observation import Observation


class Engine(Protocol):
    """Runs a pipeline: Spark, or the simulator."""

    def observe(self, time_s: float) -> Observation:
        """Readings of the interval from the last call to ``time_s``."""

    def apply(self, allocation: Allocation) -> None:
        """Put this allocation in force from now on."""
