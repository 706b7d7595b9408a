from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.spark.telemetry import tree_samples
from mead.spark.telemetry.probe import FOLLOWED, OBSERVATION, SAMPLED_ONE_OF, STAMP
from mead.spark.telemetry.tree_samples import TreeSample, WrittenRows, is_chosen


@given(st.integers(0, 10**15), st.sampled_from([1, 100, 1000, 10_000, 12_345, 1_000_000]))
def test_inputs_at_regular_intervals_are_followed_too(first_us: int, every_us: int) -> None:
    stamps_us = first_us + every_us * np.arange(10 * SAMPLED_ONE_OF)
    assert is_chosen(stamps_us).sum() == 10


def test_rows_are_collected_by_reader_and_without_those_that_are_not_followed() -> None:
    stamps = pa.array([7, 14, 7, 8, None, 21], pa.int64())
    to = pa.array([None, ["match"], ["match", "tell"], ["match"], None, []], pa.list_(pa.string()))
    rows = WrittenRows()
    rows.add(pa.record_batch({STAMP: stamps, "to": to}))
    rows.add(pa.record_batch({STAMP: stamps.slice(0, 1), "to": to.slice(0, 1)}))
    assert {reader: found.tolist() for reader, found in rows.stamps_us.items()} == {
        "": [7, 7],
        "match": [14, 7],
        "tell": [7],
    }
    plain = WrittenRows()
    plain.add(pa.record_batch({STAMP: stamps}))
    plain.add(pa.record_batch({"total": [1]}))
    assert {reader: found.tolist() for reader, found in plain.stamps_us.items()} == {"": [7, 14, 7, 21]}


def test_samples_travel_in_files_and_are_merged(tmp_path: Path) -> None:
    one = TreeSample(np.array([7, 7, 14]), {"": np.array([7]), "tell": np.array([], dtype=np.int64)})
    other = TreeSample(np.array([21]), {"tell": np.array([21, 21])})
    notes = [json.loads(json.dumps(sample.write(tmp_path))) for sample in (one, other, TreeSample())]
    assert notes[-1] is None
    found = TreeSample.merge([TreeSample.read(note, tmp_path) for note in notes])
    assert found.read_us.tolist() == [7, 7, 14, 21]
    assert {reader: rows.tolist() for reader, rows in found.written_us.items()} == {"": [7], "tell": [21, 21]}
    assert not list(tmp_path.iterdir())
    assert TreeSample.read(notes[0], tmp_path).read_us.size == 0, "files that are gone are not waited for"


def test_too_many_rows_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_samples, "MOST_COUNTS", 2)
    assert TreeSample(np.array([7, 14, 21])).write(tmp_path) is None


def test_an_input_of_which_very_much_comes_is_followed_too(tmp_path: Path) -> None:
    rows = np.repeat([7, 14], [300_000, 200_000])
    note = TreeSample(np.array([7, 14]), {"count": rows}).write(tmp_path)
    assert note is not None
    assert (tmp_path / note["file"]).stat().st_size < 100
    found = TreeSample.read(note, tmp_path)
    assert found.read_us.tolist() == [7, 14]
    assert np.bincount(found.written_us["count"])[[7, 14]].tolist() == [300_000, 200_000]


def test_inputs_that_spark_has_cut_off_are_not_counted_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_samples, "MOST_SAMPLED", 4)
    assert TreeSample.from_observation({OBSERVATION: {FOLLOWED: [14, 14, 7, 21]}}).read_us.tolist() == [14, 14, 21]


def test_spark_reports_the_rows_that_a_transformation_read() -> None:
    assert TreeSample.from_observation({OBSERVATION: {FOLLOWED: [7, 7]}}).read_us.tolist() == [7, 7]
    assert TreeSample.from_observation({OBSERVATION: {FOLLOWED: None}}).read_us.size == 0
    assert TreeSample.from_observation({}).read_us.size == 0
