"""The Java machine of Spark's driver: its process, its CPU time, and its loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from mead.cpu import read_process

if TYPE_CHECKING:
    from pyspark import SparkContext

NO_ANSWER = (Py4JError, ConnectionError)
"""Errors of a call to Java after its process has ended. `Py4JError` is also raised for an exception in Java."""


def java_pid(context: SparkContext) -> int:
    """Return the process id of Spark's driver, which also runs the tasks in local mode."""
    jvm: Any = context._jvm  # noqa: SLF001 - Java alone knows
    return int(jvm.java.lang.ProcessHandle.current().pid())


def java_cpu_s(pid: int) -> float | None:
    """Return the CPU seconds of that process, without Python workers; None if unknown."""
    found = read_process(pid)
    return None if found is None else found.cpu_s


def spark_loss(context: SparkContext) -> str:
    """Return why Spark no longer works; empty as long as it does.

    Every call to a lost Spark fails with an error that does not name the cause. Call this when a call has failed.
    """
    try:
        java: Any = context._jsc  # noqa: SLF001 - None once it was stopped from Python
        stopped = java is None or bool(java.sc().isStopped())
    except NO_ANSWER:
        return "Java has ended"
    return "Spark has been stopped" if stopped else ""
