"""Files that are no traces, by the thousand: each is arrivals in order of time, or one line that says why not."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fuzz.effort import tried

from mead.workload import FORMATS, Trace, TraceError, read_trace, split_trace, write_trace
from mead.workload.formats import columns, text
from mead.workload.formats.columns import MOST_ROWS

ENDINGS = sorted(FORMATS)
PARQUET, TEXT, NPY = (".parquet",), (".csv", ".tsv", ".txt"), (".npy",)
Unit = Literal["s", "ms", "us", "ns"]

options = st.fixed_dictionaries(
    {},
    optional={
        "iat": st.booleans(),
        "sort": st.booleans(),
        "column": st.sampled_from(["timestamp_s", "iat_s", "1", "2", "0", "²", "nothing", ""]),
        "unit": st.sampled_from(["s", "ms", "us", "ns"]),
    },
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("traces")


def check(path: Path, content: bytes, how: dict[str, object]) -> None:
    """Arrivals, or one line; the same of the pieces that a cluster would read."""
    path.write_bytes(content)
    said = [f"{path}: nothing"]
    try:
        trace = read_trace(path, **how)  # type: ignore[arg-type] # drawn
    except TraceError as error:
        said.append(str(error))
    else:
        assert len(trace) >= 2
        assert (np.diff(trace.timestamps_us) >= 0).all()
        assert np.isfinite(trace.iats_s).all()
    try:
        for piece in split_trace(path, **{key: value for key, value in how.items() if key != "sort"}).pieces:  # type: ignore[arg-type] # drawn
            for chunk in piece.chunks():
                assert chunk.ndim == 1
    except TraceError as error:
        said.append(f"{path}: {error}")
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in said)


@cache
def good(ending: str) -> bytes:
    """A small file of that kind, event times included where there is room for them."""
    buffer = io.BytesIO()
    stamps = np.array([0, 1500, 1500, 4_000_000, 4_000_001], dtype=np.int64)
    if ending in NPY:
        np.save(buffer, stamps)
        return buffer.getvalue()
    if ending in PARQUET:
        pq.write_table(pa.table({"timestamp_us": stamps, "event_timestamp_us": stamps[::-1]}), buffer)
        return buffer.getvalue()
    return b"timestamp_s,event_timestamp_s\n0.1,0.2\n0.5,0.4\n1e0,0.9\n"


def mutated(ending: str) -> st.SearchStrategy[bytes]:
    """A good file in which some bytes are others, are missing or are there twice."""
    content = good(ending)
    edits = st.lists(
        st.tuples(st.integers(0, len(content)), st.integers(0, 12), st.binary(max_size=6)), min_size=1, max_size=4
    )

    def applied(changes: list[tuple[int, int, bytes]]) -> bytes:
        changed = content
        for start, length, new in changes:
            changed = changed[:start] + new + changed[start + length :]
        return changed

    return edits.map(applied)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".npy"])
def test_changed_bytes_are_answered_in_one_line(folder: Path, ending: str) -> None:
    @given(mutated(ending), options)
    @tried(400)
    def changed(content: bytes, how: dict[str, object]) -> None:
        check(folder / f"changed{ending}", content, how)

    changed()


@given(st.sampled_from(ENDINGS), st.binary(max_size=200), options)
@tried(600)
def test_bytes_of_nothing_are_answered_in_one_line(
    folder: Path, ending: str, content: bytes, how: dict[str, object]
) -> None:
    check(folder / f"bytes{ending}", content, how)


words = (
    st.floats().map(repr)
    | st.integers(-(10**25), 10**25).map(str)
    | st.sampled_from(
        ["", "nan", "inf", "-0", "1e999", "1_000", "0x10", "1,5", '"', "'", '"1.0"', "#", "²", "\x1f", "\x85"]
    )
    | st.text(max_size=4)
)


@given(
    st.sampled_from(TEXT),
    st.sampled_from([",", ";", "\t", " ", "  ", ", "]),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.lists(st.lists(words, min_size=1, max_size=3), max_size=8),
    options,
)
@tried(1000)
def test_any_table_of_words_is_answered_in_one_line(
    folder: Path, ending: str, separator: str, end: str, rows: list[list[str]], how: dict[str, object]
) -> None:
    table = end.join(separator.join(row) for row in rows)
    check(folder / f"words{ending}", table.encode(errors="surrogatepass"), how)


@given(
    st.sampled_from(
        ["<i8", "<f8", ">i4", "|u1", "<U3", "|O", "|b1", "<c16", "<M8[us]", "|V5", "nonsense", "[('a', '<i8')]"]
    ),
    st.sampled_from(
        ["(5,)", "(10000000000000,)", "(-1,)", "(2, 2)", "()", "(1e3,)", "('a',)", "(99999999999999999999999,)"]
    ),
    st.sampled_from(["False", "True", "None", "1"]),
    st.integers(0, 100),
    options,
)
@tried(500)
def test_a_numpy_header_may_claim_anything(
    folder: Path, kind: str, shape: str, order: str, size: int, how: dict[str, object]
) -> None:
    descr = kind if kind.startswith("[") else repr(kind)
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(range(size))
    check(folder / "claims.npy", content, how)


@given(
    st.dictionaries(
        st.sampled_from(["timestamp_us", "timestamp_s", "timestamp", "iat_s", "event_timestamp_us", "x", "\x1b[2J"]),
        st.sampled_from(
            [
                pa.array([3, 1, 2]),
                pa.array([1.5, None, float("nan")]),
                pa.array(["a", "b", "c"]),
                pa.array([[1], [2], []]),
                pa.array([True, False, None]),
                pa.array([2**63, 2**64 - 1, 0], pa.uint64()),
                pa.array([1, 2, 3], pa.timestamp("ns")),
                pa.array([1, 2, 3], pa.timestamp("s", tz="Europe/Berlin")),
                pa.array([-(2**62), 0, 2**62]),
                pa.array([0.0, 1e300, -1.0]),
                pa.array([b"a", None, b""]),
                pa.nulls(3),
            ]
        ),
        max_size=3,
    ),
    options,
)
@tried(300)
def test_any_parquet_table_is_answered_in_one_line(
    folder: Path, table: dict[str, pa.Array], how: dict[str, object]
) -> None:
    buffer = io.BytesIO()
    pq.write_table(pa.table(table), buffer)
    check(folder / "table.parquet", buffer.getvalue(), how)


# -- limits -----------------------------------------------------------------------------------------------------------


def test_a_small_parquet_file_that_stands_for_billions_of_rows_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "zeros.parquet"
    pq.write_table(pa.table({"timestamp_us": np.zeros(1_000_000, dtype=np.int64)}), path)
    assert path.stat().st_size < 20_000, "it takes no space"
    assert len(read_trace(path)) == 1_000_000
    monkeypatch.setattr(columns, "MOST_ROWS", 999_999)
    with pytest.raises(TraceError, match="it has 1,000,000 rows; at most 999,999 are read at once"):
        read_trace(path)


def test_an_array_that_is_too_long_is_refused_before_it_is_read(folder: Path) -> None:
    path = folder / "sparse.npy"
    with path.open("wb") as file:
        header = {"descr": "<i8", "fortran_order": False, "shape": (MOST_ROWS + 1,)}
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + 8 * (MOST_ROWS + 1))  # takes no space on the disk
    with pytest.raises(TraceError, match=rf"it has {MOST_ROWS + 1:,} rows"):
        read_trace(path)


def test_a_text_that_is_too_long_is_refused_before_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "long.txt"
    write_trace(Trace.from_iats_s(np.ones(100)), path)
    monkeypatch.setattr(text, "MOST_BYTES", 50)
    with pytest.raises(TraceError, match="bytes; at most 50 are read at once"):
        read_trace(path)


def test_a_line_without_an_end_is_refused(folder: Path) -> None:
    (folder / "line.csv").write_bytes(b"1" * 3_000_000)
    with pytest.raises(TraceError) as caught:
        read_trace(folder / "line.csv")
    assert len(str(caught.value)) < 1000
