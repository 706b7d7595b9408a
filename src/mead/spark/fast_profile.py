"""The fast micro-batch profile: what a small PySpark streaming query spends around its work, cut to a fraction.

>>> from mead.spark.fast_profile import FastProfile
>>> FastProfile(quiet_commits=False).settings()["spark.python.unix.domain.socket.enabled"]
'true'

Useful to any PySpark streaming application on one machine: this module needs nothing else of the package but the
worker daemon, which it names. What each part brings: docs/how-to/speed-up-micro-batches.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAEMON_MODULE = "mead.spark.worker_daemon"

CHECKPOINTS_BY_FILE_SYSTEM = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)
"""The only checkpoint manager that asks for ``fs.file.impl``; local disks get another one by default."""

QUIET_FILE_SYSTEM = "mead.QuietLocalFileSystem"

QUIET_FILE_SYSTEM_SOURCE = """
package mead;

public class QuietLocalFileSystem extends org.apache.hadoop.fs.LocalFileSystem {
    public QuietLocalFileSystem() {
        super(new Raw());
    }

    public static class Raw extends org.apache.hadoop.fs.RawLocalFileSystem {
        public void setPermission(
                org.apache.hadoop.fs.Path path, org.apache.hadoop.fs.permission.FsPermission permission) {
        }
    }
}
"""
"""Hadoop's local file system, but files keep the permissions that the user's umask gives them.

Without Hadoop's native library each new file costs a fork of ``chmod``. Writing and renaming are untouched.
"""


@dataclass(frozen=True)
class FastProfile:
    """Which parts are on. Each can be switched off alone; none changes a result."""

    frozen_workers: bool = True
    """Python workers are forked with their libraries loaded and out of the garbage collector's sight."""

    quiet_commits: bool = True
    """Checkpoints on local disks are written without a fork of ``chmod`` per file. Local masters only."""

    unix_sockets: bool = True
    """Spark and its Python workers talk through Unix domain sockets and not through TCP."""

    plain_planning: bool = True
    """No adaptive planning and no wait for a better place to run: on one machine both only take time."""

    def settings(self) -> dict[str, str]:
        """What has to be set before the session starts."""
        settings = {}
        if self.frozen_workers:
            settings["spark.python.daemon.module"] = DAEMON_MODULE
        if self.quiet_commits:
            settings["spark.sql.streaming.checkpointFileManagerClass"] = CHECKPOINTS_BY_FILE_SYSTEM
        if self.unix_sockets:
            settings["spark.python.unix.domain.socket.enabled"] = "true"
        if self.plain_planning:
            settings |= {"spark.sql.adaptive.enabled": "false", "spark.locality.wait": "0"}
        return settings

    def start(self, builder: SparkSession.Builder) -> SparkSession:
        """Start a session with this profile. What ``builder`` sets itself is overridden by the parts that are on."""
        spark = builder.config(map=dict(self.settings())).getOrCreate()
        if self.quiet_commits:
            quiet_local_file_system(spark)
        return spark


def quiet_local_file_system(spark: SparkSession) -> None:
    """Let Hadoop's ``file:`` paths be served by the quiet file system, compiled here by the compiler Spark ships.

    Executors in other processes would not know the class, so only a local master gets it; elsewhere nothing changes.
    Other schemes (hdfs, s3a, abfs, ...) are never touched.
    """
    context = spark.sparkContext
    if not context._jsc.sc().isLocal():  # noqa: SLF001 - the Python API does not tell
        return
    jvm: Any = context._jvm  # noqa: SLF001 - the only way to Hadoop's settings
    hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    if hadoop.get("fs.file.impl") == QUIET_FILE_SYSTEM:
        return
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(hadoop.getClassLoader())
    compiler.cook(QUIET_FILE_SYSTEM_SOURCE)
    hadoop.setClassLoader(compiler.getClassLoader())
    hadoop.set("fs.file.impl", QUIET_FILE_SYSTEM)
    served = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), hadoop)
    if served.getClass().getName() != QUIET_FILE_SYSTEM:  # one from before is cached, and would be used on
        hadoop.set("fs.file.impl.disable.cache", "true")
