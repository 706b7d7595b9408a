"""Spark's cluster manager as a negotiator: processors are the cores of executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ClusterExecutors(Protocol):
    """What is needed of ``mead.spark.executors.Executors``."""

    @property
    def cores(self) -> int:
        """Of one executor."""

    @property
    def running(self) -> Sequence[str]:
        """Their ids."""

    def for_tasks(self, tasks: int) -> None:
        """As many as run so many tasks at the same time, from now on."""


class ExecutorNegotiator:
    """Asks for executors, and waits for none: they take seconds to start, and the control loop has other things to do.

    What has come by the next round counts there. Whole executors come and go, so that more may come than was asked.
    """

    def __init__(self, executors: ClusterExecutors) -> None:
        self._executors = executors

    @property
    def held(self) -> int:
        """Cores of all executors that run."""
        return len(self._executors.running) * self._executors.cores

    def request(self, processors: int) -> int:
        """Ask for executors with so many more cores."""
        before = self.held
        self._executors.for_tasks(before + processors)
        return max(0, min(self.held - before, processors))

    def release(self, processors: int) -> int:
        """End executors that the rest of the cores does not need, and ask for no others."""
        before = self.held
        self._executors.for_tasks(max(before - processors, 1))
        return max(0, before - self.held)
