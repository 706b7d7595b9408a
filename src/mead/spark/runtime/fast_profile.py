"""The fast profile: cuts the time around a small micro-batch.

Useful to any PySpark streaming application on one machine: this module needs only the worker daemon, which it names,
and `java_code`. For the effect of each part see docs/how-to/speed-up-micro-batches.md.

>>> from mead.spark.runtime.fast_profile import FastProfile
>>> FastProfile(quick_compiler=False).settings()["spark.driver.defaultJavaOptions"]
'-XX:+UseSerialGC'
"""

from __future__ import annotations

import atexit
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
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

SOCKETS, SOCKET_FOLDER = "spark.python.unix.domain.socket.enabled", "spark.python.unix.domain.socket.dir"

LONGEST_FOLDER = 50
"""Longest folder, in bytes, under which a private one is made: the path of a Unix socket has at most 107 bytes, of
which 57 are the name of the private folder and Spark's name of the socket."""

_private_folders: list[Path] = []
"""Folders of sockets that this process has made."""


@dataclass(frozen=True)
class FastProfile:
    """The parts of the profile. Each can be switched off; none changes a result."""

    frozen_workers: bool = True
    """Fork Python workers with their libraries loaded and hidden from the garbage collector."""
    quiet_commits: bool = True
    """Write files on local disks, such as checkpoints, without starting programs. Local masters only."""
    unix_sockets: bool = True
    """Connect Spark and its Python workers by Unix domain sockets, in a folder that only this user may enter, instead
    of TCP. Local masters only."""
    plain_planning: bool = True
    """Switch off adaptive planning, code generation for every query, and waiting for data locality."""
    quick_compiler: bool = True
    """Compile Java code once, quickly, without optimizing it further for minutes."""
    simple_collector: bool = True
    """Collect Java's garbage by one thread instead of several beside the work."""
    compiled_pyspark: bool = True
    """Load PySpark as pip installed it, instead of compiling it at every start of a process."""

    def settings(self) -> dict[str, str]:
        """Return the settings for the session's builder. Three parts have none and come with `start`."""
        settings = {}
        if self.frozen_workers:
            settings["spark.python.daemon.module"] = DAEMON_MODULE
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
        builder = builder.config(map=dict(self.settings()))
        private = self.unix_sockets and use_private_sockets(builder)
        spark = builder.getOrCreate()
        if private:
            remove_with_java(spark, _private_folders[-1])
        if self.compiled_pyspark:
            load_compiled_pyspark(spark)
        if self.quiet_commits:
            quiet_local_files(spark)
        return spark


def known_settings(builder: SparkSession.Builder) -> dict[str, str]:
    """Return the settings of a builder, ``spark-submit`` and ``spark-defaults.conf``.

    Starts Java, which reads them.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - takes a second

    options: dict[str, str] = builder._options  # noqa: SLF001 - the only way to read them
    # Java takes some settings, such as its memory, only when it starts.
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).setAll(list(options.items())))  # noqa: SLF001
    return dict(SparkConf().getAll()) | options


def use_private_sockets(builder: SparkSession.Builder) -> bool:
    """Let a local master use Unix sockets in a private folder. Returns whether it does.

    A Unix socket has no secret: all who may enter its folder and write to it may send code to a worker. Other machines
    would not have the folder.
    """
    known = known_settings(builder)
    if not known.get("spark.master", "").startswith("local"):
        return False
    builder.config(map={SOCKETS: "true", SOCKET_FOLDER: str(private_folder())})
    return True


def private_folder() -> Path:
    """Return a folder that only this user may enter. It is removed when this process or its Java ends."""
    if not _private_folders or not _private_folders[-1].is_dir():  # an earlier Java removed it
        place = gettempdir() if len(os.fsencode(gettempdir())) <= LONGEST_FOLDER else "/tmp"  # noqa: S108 - a new folder
        _private_folders.append(Path(mkdtemp(prefix="mead-", dir=place)))
        atexit.register(rmtree, _private_folders[-1], ignore_errors=True)
    return _private_folders[-1]


def remove_with_java(spark: SparkSession, folder: Path) -> None:
    """Let Java remove a folder when it ends: it notices if this process is killed."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark's hook is in Java
    jvm.org.apache.spark.util.ShutdownHookManager.registerShutdownDeleteDir(jvm.java.io.File(str(folder)))


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
