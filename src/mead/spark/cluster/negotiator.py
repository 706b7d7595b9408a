"""Spark's cluster manager as a negotiator: processors are the cores of executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class ClusterExecutors(Protocol):
    """What is needed of ``mead.spark.cluster.executors.Executors``."""

    @property
    def cores(self) -> int:
        """Cores of one executor."""

    @property
    def running(self) -> Sequence[str]:
        """Ids of the executors that run."""

    def for_tasks(self, tasks: int) -> None:
        """Order enough executors to run this many tasks at the same time."""


class ExecutorNegotiator:
    """Asks for executors without waiting for them: they take seconds to start, and the control loop must go on.

    Those that have come by the next round count there. Only whole executors come and go, so more cores may come than
    were asked for.
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
        """End the executors that the remaining cores do not need, and cancel those that have not come yet."""
        before = self.held
        self._executors.for_tasks(max(before - processors, 1))
        return max(0, before - self.held)
