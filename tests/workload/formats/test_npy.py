from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mead.workload import TraceError, read_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.npy"


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint64, np.uint16])
def test_integers_are_microseconds(kind: type, path: Path) -> None:
    np.save(path, np.array([1, 500], dtype=kind))
    assert read_trace(path).timestamps_us.tolist() == [1, 500]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_floats_are_seconds(kind: type, path: Path) -> None:
    np.save(path, np.array([1.0, 2.5], dtype=kind))
    assert read_trace(path).iats_s.tolist() == [1.5]
    assert read_trace(path, iat=True).iats_s.tolist() == [1.0, 2.5]
    assert read_trace(path, unit="ms").iats_s == pytest.approx([0.0015])


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (np.array(["a", "b"]), "must hold integers .microseconds. or floats"),
        (np.array([1 + 2j, 3]), "must hold integers"),
        (np.array([True, False]), "must hold integers"),
        (np.array([None, 1], dtype=object), "not a readable .npy file .it holds no array of numbers"),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), r"shape \(2, 2\)"),
        (np.array(1.0), r"shape \(\)"),
        (np.array([], dtype=float), "no arrivals"),
        (np.array([1.0]), "only one arrival"),
        (np.array([1, 2**64 - 1], dtype=np.uint64), "signed 64-bit"),
    ],
)
def test_an_array_that_is_not_one_row_of_numbers_is_refused(values: Any, complaint: str, path: Path) -> None:
    np.save(path, values)
    with pytest.raises(TraceError, match=complaint) as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)


def test_junk_is_refused_without_advice_to_load_it(path: Path) -> None:
    path.write_bytes(b"junk\n")
    with pytest.raises(TraceError, match=r"not a readable .npy file .it holds no array of numbers"):
        read_trace(path)


def test_an_archive_of_arrays_is_refused(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.array([1.0, 2.0]))
    with pytest.raises(TraceError, match="an archive of arrays"):
        read_trace(path)


def test_there_is_no_column_to_choose(path: Path) -> None:
    np.save(path, np.array([1.0, 2.0]))
    with pytest.raises(TraceError, match="leave out --column"):
        read_trace(path, column="a")
