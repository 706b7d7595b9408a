"""A PySpark worker daemon whose workers start warm, collect garbage cheaply, and are born in their operator's cgroup.

Spark starts it where ``spark.python.daemon.module`` names it; workers are forked from it and are PySpark's own.
Stock workers run a full garbage collection after every task. Once numpy, pandas and pyarrow are loaded it walks
through a few hundred thousand objects that never become garbage, for tens of milliseconds. Here they are loaded
before the fork and frozen, so that a collection sees only what the task itself left behind.

Of this package it loads nothing but `mead.cpu.join` and `mead.spark.telemetry.complaints`, which need next to
nothing: it joins before anything else is loaded.
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
"""Directories of the cgroup that the workers belong to, separated as in PATH. Empty or missing: they stay put."""

PRELOADED = ("numpy", "pandas", "pyarrow", "pyspark.worker")
"""What nearly every worker loads. A missing library is no error: a worker that needs it says so itself."""


def join_cgroup(directories: str) -> None:
    """Move this process, and with it every process that it will fork.

    A failure to join stops no stream: the workers then run without their limit, and complain about it.
    """
    for directory in filter(None, directories.split(os.pathsep)):
        try:
            join_group(directory)
        except OSError as error:
            what = f"Python workers run without their CPU limit: cannot join {directory}: {error.strerror}"
            complain(what, os.environ.get(COMPLAINTS_VARIABLE, ""))


def preload() -> None:
    """Load the libraries once for all workers, and take what they made out of every later garbage collection."""
    for module in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    gc.collect()
    gc.freeze()


def main() -> None:
    """Prepare, then do what PySpark's daemon does."""
    join_cgroup(os.environ.get(CGROUP_VARIABLE, ""))
    preload()
    from pyspark import daemon  # noqa: PLC0415 - so that the join comes before anything is loaded

    daemon.worker = _ignore_broken_pipe(daemon.worker)
    daemon.manager()


def _ignore_broken_pipe(worker: Callable[..., int]) -> Callable[..., int]:
    """PySpark's worker, ending silently if Spark has hung up on it, as happens whenever a query is stopped."""

    def silent(*arguments: object) -> int:
        try:
            return worker(*arguments)
        except BrokenPipeError:
            return 1  # at 0, PySpark would give it the next task: of one who has gone, for ever

    return silent


if __name__ == "__main__":
    main()
