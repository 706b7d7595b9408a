"""A PySpark worker daemon with preloaded libraries and a cgroup.

Spark starts it by ``spark.python.daemon.module``; it forks PySpark's own workers. Stock workers run a full garbage
collection after every task. Once numpy, pandas and pyarrow are loaded, it walks through a few hundred thousand objects
that never become garbage, for tens of milliseconds. Here they are loaded before the fork and frozen, so that a
collection sees only the objects of the task.

Of this package it loads only `mead.cpu.join` and `mead.spark.telemetry.complaints`, because it joins the cgroup before
anything else is loaded.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from collections.abc import Callable

from mead.cpu.join import join_group
from mead.spark.telemetry.complaints import COMPLAINTS_VARIABLE, complain

CGROUP_VARIABLE = "MEAD_CGROUP"
"""Folders of the workers' cgroup, separated as in PATH. Empty or missing: they join none."""

PRELOADED = ("numpy", "pandas", "pyarrow", "pyspark.worker")
"""Libraries that nearly every worker loads. A missing one is no error: a worker that needs it reports it."""


def join_cgroup(directories: str) -> None:
    """Move this process, and all processes that it will fork.

    If it cannot join, the workers run without their limit and complain.
    """
    for directory in filter(None, directories.split(os.pathsep)):
        try:
            join_group(directory)
        except OSError as error:
            what = f"Python workers run without their CPU limit: cannot join {directory}: {error.strerror}"
            complain(what, os.environ.get(COMPLAINTS_VARIABLE, ""))


def preload() -> None:
    """Load the libraries once for all workers, and freeze their objects for the garbage collector."""
    for module in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()


def main() -> None:
    """Prepare, then run PySpark's daemon."""
    join_cgroup(os.environ.get(CGROUP_VARIABLE, ""))
    preload()
    from pyspark import daemon  # noqa: PLC0415 - so that the join comes before anything is loaded

    daemon.worker = _ignore_broken_pipe(daemon.worker)
    daemon.manager()


def _ignore_broken_pipe(worker: Callable[..., int]) -> Callable[..., int]:
    """Return PySpark's worker, ending silently if Spark hung up, as it does when a query is stopped."""

    def silent(*arguments: object) -> int:
        try:
            return worker(*arguments)
        except BrokenPipeError:
            return 1  # at 0, PySpark would reuse the worker

    return silent


if __name__ == "__main__":
    main()
