"""The fast profile: cuts the time around a small micro-batch.

Useful to any PySpark streaming application on one machine: this module needs only the worker daemon, which it names,
and `java_code`. For the effect of each part see docs/how-to/speed-up-micro-batches.md.

>>> from mead.spark.runtime.fast_profile import FastProfile
>>> FastProfile(quiet_commits=False).settings()["spark.python.unix.domain.socket.enabled"]
'true'

Useful to any PySpark streaming application on one machine: this module needs nothing else of the package but the
worker daemon, which it names, and a few lines around Spark's compiler. What each part brings:
docs/how-to/speed-up-micro-batches.md.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mead.spark.runtime.java_code import compile_classes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAEMON_MODULE = "mead.spark.runtime.worker_daemon"

QUIET_FILES = {"fs.AbstractFileSystem.file.impl": "mead.QuietLocalFs", "fs.file.impl": "mead.QuietLocalFileSystem"}
"""Hadoop's two interfaces to local files: Spark writes checkpoints through the first, and data through the second."""

QUIET_FILES_SOURCE = Path(__file__).with_name("QuietLocalFiles.java")


QUICK_COMPILER = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""With the first alone Java keeps 48 MB of compiled code, which Spark fills in ten minutes; after that nothing more is
compiled, and micro-batches get slower. With both it keeps as much as without either."""


@dataclass(frozen=True)
class FastProfile:
    """The parts of the profile. Each can be switched off; none changes a result."""

    frozen_workers: bool = True
    """Fork Python workers with their libraries loaded and hidden from the garbage collector."""
    quiet_commits: bool = True
    """Write files on local disks, such as checkpoints, without starting programs. Local masters only."""
    unix_sockets: bool = True
    """Connect Spark and its Python workers by Unix domain sockets instead of TCP."""
    plain_planning: bool = True
    """Switch off adaptive planning, code generation for every query, and waiting for data locality."""
    quick_compiler: bool = True
    """Compile Java code once, quickly, without optimizing it further for minutes."""
    simple_collector: bool = True
    """Collect Java's garbage by one thread instead of several beside the work."""
    compiled_pyspark: bool = True
    """Load PySpark as pip installed it, instead of compiling it at every start of a process."""

    def settings(self) -> dict[str, str]:
        """Return the settings for the session's builder. Two parts have none and come with `start`."""
        settings = {}
        if self.frozen_workers:
            settings["spark.python.daemon.module"] = DAEMON_MODULE
        if self.unix_sockets:
            settings["spark.python.unix.domain.socket.enabled"] = "true"
        if self.plain_planning:
            settings |= {
                "spark.sql.adaptive.enabled": "false",
                "spark.sql.codegen.wholeStage": "false",
                "spark.locality.wait": "0",
            }
        java = [*QUICK_COMPILER] * self.quick_compiler + ["-XX:+UseSerialGC"] * self.simple_collector
        if java:
            settings["spark.driver.defaultJavaOptions"] = " ".join(java)
        return settings

    def start(self, builder: SparkSession.Builder) -> SparkSession:
        """Start a session with this profile. Active parts override settings of ``builder``.

        Python workers run in the interpreter of the application, unless PYSPARK_PYTHON names another. Spark's default
        is any ``python3``, which may not have this package.
        """
        if self.frozen_workers:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        spark = builder.config(map=dict(self.settings())).getOrCreate()
        if self.compiled_pyspark:
            load_compiled_pyspark(spark)
        if self.quiet_commits:
            quiet_local_files(spark)
        return spark


def load_compiled_pyspark(spark: SparkSession) -> None:
    """Start every Python process of this application with `python_start/sitecustomize.py`."""
    environment, folder = spark.sparkContext.environment, str(Path(__file__).with_name("python_start"))
    places = environment.get("PYTHONPATH", "").split(os.pathsep)
    if folder not in places:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [*places, folder]))


def quiet_local_files(spark: SparkSession) -> None:
    """Let Hadoop write local files with the quiet classes, compiled by the compiler that Spark ships.

    Only a local master gets them: executors in other processes would not know the classes. Other schemes (hdfs, s3a,
    abfs, ...) are not touched.
    """
    context = spark.sparkContext
    if not context._jsc.sc().isLocal():  # noqa: SLF001 - the Python API does not tell
        return
    jvm: Any = context._jvm  # noqa: SLF001 - the only way to Hadoop's settings
    hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    if any(hadoop.get(setting) == name for setting, name in QUIET_FILES.items()):
        return
    hadoop.setClassLoader(compile_classes(jvm, QUIET_FILES_SOURCE, hadoop.getClassLoader()))
    for setting, name in QUIET_FILES.items():
        hadoop.set(setting, name)
    served = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), hadoop)
    if served.getClass().getName() != QUIET_FILES["fs.file.impl"]:  # an earlier one is cached
        hadoop.set("fs.file.impl.disable.cache", "true")
