"""Number of executors of an application on a cluster.

A replica is a task, and a task takes a core of an executor. So an allocation needs as many cores as it has replicas.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST = 1
"""Without an executor nothing would run or report."""


HOLD_S = 60.0
"""How long to keep an executor that is no longer needed. A new one takes seconds to start, and tasks of an ended one
run again: that must not happen with every change of a plan. Spark's dynamic allocation waits as long
(``spark.dynamicAllocation.executorIdleTimeout``)."""


@dataclass
class SlidingMaximum:
    """The maximum of the values added during the last ``length_s`` seconds.

    >>> times_s = iter([0.0, 1.0, 60.5, 61.5])
    >>> highest = SlidingMaximum(60.0, lambda: next(times_s))
    >>> [highest.add(value) for value in (3, 5, 2, 1)]
    [3, 5, 5, 2]
    """

    length_s: float
    now_s: Callable[[], float] = monotonic
    _falling: deque[tuple[float, int]] = field(default_factory=deque)
    """Values that may still become the maximum, with their times, in falling order."""

    def add(self, value: int) -> int:
        """Add a value and return the maximum, this one included."""
        now_s = self.now_s()
        while self._falling and self._falling[-1][1] <= value:
            self._falling.pop()
        self._falling.append((now_s, value))
        while self._falling[0][0] < now_s - self.length_s:
            self._falling.popleft()
        return self._falling[0][1]


class Executors:
    """The executors of one application."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._context: Any = context._jsc.sc()  # noqa: SLF001 - Python has no interface for this
        self._jvm: Any = context._jvm  # noqa: SLF001 - as above
        self._cores = int(context.getConf().get("spark.executor.cores") or 0)
        """Cores of one executor; 0 while they are unknown."""
        self.local = bool(self._context.isLocal())
        """Whether the master is local: tasks then run in the driver, without executors."""
        self._highest = SlidingMaximum(HOLD_S)
        self._ordered = 0 if self.local else self._highest.add(len(self.running))
        """Number of executors in the last order that the cluster accepted."""
        self._least = 0

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the running executors."""
        return _to_tuple(self._context.getExecutorIds())

    @property
    def cores(self) -> int:
        """Cores of one executor: ``spark.executor.cores``, or else those of the largest that runs.

        Without that setting, a standalone cluster gives an executor all cores of its worker.
        """
        if not self._cores:
            self._cores = max((one.totalCores() for one in self._known()), default=0)
        return self._cores or 1

    def order_for_tasks(self, tasks: int) -> None:
        """Order enough executors to run this many tasks at the same time, until the next call."""
        self._least = ceil(tasks / self.cores)
        self.order(self._least)

    def follow(self, tasks: int) -> None:
        """Follow a plan that changes often: more executors at once, fewer after `HOLD_S`.

        Never fewer than ``order_for_tasks`` ordered: those may be starting, and the plan waits for them.
        """
        if self.local:
            return
        number = max(self._least, self._highest.add(ceil(tasks / self.cores)))
        if number != self._ordered:
            self.order(number)

    def order(self, number: int) -> None:
        """Order this many executors, at least one, as far as the cluster has them.

        Ends those with the fewest tasks; Spark runs these tasks again on the others. An order that fails or is refused
        does not count, so that `follow` repeats it.
        """
        if self.local:
            return
        number = max(number, LEAST)
        if not self._request(number):  # before any ends, or the cluster would replace them
            return
        running, tasks = self.running, self._tasks()
        if surplus := sorted(running, key=lambda one: tasks.get(one, 0))[: max(len(running) - number, 0)]:
            self._context.killExecutors(self._jvm.PythonUtils.toSeq(surplus))
            # Spark lowers its target with every kill: an executor that dies later would not be replaced.
            if not self._request(number):
                return
        self._ordered, self._highest = number, SlidingMaximum(HOLD_S)
        self._highest.add(number)

    def _request(self, number: int) -> bool:
        """Send the order; return whether the cluster accepts it."""
        nowhere = self._jvm.PythonUtils.toScalaMap({})
        return bool(self._context.requestTotalExecutors(number, 0, nowhere))

    def _tasks(self) -> dict[str, int]:
        """Return running tasks by executor; one that just started or ended may be missing."""
        return {one.id(): one.activeTasks() for one in self._known()}

    def _known(self) -> tuple[Any, ...]:
        """Return Spark's summaries of the executors, and of the driver, which has no cores and no tasks."""
        return _to_tuple(self._context.statusStore().executorList(True))  # noqa: FBT003 - a call of Java's: active ones


class ExecutorNegotiator:
    """Negotiates cores with Spark's cluster manager, without waiting for executors.

    Executors take seconds to start, and the control loop must go on. Those that have started count in the next round.
    Only whole executors come and go, so more cores may come than requested.
    """

    def __init__(self, executors: Executors) -> None:
        self._executors = executors

    @property
    def held(self) -> int:
        """Cores of all running executors."""
        return len(self._executors.running) * self._executors.cores

    def request(self, processors: int) -> int:
        """Request executors with this many more cores; return how many are there now."""
        before = self.held
        self._executors.order_for_tasks(before + processors)
        return max(0, min(self.held - before, processors))

    def release(self, processors: int) -> int:
        """End executors that the remaining cores do not need, and cancel pending ones."""
        before = self.held
        self._executors.order_for_tasks(max(before - processors, 1))
        return max(0, before - self.held)


def _to_tuple(sequence: Any) -> tuple[Any, ...]:
    """Convert a Scala sequence."""
    return tuple(sequence.apply(place) for place in range(sequence.size()))
