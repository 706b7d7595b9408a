"""Python workers that belong to one operator alone.

All queries of an application share one pool of Python workers, unless their functions were built under different
environments: PySpark keys its pools by the environment variables that a function takes along from the Spark context
at the moment it is built. So an operator whose functions are built under a tag of its own has its own daemon and
workers, and what is in the tag reaches them: the name of their cgroup.
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
    """Python functions that are used in a query inside this block run in workers of this operator's own.

    ``cgroup`` is what `worker_daemon` joins: directories separated as in PATH; ``complaints`` is a folder in which it
    puts down why it cannot. Afterwards the Spark context's environment is as before. A Python data source reads in the
    workers of the block in which it was registered, so an operator that reads one registers it, under a name of its
    own, in its block.

    The environment is one for all threads of the application: build operators one after the other.
    """
    environment = spark.sparkContext.environment
    # Without a group a daemon has nothing to say, and those of runs one after the other may be the same.
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
    """Processes in whose environment this cgroup stands: they were started in such a block, for this operator.

    Not all of them are in the group. What plans the reading of a Python source runs in daemons of PySpark's own, which
    know nothing of groups; each lives as long as Spark does.
    """
    tag = f"{CGROUP_VARIABLE}={cgroup}".encode()
    for process in PROCESSES.glob("[0-9]*") if cgroup else ():
        with suppress(OSError):  # it has ended
            if tag in (process / "environ").read_bytes().split(b"\0"):
                yield int(process.name)
