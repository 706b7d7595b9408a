"""The processors that an application may use: those of this machine, or the most of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mead.cpu import count_cpus
from mead.values import Capacity

if TYPE_CHECKING:
    from pyspark import SparkContext

LOCAL = "local"
"""The beginning of a master on this machine: ``local[4]``, and ``local-cluster[2,1,1024]`` with executors."""


def count_cores(context: SparkContext) -> int:
    """Return the cores that the application can use. A local master may name more than the machine has."""
    cores = context.defaultParallelism
    return min(cores, count_cpus()) if (context.master or "").startswith(LOCAL) else cores


def find_capacity(context: SparkContext) -> Capacity | None:
    """Return the most processors that the application can get; None if only the cluster manager knows.

    On a cluster the settings limit them: ``spark.cores.max``, or the most executors of dynamic allocation.
    """
    master, settings = context.master or "", context.getConf()
    if master.partition("[")[0] == LOCAL:
        return Capacity(count_cores(context))
    if master.startswith(LOCAL):
        workers, cores = master.partition("[")[2].split(",")[:2]
        return Capacity(min(int(workers) * int(cores), count_cpus()), divisible=False)
    most, executors = settings.get("spark.cores.max"), settings.get("spark.dynamicAllocation.maxExecutors")
    if most is None and executors is not None and settings.get("spark.dynamicAllocation.enabled") == "true":
        most = str(int(executors) * int(settings.get("spark.executor.cores") or 1))
    return None if most is None else Capacity(int(most), divisible=False)
