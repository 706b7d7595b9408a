"""Spark's cluster manager as a negotiator: processors are the cores of executors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

PATIENCE_S = 15.0
"""How long an executor may take to come, before it counts as not granted."""

LOOK_S = 0.25


class ClusterExecutors(Protocol):
    """What is needed of ``mead.spark.executors.Executors``."""

    cores: int

    @property
    def running(self) -> Sequence[str]:
        """Their ids."""

    def for_tasks(self, tasks: int) -> None:
        """As many as run so many tasks at the same time."""


class ExecutorNegotiator:
    """Asks for executors, and waits a little for them. Whole ones come and go, so that more may come than was asked."""

    def __init__(
        self,
        executors: ClusterExecutors,
        *,
        patience_s: float = PATIENCE_S,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._executors, self._patience_s, self._now_s, self._sleep = executors, patience_s, now_s, sleep

    @property
    def held(self) -> int:
        """Cores of all executors that run."""
        return len(self._executors.running) * self._executors.cores

    def request(self, processors: int) -> int:
        """Ask for executors with so many more cores; those that come in time are granted."""
        before = self.held
        self._executors.for_tasks(before + processors)
        self._wait(lambda: self.held >= before + processors)
        return max(0, min(self.held - before, processors))

    def release(self, processors: int) -> int:
        """End executors that the rest of the cores does not need."""
        before = self.held
        self._executors.for_tasks(max(before - processors, 1))
        self._wait(lambda: self.held < before - processors + self._executors.cores)
        return max(0, before - self.held)

    def _wait(self, reached: Callable[[], bool]) -> None:
        until_s = self._now_s() + self._patience_s
        while not reached() and self._now_s() < until_s:
            self._sleep(LOOK_S)
