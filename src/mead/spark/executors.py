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
"""Without an executor nothing would run, and nothing would tell that it does not."""


HOLD_S = 60.0
"""So long an executor is kept that is wanted no more. A new one takes seconds to start and to load what workers need,
and one that ends has its tasks run again: that must not happen with every change of a plan. Spark's own dynamic
allocation waits as long (``spark.dynamicAllocation.executorIdleTimeout``)."""


@dataclass
class Highest:
    """The highest of the values that were put in during the last so many seconds.

    >>> times_s = iter([0.0, 1.0, 60.5, 61.5])
    >>> highest = Highest(60.0, lambda: next(times_s))
    >>> [highest.of(value) for value in (3, 5, 2, 1)]
    [3, 5, 5, 2]
    """

    length_s: float
    now_s: Callable[[], float] = monotonic
    _falling: deque[tuple[float, int]] = field(default_factory=deque)
    """Those that may still become the highest, with their times; each is higher than those after it."""

    def of(self, value: int) -> int:
        """This one included."""
        now_s = self.now_s()
        while self._falling and self._falling[-1][1] <= value:
            self._falling.pop()
        self._falling.append((now_s, value))
        while self._falling[0][0] < now_s - self.length_s:
            self._falling.popleft()
        return self._falling[0][1]


class Executors:
    """Of one application. ``cores`` are those of an executor (``spark.executor.cores``)."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._context: Any = context._jsc.sc()  # noqa: SLF001 - Python has no interface for this
        self._jvm: Any = context._jvm  # noqa: SLF001 - as above
        self.cores = int(context.getConf().get("spark.executor.cores") or 1)
        self.supported = not self._context.isLocal()
        """Local masters have none: tasks run in the driver. False also where a cluster has refused."""
        self._highest = Highest(HOLD_S)
        self._asked = self._highest.of(len(self.running)) if self.supported else 0
        self._least = 0

    @property
    def running(self) -> tuple[str, ...]:
        """Their ids."""
        ids = self._context.getExecutorIds()
        return tuple(ids.apply(place) for place in range(ids.size()))

    def for_tasks(self, tasks: int) -> None:
        """As many as it takes to run so many tasks at the same time, until somebody names another number here."""
        self._least = ceil(tasks / self.cores)
        self.wanted(self._least)

    def follow(self, tasks: int) -> None:
        """The same for a plan that changes often: more at once, fewer when they have not been wanted for a while.

        Never fewer than ``for_tasks`` has named: those may be on their way, and the plan waits for them.
        """
        number = max(self._least, self._highest.of(ceil(tasks / self.cores)))
        if number != self._asked:
            self.wanted(number)

    def wanted(self, number: int) -> None:
        """So many from now on, as far as the cluster has them; never fewer than one.

        Those that end are the ones with the fewest tasks. Spark runs these again on the others: nothing is lost.
        """
        if not self.supported:
            return
        self._asked, self._highest = number, Highest(HOLD_S)
        self._highest.of(number)
        number, running = max(number, LEAST), self.running
        nowhere = self._jvm.PythonUtils.toScalaMap({})
        self.supported = bool(self._context.requestTotalExecutors(number, 0, nowhere))
        if len(running) > number:
            surplus = sorted(running, key=self._tasks().__getitem__)[: len(running) - number]
            self._context.killExecutors(self._jvm.PythonUtils.toSeq(surplus))

    def _tasks(self) -> dict[str, int]:
        """Running ones by executor."""
        store = self._context.statusStore().executorList(True)  # noqa: FBT003 - a call of Java's: active ones only
        known = [store.apply(place) for place in range(store.size())]
        return dict.fromkeys(self.running, 0) | {one.id(): one.activeTasks() for one in known}
