"""A trace characterized by Spark is the trace characterized in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.paths import DATA

from mead.queueing import MAP, Characteristics, acf, hurst, idc, lags_of, scv, spans_of
from mead.spark.trace_statistics import characterize, divide_pieces
from mead.workload import Survey, Trace, TraceError, read_trace, write_trace
from mead.workload.formats import npy, text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BELLCORE = DATA / "bc-paug89.parquet"


@pytest.fixture(scope="module")
def trace() -> Trace:
    """More arrivals than the longest lag, and not many more: every task needs pieces of several before it."""
    iats_s = MAP.two_state(500.0, idc=50.0).sample(30_000, np.random.default_rng(1))
    return Trace.from_timestamps_us(Trace.from_iats_s(iats_s).timestamps_us + 1_754_000_000_123_457)


@pytest.fixture(autouse=True)
def few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with several pieces: that is what a large file looks like to them."""
    monkeypatch.setattr("mead.spark.trace_statistics.TASKS_PER_CORE", 2)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files were large."""
    monkeypatch.setattr(text, "BLOCK_BYTES", 50_000)
    monkeypatch.setattr(npy, "PIECE_ROWS", 1_700)


def assert_as_in_memory(found: Characteristics, trace: Trace) -> None:
    iats_s = trace.iats_s
    lags, spans_s = lags_of(iats_s.size), spans_of(iats_s.size, trace.duration_s)
    assert found.events == len(trace)
    assert found.duration_s == pytest.approx(trace.duration_s, rel=1e-9)
    assert found.rate_per_s == pytest.approx(trace.rate_per_s, rel=1e-9)
    assert found.scv == pytest.approx(scv(iats_s), rel=1e-9)
    assert found.acf == pytest.approx(dict(zip(lags, acf(iats_s, lags).tolist(), strict=True)), rel=1e-9)
    assert found.idc == pytest.approx(dict(zip(spans_s, idc(iats_s, spans_s).tolist(), strict=True)), rel=1e-9)
    in_memory = hurst(iats_s)
    assert found.hurst is not None
    assert in_memory is not None
    assert found.hurst.value == pytest.approx(in_memory.value, rel=1e-9)
    assert found.hurst.error == pytest.approx(in_memory.error, rel=1e-9)
    assert found.reasons == {}


def test_bellcore_is_as_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    if not BELLCORE.exists():
        pytest.skip(f"the Bellcore trace is not at {BELLCORE}")
    trace = read_trace(BELLCORE)
    assert_as_in_memory(characterize(spark, BELLCORE), trace)
    # The same in many row groups of a folder of files, as Spark would write it.
    folder = tmp_path / "bellcore.parquet"
    folder.mkdir()
    for i, stamps_us in enumerate(np.array_split(trace.timestamps_us, 3)):
        pq.write_table(
            pa.table({"timestamp_us": stamps_us}), folder / f"part-0000{i}.zstd.parquet", row_group_size=23_456
        )
    assert_as_in_memory(characterize(spark, folder), trace)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("iat", [False, True], ids=["stamps", "iats"])
@pytest.mark.parametrize("extension", [".parquet", ".csv", ".npy"])
def test_every_format_is_as_in_memory(
    extension: str,
    iat: bool,  # noqa: FBT001
    trace: Trace,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    path = tmp_path / f"t{extension}"
    write_trace(trace, path, iat=iat)
    if extension == ".parquet":
        pq.write_table(pq.read_table(path), path, row_group_size=1_100)
    assert_as_in_memory(characterize(spark, path, iat=iat), read_trace(path, iat=iat))


@pytest.mark.usefixtures("small_pieces")
def test_seconds_between_microseconds_are_as_in_memory(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.npy"
    np.save(path, np.cumsum(np.random.default_rng(1).standard_exponential(20_000)) / 300)
    assert_as_in_memory(characterize(spark, path), read_trace(path))


@pytest.mark.parametrize("numbers", ["microseconds", "seconds"])
def test_spark_sorts_on_request(
    numbers: str, trace: Trace, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npy, "PIECE_ROWS", 8_000)
    path, scratch = tmp_path / "t.npy", tmp_path / "scratch"
    scratch.mkdir()
    stamps = trace.timestamps_us if numbers == "microseconds" else trace.timestamps_us / 1e6
    np.save(path, np.random.default_rng(1).permutation(stamps))
    with pytest.raises(TraceError, match=r"t.npy: row \d+: time stamp .* is before the one above it .* use --sort"):
        characterize(spark, path)
    assert_as_in_memory(characterize(spark, path, sort=True, scratch=scratch), trace)
    assert not list(scratch.iterdir())


@pytest.mark.usefixtures("small_pieces")
def test_complaints_name_the_row_in_the_whole_file(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{i}.5" for i in range(20_000)]
    for row, wrong, said in (
        (17_001, "later", "row 17001: 'later' is not a number"),
        (15_001, "-3", "row 15001: time stamp -3.0 s is negative"),
        (12_001, "7.5", r"row 12001: time stamp 7.5 s is before the one above it \(11999.5 s\)"),
    ):
        path.write_text("timestamp_s\n" + "\n".join([*rows[: row - 1], wrong, *rows[row:]]))
        with pytest.raises(TraceError, match=f"t.csv: {said}"):
            characterize(spark, path)


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        ([], {}, "no arrivals; a trace needs at least two"),
        ([5], {}, "only one arrival; a trace needs at least two"),
        ([], {"iat": True}, "no inter-arrival times; a trace needs at least one"),
        ([1, 2], {"iat": True, "sort": True}, "inter-arrival times have no order to repair"),
    ],
)
def test_too_little_is_a_complaint(
    values: Sequence[int], options: dict[str, Any], said: str, spark: SparkSession, tmp_path: Path
) -> None:
    np.save(tmp_path / "t.npy", np.array(values, dtype=np.int64))
    with pytest.raises(TraceError, match=rf"t.npy: {said}"):
        characterize(spark, tmp_path / "t.npy", **options)


def test_regular_arrivals_have_no_correlation(spark: SparkSession, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.arange(5_000) * 100_000)
    found = characterize(spark, tmp_path / "t.npy")
    assert found.scv == 0.0
    assert found.rate_per_s == pytest.approx(10.0)
    assert set(found.acf.values()) == {None}
    assert set(found.reasons) == {"acf", "hurst"}


def test_progress_is_told(spark: SparkSession, tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.arange(100))
    told: list[tuple[str, float]] = []
    characterize(spark, tmp_path / "t.npy", progress=lambda doing, done: told.append((doing, done)))
    assert [(doing, done) for doing, done in told if done == 1.0] == [("checking", 1.0), ("adding up", 1.0)]


def test_a_task_gets_the_pieces_that_hold_the_rows_before_it() -> None:
    pieces = [npy.Rows(Path("t.npy"), 10 * i, 10 * i + 10) for i in range(6)]
    surveys = [Survey(rows=10, total_s=1.0) for _ in pieces]
    parts = divide_pieces(pieces, surveys, tasks=3, rows_before=11)
    assert [part.pieces for part in parts] == [pieces[:2], pieces[2:4], pieces[4:]]
    assert [part.before for part in parts] == [[], pieces[:2], pieces[2:4]]
    assert [part.passed_s for part in parts] == [0.0, 2.0, 4.0]
