"""Stamps of a micro-batch as tasks note them and as they are put together again, against all of them at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from mead.arrays import IntArray
from mead.spark.log.stream_log import StreamLog
from mead.spark.pipeline.in_place import InPlaceOperator, InPlaceReader
from mead.spark.telemetry import probe
from mead.spark.telemetry.probe import MOST_STAMPS, OBSERVATION, RANKS, STAMP, Stamps, add_probe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_US = 1_700_000_000_000_000
STAMPS = st.lists(st.integers(0, 5_000_000), max_size=300).map(lambda s: START_US + np.array(s, dtype=np.int64))
NONE = np.empty(0, dtype=np.int64)


def exact_ranks_us(stamps_us: IntArray) -> IntArray:
    return np.percentile(stamps_us, 100 * RANKS, method="nearest").astype(np.int64)


def through_a_note(stamps: Stamps, folder: Path) -> Stamps:
    """As a task writes it and the driver reads it."""
    assert stamps.all_us is not None
    stamps.all_us.tofile(folder / "all")
    return Stamps.from_note(json.loads(json.dumps(stamps.note("all"))), folder)


@given(STAMPS)
def test_a_task_knows_number_mean_and_ranks_of_its_rows(stamps_us: IntArray) -> None:
    stamps = Stamps.of(stamps_us)
    assert stamps.rows == stamps_us.size
    assert stamps.all_us is not None
    assert np.array_equal(stamps.all_us, np.sort(stamps_us))
    if stamps_us.size:
        assert stamps.mean_us - START_US == pytest.approx((stamps_us - START_US).mean(), abs=0.5)
        spread = np.abs(np.searchsorted(np.sort(stamps_us), stamps.at_ranks_us) - RANKS * (stamps_us.size - 1))
        ties = np.array([np.sum(stamps_us == value) for value in stamps.at_ranks_us])
        assert (spread <= 0.5 + ties).all()
        assert (stamps.at_ranks_us[0], stamps.at_ranks_us[-1]) == (stamps_us.min(), stamps_us.max())


@settings(deadline=None)
@given(STAMPS)
def test_what_is_noted_is_what_was_known(tmp_path_factory: pytest.TempPathFactory, stamps_us: IntArray) -> None:
    folder, stamps = tmp_path_factory.getbasetemp(), Stamps.of(stamps_us)
    again = through_a_note(stamps, folder)
    assert again.rows == stamps.rows
    assert again.mean_us == pytest.approx(stamps.mean_us, rel=0, abs=0.5)
    assert np.array_equal(again.at_ranks_us, stamps.at_ranks_us)
    assert again.all_us is not None
    assert np.array_equal(again.all_us, np.sort(stamps_us))
    assert not (folder / "all").exists(), "read once"


def test_a_note_whose_file_is_gone_still_tells_the_rest(tmp_path: Path) -> None:
    noted = Stamps.from_note(Stamps.of(START_US + np.arange(100)).note("gone"), tmp_path)
    assert (noted.rows, noted.all_us) == (100, None)
    assert noted.at_ranks_us[-1] == START_US + 99


@given(st.lists(STAMPS, max_size=5))
def test_tasks_put_together_are_nearly_the_whole_micro_batch(parts: list[IntArray]) -> None:
    merged, whole = Stamps.merge([Stamps.of(part) for part in parts]), np.concatenate([NONE, *parts])
    assert merged.rows == whole.size
    if not whole.size:
        return
    assert merged.all_us is not None
    assert np.array_equal(merged.all_us, np.sort(whole))
    assert merged.mean_us - START_US == pytest.approx((whole - START_US).mean(), abs=0.5)
    assert (merged.at_ranks_us[0], merged.at_ranks_us[-1]) == (whole.min(), whole.max())
    assert (np.diff(merged.at_ranks_us) >= 0).all()


def test_ranks_of_tasks_put_together_are_near_those_of_all_rows() -> None:
    """Tasks have different numbers of rows, which arrived at different times."""
    rng = np.random.default_rng(1)
    parts = [START_US + rng.integers(first, first + 1_000_000, n) for first, n in ((0, 900), (500_000, 300))]
    merged, whole = Stamps.merge([Stamps.of(part) for part in parts]), np.concatenate(parts)
    found = np.searchsorted(np.sort(whole), merged.at_ranks_us) / whole.size
    assert np.abs(found - RANKS).max() <= 1 / 16


def test_more_stamps_than_are_kept_leave_their_ranks() -> None:
    few, many = Stamps.of(START_US + np.arange(10)), Stamps.of(START_US + np.arange(MOST_STAMPS + 1))
    assert many.all_us is None
    assert np.array_equal(many.at_ranks_us, exact_ranks_us(START_US + np.arange(MOST_STAMPS + 1)))
    assert Stamps.merge([few, many]).all_us is None


def test_what_spark_has_aggregated_is_read() -> None:
    values = {"rows": 4, "stamped": 3, "mean_us": 5.0, "at_ranks_us": [4] * 16 + [6], "all_us": [6, 5, 4]}
    stamps = Stamps.from_observation({OBSERVATION: values})
    assert (stamps.rows, stamps.stamped, stamps.mean_us) == (4, 3, 5.0)
    assert stamps.all_us is not None
    assert stamps.all_us.tolist() == [4, 5, 6]
    assert Stamps.from_observation({OBSERVATION: {**values, "all_us": None}}).all_us is None
    nothings: tuple[dict[str, Any], ...] = (
        {},
        {"another": {}},
        {OBSERVATION: {"rows": 0, "stamped": 0, "mean_us": None, "at_ranks_us": None}},
    )
    for nothing in nothings:
        assert Stamps.from_observation(nothing).rows == 0


@pytest.mark.parametrize(("rows", "most"), [(300, 300), (301, 300)])
def test_stamps_that_are_too_many_are_not_even_collected(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, rows: int, most: int
) -> None:
    from pyspark.sql import Observation

    monkeypatch.setattr(probe, "MOST_STAMPS", most)
    observation = Observation(OBSERVATION)
    monkeypatch.setattr(probe, "OBSERVATION", observation)
    stamps_us = START_US + 7919 * np.arange(rows) % 101  # with ties, in no order
    stream = spark.createDataFrame([(int(stamp),) for stamp in stamps_us], f"{STAMP} bigint").repartition(3)
    observed = add_probe(stream, every_stamp=True)
    assert observed.count() == rows
    seen = Stamps.from_observation({probe.OBSERVATION: observation.get})
    assert seen.rows == rows
    assert (seen.all_us is None) == (rows > most)
    if seen.all_us is not None:
        assert np.array_equal(seen.all_us, np.sort(stamps_us))
    plan = observed._jdf.queryExecution().analyzed().toString()
    assert "collect_list" not in plan, "whose memory has no bound"
    assert f"max_by({STAMP}" in plan


@pytest.mark.parametrize("some", [0, 40])
def test_rows_whose_stamp_is_null_are_counted_and_leave_the_others_as_they_are(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, some: int
) -> None:
    from pyspark.sql import Observation

    observation = Observation(OBSERVATION)
    monkeypatch.setattr(probe, "OBSERVATION", observation)
    stamps_us = (START_US + 7919 * np.arange(some)).tolist()
    rows = [(stamp,) for stamp in [*stamps_us, *[None] * 9]]
    add_probe(spark.createDataFrame(rows, f"{STAMP} bigint").repartition(2), every_stamp=True).count()
    seen, whole = (
        Stamps.from_observation({probe.OBSERVATION: observation.get}),
        Stamps.of(np.array(stamps_us, dtype=np.int64)),
    )
    assert (seen.rows, seen.stamped, seen.unstamped) == (some + 9, some, 9)
    assert seen.mean_us == pytest.approx(whole.mean_us)
    assert seen.all_us is not None
    assert whole.all_us is not None
    assert np.array_equal(seen.all_us, whole.all_us)


@given(st.lists(st.tuples(STAMPS, st.integers(0, 3)), max_size=4))
def test_rows_without_a_stamp_are_added_up_and_change_nothing_else(parts: list[tuple[IntArray, int]]) -> None:
    merged = Stamps.merge([Stamps.of(stamps_us, unstamped) for stamps_us, unstamped in parts])
    stamped = Stamps.merge([Stamps.of(stamps_us) for stamps_us, _ in parts])
    assert merged.unstamped == sum(unstamped for _, unstamped in parts)
    assert (merged.stamped, merged.mean_us) == (stamped.stamped, stamped.mean_us)
    assert np.array_equal(merged.at_ranks_us, stamped.at_ranks_us)
    assert json.loads(json.dumps(merged.note(None)))["unstamped"] == merged.unstamped


class Rows(DataSourceStreamReader):
    """Reads batches that it is given."""

    def __init__(self, *batches: pa.RecordBatch) -> None:
        self.batches = batches

    def read(self, partition: InputPartition) -> Iterator[Any]:
        del partition
        yield from self.batches


@pytest.mark.parametrize("stamps_us", [[START_US, None, START_US + 4], [None, None]], ids=["one", "all"])
def test_a_worker_notes_rows_without_a_stamp_and_goes_on(tmp_path: Path, stamps_us: list[int | None]) -> None:
    rows = pa.record_batch({STAMP: pa.array(stamps_us, pa.int64())})
    operator = InPlaceOperator(Rows(rows, rows), lambda batch: batch, StreamLog(tmp_path / "log"), rows.schema, None)
    (written,) = InPlaceReader(operator).read(InputPartition(None))
    (row,) = written.to_pylist()
    noted = Stamps.from_note(json.loads(row["note"]), tmp_path)
    nulls, there = stamps_us.count(None), [stamp for stamp in stamps_us if stamp is not None]
    assert (row["rows"], noted.rows, noted.unstamped) == (2 * len(stamps_us), 2 * len(stamps_us), 2 * nulls)
    assert noted.mean_us == pytest.approx(np.mean(there) if there else 0.0)
