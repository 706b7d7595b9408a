"""How many executors an application has, where its cluster starts and ends them while it runs.

A replica is a task, and a task takes a core of an executor. So an allocation needs as many cores as it has replicas,
in as many executors as hold them.
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
"""Without an executor nothing would run, and nothing would report that."""


HOLD_S = 60.0
"""How long an executor is kept that is no longer wanted. A new one takes seconds to start and to load what workers
need, and when one ends, its tasks have to run again: that must not happen with every change of a plan. Spark's own
dynamic allocation waits as long (``spark.dynamicAllocation.executorIdleTimeout``)."""


@dataclass
class SlidingMaximum:
    """The highest of the values that were put in during the last ``length_s`` seconds.

    >>> times_s = iter([0.0, 1.0, 60.5, 61.5])
    >>> highest = SlidingMaximum(60.0, lambda: next(times_s))
    >>> [highest.add(value) for value in (3, 5, 2, 1)]
    [3, 5, 5, 2]
    """

    length_s: float
    now_s: Callable[[], float] = monotonic
    _falling: deque[tuple[float, int]] = field(default_factory=deque)
    """Values that may still become the highest, with their times; each is higher than those after it."""

    def add(self, value: int) -> int:
        """Put in a value, and return the highest, this one included."""
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
        """Local masters have no executors: tasks run in the driver."""
        self._highest = SlidingMaximum(HOLD_S)
        self._ordered = 0 if self.local else self._highest.add(len(self.running))
        """The number of executors in the last order that the cluster accepted."""
        self._least = 0

    @property
    def running(self) -> tuple[str, ...]:
        """Ids of the executors that run."""
        return _to_tuple(self._context.getExecutorIds())

    @property
    def cores(self) -> int:
        """Cores of one executor: ``spark.executor.cores`` if it is set, or else those of the largest that runs.

        Where the setting is missing, a standalone cluster gives an executor all cores of its worker.
        """
        if not self._cores:
            self._cores = max((one.totalCores() for one in self._known()), default=0)
        return self._cores or 1

    def order_for_tasks(self, tasks: int) -> None:
        """Order enough executors to run this many tasks at the same time; this holds until the next call."""
        self._least = ceil(tasks / self.cores)
        self.order(self._least)

    def follow(self, tasks: int) -> None:
        """Order executors for a plan that changes often: more at once, fewer only after they were unwanted for a while.

        Never fewer than ``for_tasks`` has ordered: those may be on their way, and the plan waits for them.
        """
        if self.local:
            return
        number = max(self._least, self._highest.add(ceil(tasks / self.cores)))
        if number != self._ordered:
            self.order(number)

    def order(self, number: int) -> None:
        """Order this many executors, as far as the cluster has them, and never fewer than one.

        Those with the fewest tasks are ended. Spark runs these tasks again on the others, so nothing is lost. An order
        that fails, or that the cluster refuses, does not count as given: whoever follows a plan gives it again.
        """
        if self.local:
            return
        number = max(number, LEAST)
        if not self._request(number):  # before any ends, or the cluster would put others in their place
            return
        running, tasks = self.running, self._tasks()
        if surplus := sorted(running, key=lambda one: tasks.get(one, 0))[: max(len(running) - number, 0)]:
            self._context.killExecutors(self._jvm.PythonUtils.toSeq(surplus))
            # With every executor that it is told to kill, Spark wants one fewer: one that dies later would not be
            # replaced.
            if not self._request(number):
                return
        self._ordered, self._highest = number, SlidingMaximum(HOLD_S)
        self._highest.add(number)

    def _request(self, number: int) -> bool:
        """Send the order; returns whether the cluster accepts it."""
        nowhere = self._jvm.PythonUtils.toScalaMap({})
        return bool(self._context.requestTotalExecutors(number, 0, nowhere))

    def _tasks(self) -> dict[str, int]:
        """Running tasks by executor; an executor that has just come or gone may be missing."""
        return {one.id(): one.activeTasks() for one in self._known()}

    def _known(self) -> tuple[Any, ...]:
        """Spark's summaries of the executors, and of the driver, which has no cores and no tasks."""
        return _to_tuple(self._context.statusStore().executorList(True))  # noqa: FBT003 - a call of Java's: active ones


class ExecutorNegotiator:
    """Asks for executors without waiting for them: they take seconds to start, and the control loop must go on.

    Those that have come by the next round count there. Only whole executors come and go, so more cores may come than
    were asked for.
    """

    def __init__(self, executors: Executors) -> None:
        self._executors = executors

    @property
    def held(self) -> int:
        """Cores of all executors that run."""
        return len(self._executors.running) * self._executors.cores

    def request(self, processors: int) -> int:
        """Ask for executors with so many more cores."""
        before = self.held
        self._executors.order_for_tasks(before + processors)
        return max(0, min(self.held - before, processors))

    def release(self, processors: int) -> int:
        """End the executors that the remaining cores do not need, and cancel those that have not come yet."""
        before = self.held
        self._executors.order_for_tasks(max(before - processors, 1))
        return max(0, before - self.held)


def _to_tuple(sequence: Any) -> tuple[Any, ...]:
    """The elements of a sequence in Scala."""
    return tuple(sequence.apply(place) for place in range(sequence.size()))
