"""The fast profile: its parts can be switched, workers are frozen, and quiet commits are still commits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import PATIENCE_S

from mead.spark.runtime.fast_profile import QUIET_FILES, FastProfile

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PARTS = [field.name for field in fields(FastProfile)]
KEEP_EXISTING = False  # "overwrite if possible" of Spark's checkpoint files
OFF = FastProfile(**dict.fromkeys(PARTS, False))


def test_nothing_is_set_when_all_parts_are_off() -> None:
    assert OFF.settings() == {}


def test_parts_do_not_get_in_each_others_way() -> None:
    alone = [FastProfile(**dict.fromkeys(PARTS, False) | {part: True}).settings() for part in PARTS]
    together: dict[str, list[str]] = {}
    for settings in alone:
        for setting, value in settings.items():
            together.setdefault(setting, []).append(value)
    assert [setting for setting, values in together.items() if len(values) > 1] == ["spark.driver.defaultJavaOptions"]
    assert {setting: " ".join(values) for setting, values in together.items()} == FastProfile().settings()


def test_profile_can_be_imported_alone() -> None:
    code = "import sys, mead.spark.runtime.fast_profile; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = run.stdout.split()
    assert [name for name in loaded if name.split(".")[0] == "mead"] == [
        "mead",
        "mead.spark",
        "mead.spark.runtime",
        "mead.spark.runtime.fast_profile",
        "mead.spark.runtime.java_code",
    ]
    assert not {"numpy", "pandas", "pyarrow", "pyspark"} & set(loaded)


def test_workers_are_forked_with_frozen_libraries(spark: SparkSession) -> None:
    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import gc
        import os

        import pyarrow as pa

        with open(f"/proc/{os.getppid()}/cmdline") as command:  # noqa: PTH123
            daemon = command.read().split("\0")
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"frozen": [gc.get_freeze_count()], "daemon": [" ".join(daemon)]})

    seen = spark.range(1).mapInArrow(look, "frozen long, daemon string").first()
    assert seen is not None
    assert "mead.spark.runtime.worker_daemon" in seen.daemon
    assert seen.frozen > 50_000  # pandas alone makes more objects than that


def test_python_processes_load_pyspark_compiled_and_not_from_sources_in_a_zip_file(spark: SparkSession) -> None:
    """Workers, and those that plan the reading of a Python source."""
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def read(self, partition: object) -> Iterator[tuple[str]]:
            import pyspark

            del partition
            yield (pyspark.__file__,)

    class Place(DataSource):
        @classmethod
        def name(cls) -> str:
            return "place"

        def schema(self) -> str:
            import pyspark

            return f"`{pyspark.__file__}` string"

        def reader(self, schema: object) -> Reader:
            del schema
            return Reader()

    import pyspark

    spark.dataSource.register(Place)
    rows = spark.read.format("place").load()
    assert rows.columns == [pyspark.__file__]
    assert [tuple(row) for row in rows.collect()] == [(pyspark.__file__,)]


class TestQuietCommits:
    @pytest.fixture
    def checkpoints(self, spark: SparkSession, tmp_path: Path) -> tuple[Any, Any]:
        """The manager of a checkpoint folder, as Spark makes it, and a path in it."""
        jvm: Any = spark.sparkContext._jvm
        folder = jvm.org.apache.hadoop.fs.Path(f"file://{tmp_path}/checkpoint")
        kind = jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
        manager = kind.create(folder, spark._jsparkSession.sessionState().newHadoopConf())
        manager.mkdirs(folder)
        return manager, jvm.org.apache.hadoop.fs.Path(folder, "1")

    def test_local_files_are_written_by_the_quiet_classes(self, spark: SparkSession) -> None:
        jvm: Any = spark.sparkContext._jvm
        hadoop = spark._jsparkSession.sessionState().newHadoopConf()
        root = jvm.java.net.URI("file:///")
        served = (
            jvm.org.apache.hadoop.fs.AbstractFileSystem.get(root, hadoop),
            jvm.org.apache.hadoop.fs.FileSystem.get(root, hadoop),
        )
        assert [files.getClass().getName() for files in served] == list(QUIET_FILES.values())

    def test_spark_keeps_its_own_checkpoint_manager(self, spark: SparkSession, checkpoints: tuple[Any, Any]) -> None:
        manager, _ = checkpoints
        assert manager.getClass().getSimpleName() == "FileContextBasedCheckpointFileManager"
        assert spark.conf.get("spark.sql.streaming.checkpointFileManagerClass", None) is None

    def test_files_and_links_look_as_in_hadoop(self, spark: SparkSession, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("four")
        (tmp_path / "link").symlink_to(tmp_path / "file")
        jvm: Any = spark.sparkContext._jvm
        stock = jvm.org.apache.hadoop.conf.Configuration()
        quiet = spark._jsparkSession.sessionState().newHadoopConf()
        for name in ("file", "link"):
            path = jvm.org.apache.hadoop.fs.Path(f"file://{tmp_path}/{name}")
            seen, expected = (
                jvm.org.apache.hadoop.fs.FileContext.getFileContext(path.toUri(), hadoop).getFileLinkStatus(path)
                for hadoop in (quiet, stock)
            )
            assert seen.toString() == expected.toString()

    def test_file_is_not_there_before_it_is_complete(self, checkpoints: tuple[Any, Any]) -> None:
        manager, path = checkpoints
        stream = manager.createAtomic(path, KEEP_EXISTING)
        stream.write(bytearray(b"half"))
        stream.flush()
        assert not manager.exists(path)
        stream.close()
        assert Path(path.toUri().getPath()).read_bytes() == b"half"

    def test_cancelled_file_leaves_nothing(self, checkpoints: tuple[Any, Any]) -> None:
        manager, path = checkpoints
        stream = manager.createAtomic(path, KEEP_EXISTING)
        stream.write(bytearray(b"half"))
        stream.cancel()
        assert [file.name for file in Path(path.getParent().toUri().getPath()).iterdir()] == []

    def test_second_writer_of_a_batch_is_refused(self, checkpoints: tuple[Any, Any]) -> None:
        manager, path = checkpoints
        first, second = manager.createAtomic(path, KEEP_EXISTING), manager.createAtomic(path, KEEP_EXISTING)
        first.write(bytearray(b"first"))
        first.close()
        second.write(bytearray(b"second"))
        with pytest.raises(Exception, match="already exists"):
            second.close()
        assert Path(path.toUri().getPath()).read_bytes() == b"first"

    def test_restarted_query_goes_on_where_it_stopped(self, spark: SparkSession, tmp_path: Path) -> None:
        files, results = tmp_path / "in", tmp_path / "out"
        for start in (0, 10):
            spark.range(start, start + 10).coalesce(1).write.mode("append").parquet(str(files))
            query = (
                spark.readStream.schema("id long")
                .parquet(str(files))
                .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start(str(results), format="parquet")
            )
            assert query.awaitTermination(int(PATIENCE_S))
        assert sorted(row.id for row in spark.read.parquet(str(results)).collect()) == list(range(20))
        assert {file.name for file in (tmp_path / "checkpoint/commits").glob("[0-9]*")} == {"0", "1"}
