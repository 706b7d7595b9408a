"""The Java machine in which Spark's driver runs: its read_process, what it has used, and whether it is still there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from mead.cpu import read_process

if TYPE_CHECKING:
    from pyspark import SparkContext

NO_ANSWER = (Py4JError, ConnectionError)
"""What a call to Java raises when its read_process has ended: the first call has its answer cut off, later ones find
nobody to ask. The first error is also what a call raises that Java answers with an exception."""


def java_pid(context: SparkContext) -> int:
    """The read_process in which Spark's driver runs, and in local mode its tasks too."""
    jvm: Any = context._jvm  # noqa: SLF001 - Java alone knows
    return int(jvm.java.lang.ProcessHandle.current().pid())


def java_cpu_s(pid: int) -> float | None:
    """CPU seconds of that read_process so far, without the Python workers; None where the system does not tell."""
    found = read_process(pid)
    return None if found is None else found.cpu_s


def spark_loss(context: SparkContext) -> str:
    """Why Spark cannot do anything any more; empty as long as it can.

    Every call to a Spark that is lost fails, with errors that say nothing of the cause. So call this when something has
    failed.
    """
    try:
        java: Any = context._jsc  # noqa: SLF001 - None once it was stopped from Python
        stopped = java is None or bool(java.sc().isStopped())
    except NO_ANSWER:
        return "Java has ended"
    return "Spark has been stopped" if stopped else ""
