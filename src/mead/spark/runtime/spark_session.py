"""Start and stop the Spark session of a pipeline."""

from __future__ import annotations

import os
import re
import signal
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mead.spark.runtime.fast_profile import FastProfile, known_settings
from mead.spark.runtime.java_machine import NO_ANSWER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"
"""All cores of this machine."""

TRIES = 4
"""Attempts of a task, as on a cluster. Local mode has one by default, and fails a query when a worker is killed."""

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Fixed at a query's first start. Small queries are fastest with one.
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.streaming.stopTimeout": "10s",
    # Time for a Python process to start. The default of 15 s is too short on a busy machine.
    "spark.python.authenticate.socketTimeout": "60s",
}

LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""The addresses of a local master. Spark's default is the machine's address in its network."""

ADDRESSES = ("SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME")
"""Environment variables by which a user names the address of Spark."""


def start_session(
    name: str, *, master: str | None = None, modules: Path | None = None, profile: FastProfile | None = None
) -> SparkSession:
    """Start a session of that name. Workers may import from the folder ``modules``.

    Without a master, the one of ``spark-submit`` is used, or else this machine. Other machines and users
    cannot connect to a local master.
    """
    from pyspark.sql import SparkSession  # noqa: PLC0415 - takes a second, and not every command needs it

    if modules is not None:
        known = os.environ.get("PYTHONPATH", "")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(modules.resolve()), known]))
    profile = profile or FastProfile()
    builder = SparkSession.builder.appName(name).config(map=dict(SETTINGS | profile.settings()))
    if master is not None or "PYSPARK_GATEWAY_PORT" not in os.environ:  # which spark-submit sets
        builder = builder.master(add_retries(master or LOCAL))
    on_interrupt = signal.getsignal(signal.SIGINT)
    with _ignore_hang_ups():
        spark = profile.start(builder.config(map=dict(closed_settings(known_settings(builder)))))
    if modules is not None:  # a Java machine that already ran does not see the change above
        environment = spark.sparkContext.environment
        known = environment.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(modules.resolve()), known]))
    if threading.current_thread() is threading.main_thread():
        # PySpark's handler of Ctrl-C cancels jobs. Our callers end them in order.
        signal.signal(signal.SIGINT, on_interrupt)
    return spark


@contextmanager
def _ignore_hang_ups() -> Iterator[None]:
    """Ignore hang-ups in the block, so that Java, started in it, outlives the terminal.

    A hang-up in the block is delivered after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def stop_session(spark: SparkSession) -> None:
    """Stop the session, even if Java has ended before."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning), suppress(*NO_ANSWER):
        spark.stop()


def add_retries(master: str) -> str:
    """Let a local master retry tasks, unless it names a number of attempts.

    >>> add_retries("local[2]"), add_retries("local"), add_retries("local[2,1]"), add_retries("spark://host:7077")
    ('local[2,4]', 'local[1,4]', 'local[2,1]', 'spark://host:7077')
    """
    threads = re.fullmatch(r"local(?:\[\s*(\*|\d+)\s*\])?", master)
    return f"local[{threads[1] or 1},{TRIES}]" if threads else master


def closed_settings(known: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return settings that close a local master to other machines and users.

    Settings of the user stay.

    Spark makes up the secret of a local master itself. On a cluster the user has to choose one.

    >>> closed_settings({"spark.master": "local[2,4]", "spark.driver.host": "10.0.0.7"}, {})
    {'spark.authenticate': 'true'}
    >>> closed_settings({"spark.master": "spark://host:7077"}, {})
    {}
    """
    if not re.match(r"local(\[|$)", known.get("spark.master", "")):
        return {}
    chosen = LOOPBACK.keys() & known.keys() or any(environment.get(variable) for variable in ADDRESSES)
    return ({} if chosen else LOOPBACK) | {"spark.authenticate": known.get("spark.authenticate", "true")}
