"""How many executors an application has, where its cluster starts and ends them while it runs.

A replica is a task, and a task takes a core of an executor. So an allocation needs as many cores as it has replicas,
in as many executors as hold them.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST = 1
"""Without an executor nothing would run, and nothing would tell that it does not."""


class Executors:
    """Of one application. ``cores`` are those of an executor (``spark.executor.cores``)."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._context: Any = context._jsc.sc()  # noqa: SLF001 - Python has no interface for this
        self._jvm: Any = context._jvm  # noqa: SLF001 - as above
        self.cores = int(context.getConf().get("spark.executor.cores") or 1)
        self.supported = not self._context.isLocal()
        """Local masters have none: tasks run in the driver. False also where a cluster has refused."""

    @property
    def running(self) -> tuple[str, ...]:
        """Their ids."""
        ids = self._context.getExecutorIds()
        return tuple(ids.apply(place) for place in range(ids.size()))

    def for_tasks(self, tasks: int) -> None:
        """As many as it takes to run so many tasks at the same time."""
        self.wanted(ceil(tasks / self.cores))

    def wanted(self, number: int) -> None:
        """So many from now on, as far as the cluster has them; never fewer than one.

        Those that end are the ones with the fewest tasks. Spark runs these again on the others: nothing is lost.
        """
        if not self.supported:
            return
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
