"""Workers of one operator: its own processes, with its tag in their environment, in its cgroup."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.waiting import PATIENCE_S

from mead.spark.runtime.worker_daemon import CGROUP_VARIABLE, _ignore_broken_pipe, join_cgroup
from mead.spark.runtime.workers import OPERATOR_VARIABLE, operator_workers
from mead.spark.telemetry.complaints import Complaints

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Row, SparkSession

CPU_CONTROLLER = Path("/sys/fs/cgroup/cpu")


def workers_of(spark: SparkSession, operator: str, folder: Path, cgroup: str = "", complaints: str = "") -> list[Row]:
    """Who ran the Python function of a streaming query: one row per task."""

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        from pathlib import Path

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {
                    "pid": [os.getpid()],
                    "daemon": [os.getppid()],
                    "operator": [os.environ.get("MEAD_OPERATOR")],
                    "cgroup": [os.environ.get("MEAD_CGROUP")],
                    "groups": [Path("/proc/self/cgroup").read_text()],
                }
            )

    spark.range(0, 100, 1, 2).write.parquet(str(folder / "in"))
    schema = "pid long, daemon long, operator string, cgroup string, groups string"
    with operator_workers(spark, operator, cgroup, complaints):
        query = (
            spark.readStream.schema("id long")
            .parquet(str(folder / "in"))
            .mapInArrow(look, schema)
            .writeStream.option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(folder / "out"), format="parquet")
        )
    assert query.awaitTermination(int(PATIENCE_S))
    return spark.read.schema(schema).parquet(str(folder / "out")).collect()


@contextmanager
def cpu_group(name: str) -> Iterator[Path]:
    """A real cgroup. Processes that are still in it move back, since only an empty one can be removed."""
    group = CPU_CONTROLLER / name
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"cannot make a cgroup (v1, cpu) here: {error.strerror}")
    try:
        yield group
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (CPU_CONTROLLER / "cgroup.procs").write_text(pid)
        group.rmdir()


def test_two_queries_have_their_own_daemons_and_workers(spark: SparkSession, tmp_path: Path) -> None:
    parser = workers_of(spark, "parser", tmp_path / "parser")
    matcher = workers_of(spark, "matcher", tmp_path / "matcher")
    assert {row.operator for row in parser} == {"parser"}
    assert {row.operator for row in matcher} == {"matcher"}
    assert not {row.pid for row in parser} & {row.pid for row in matcher}
    assert not {row.daemon for row in parser} & {row.daemon for row in matcher}


def test_workers_are_born_in_their_operators_cgroup(spark: SparkSession, tmp_path: Path) -> None:
    with cpu_group(f"mead-test-{os.getpid()}") as group:
        for row in workers_of(spark, "limited", tmp_path, cgroup=str(group)):
            assert row.cgroup == str(group)
            assert f"/{group.name}\n" in row.groups
            assert str(row.daemon) in (group / "cgroup.procs").read_text().split()


def test_workers_that_cannot_join_their_cgroup_work_all_the_same_and_say_why(
    spark: SparkSession, tmp_path: Path
) -> None:
    complaints = Complaints(tmp_path / "complaints")
    complaints.open()
    gone = tmp_path / "gone"
    assert workers_of(spark, "unlimited", tmp_path / "query", str(gone), str(complaints.folder))
    assert complaints.new() == [
        f"Python workers run without their CPU limit: cannot join {gone}: No such file or directory"
    ]


def test_source_belongs_to_the_operator_that_registered_it(spark: SparkSession) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def read(self, partition: object) -> Iterator[tuple[str | None]]:
            import os

            del partition
            yield (os.environ.get("MEAD_OPERATOR"),)

    class Environment(DataSource):
        @classmethod
        def name(cls) -> str:
            return "environment"

        def schema(self) -> str:
            return "operator string"

        def reader(self, schema: object) -> Reader:
            del schema
            return Reader()

    with operator_workers(spark, "first"):
        spark.dataSource.register(Environment)
    with operator_workers(spark, "second"):
        seen = spark.read.format("environment").load().first()
    assert seen is not None
    assert seen.operator == "first"


def test_environment_is_restored(spark: SparkSession) -> None:
    environment = spark.sparkContext.environment
    before = dict(environment)
    with operator_workers(spark, "outer", "/outer"):
        with suppress(RuntimeError), operator_workers(spark, "inner"):
            assert environment[OPERATOR_VARIABLE] == "inner"
            assert environment[CGROUP_VARIABLE] == ""
            raise RuntimeError("building the query failed")
        assert environment[OPERATOR_VARIABLE] == "outer"
        assert environment[CGROUP_VARIABLE] == "/outer"
    assert environment == before


def test_daemon_joins_every_directory(tmp_path: Path) -> None:
    groups = [tmp_path / "cpu", tmp_path / "cpuacct"]
    for group in groups:
        group.mkdir()
        (group / "cgroup.procs").touch()
    join_cgroup(os.pathsep.join(map(str, groups)))
    assert [(group / "cgroup.procs").read_text() for group in groups] == [str(os.getpid())] * 2


def test_missing_cgroup_is_told_and_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cgroup.procs").touch()
    join_cgroup(f"{tmp_path / 'gone'}{os.pathsep}{tmp_path}")
    assert (tmp_path / "cgroup.procs").read_text() == str(os.getpid())  # the others are joined still
    output = capsys.readouterr()
    assert output.out == ""  # the daemon's protocol with Spark
    assert "without their CPU limit" in output.err
    assert output.err.count("\n") == 1
    assert str(tmp_path / "gone") in output.err


def test_no_cgroup_is_nothing_to_join(capsys: pytest.CaptureFixture[str]) -> None:
    join_cgroup("")
    assert capsys.readouterr() == ("", "")


def test_a_worker_whose_spark_has_gone_ends() -> None:
    def left_alone() -> int:
        raise BrokenPipeError

    assert _ignore_broken_pipe(left_alone)() != 0  # at 0 the daemon calls it again, and again
    assert _ignore_broken_pipe(lambda: 0)() == 0
