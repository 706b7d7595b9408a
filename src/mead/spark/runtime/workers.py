"""Python workers that belong to one operator.

All queries of an application share one pool of Python workers, unless their functions were built under different
environments: PySpark keys its pools by the environment variables of the Spark context at that moment. So an operator
whose functions are built under its own tag has its own daemon and workers, and the tag tells them the name of their
cgroup.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mead.cpu import PROCESSES
from mead.spark.runtime.worker_daemon import CGROUP_VARIABLE
from mead.spark.telemetry.complaints import COMPLAINTS_VARIABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPERATOR_VARIABLE = "MEAD_OPERATOR"
"""The operator's name in the environment of its workers."""


@contextmanager
def operator_workers(spark: SparkSession, operator: str, cgroup: str = "", complaints: str = "") -> Iterator[None]:
    """Let Python functions of queries built in the block run in this operator's own workers.

    ``cgroup`` is the group that `worker_daemon` joins: folders separated as in PATH. ``complaints`` is the folder in
    which it reports that it cannot. Afterwards the Spark context's environment is as before. A Python data source reads
    in the workers of the block in which it was registered, so an operator registers its source in its block, under its
    own name.

    All threads of the application share the environment: build operators one after the other.
    """
    environment = spark.sparkContext.environment
    # Without a group a daemon does not complain, and successive runs may share it.
    tag = {OPERATOR_VARIABLE: operator, CGROUP_VARIABLE: cgroup, COMPLAINTS_VARIABLE: complaints if cgroup else ""}
    before = {variable: environment[variable] for variable in tag if variable in environment}
    environment.update(tag)
    try:
        yield
    finally:
        for variable in tag:
            environment.pop(variable, None)
        environment.update(before)


def find_processes(cgroup: str) -> Iterator[int]:
    """Yield processes with this cgroup in their environment: they were started for this operator.

    Not all of them are in the group. PySpark plans the reading of a Python source in its own daemons, which do not join
    groups and live as long as Spark.
    """
    tag = f"{CGROUP_VARIABLE}={cgroup}".encode()
    for process in PROCESSES.glob("[0-9]*") if cgroup else ():
        with suppress(OSError):  # it has ended
            if tag in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)
