from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mead.workload import TraceError, read_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    "text",
    [
        "0.5\n1.5\n3.5\n",
        "0.5\n1.5\n3.5",
        "0.5\r\n1.5\r\n3.5\r\n",
        "\n0.5\n\n1.5\n3.5\n\n",
        "  0.5\n  1.5\n  3.5\n",
        "5e-1\n1.5E0\n3.5\n",
        "time\n0.5\n1.5\n3.5\n",
        "time stamp\n0.5\n1.5\n3.5\n",
        '"time"\n"0.5"\n"1.5"\n"3.5"\n',
        "\ufefftime\n0.5\n1.5\n3.5\n",
        "# recorded on Monday\n# seconds\n0.5\n1.5\n3.5\n",
        "# recorded on Monday\ntime\n0.5\n1.5\n3.5\n",
        "timestamp_us\n500000\n1500000\n3500000\n",
        "t_ms\n500\n1500\n3500\n",
        "size,timestamp_s\n9,0.5\n8,1.5\n7,3.5\n",
        "size;timestamp_s\n9;0.5\n8;1.5\n7;3.5\n",
        "size\ttimestamp_s\n9\t0.5\n8\t1.5\n7\t3.5\n",
        "size   timestamp_s\n9   0.5\n8   1.5\n  7 3.5\n",
        "name,timestamp_s\na,0.5\nb,1.5\n,3.5\n",
        'line,timestamp_s\n"GET /, 200",0.5\n"GET /, 404",1.5\nPOST,3.5\n',
        "\ufeff0.5\n1.5\n3.5\n",
    ],
)
def test_the_usual_layouts_are_understood(text: str, path: Path) -> None:
    path.write_text(text, newline="")
    assert read_trace(path).timestamps_us.tolist() == [500_000, 1_500_000, 3_500_000]


def test_a_column_by_name(path: Path) -> None:
    path.write_text("sent,received\n1.0,1.5\n2.0,2.75\n")
    assert read_trace(path, column="received").iats_s.tolist() == [1.25]


def test_a_column_by_number_where_there_are_no_names(path: Path) -> None:
    path.write_text("   0.5 64\n   1.5 1518\n")
    assert read_trace(path, column="1").iats_s.tolist() == [1.0]
    path.write_text("64,0.5\n1518,1.5\n")
    assert read_trace(path, column="2").iats_s.tolist() == [1.0]


def test_the_unit_that_is_asked_for_wins(path: Path) -> None:
    path.write_text("timestamp_us\n500\n1500\n")
    assert read_trace(path, unit="ms").iats_s.tolist() == [1.0]


def test_iats_and_their_unit(path: Path) -> None:
    path.write_text("iat_us,other\n500000,1\n250000,2\n")
    assert read_trace(path, iat=True).iats_s.tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no arrivals; the file is empty"),
        ("\n\n# nothing\n", "no arrivals; the file is empty"),
        ("time\n", "a header and nothing else"),
        ("1.0\n", "only one arrival"),
        ("time\n1.0\n", "only one arrival"),
        ("1.0\n2.0\nabc\n4.0\n", "row 3: 'abc' is not a number"),
        ("1.0\n2.0\n3,5\n", "row 3: '3,5' is not a number; give digits, with a point for decimals"),
        ("time\n1.0\nnan\n", "row 2: time stamp is nan"),
        ("a,b\n1.0,2\n,3\n", "which column holds the time stamps. the file has a, b; name one with --column"),
        ("timestamp_s,b\n1.0,2\n,3\n", "row 2 has no value"),
        ("timestamp_s,b\n1.0,2\n2.0\n", "row 2 has 1 columns and the first row has 2"),
        ("timestamp_s b\n1.0 2\n2.0\n", "row 2 has 1 columns and the first row has 2"),
        ("timestamp_s b\n1.0 2\nx 2\n", "row 2: 'x' is not a number"),
        ("1.0,5\n2.0,6\n", "the file has no header and 2 columns, numbered from 1"),
        ("one two three\n1.0 2.0\n", "names 3 columns and the first row has 2"),
    ],
)
def test_an_invalid_trace_is_refused_with_its_place(text: str, complaint: str, path: Path) -> None:
    path.write_text(text)
    with pytest.raises(TraceError, match=complaint) as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("column", ["nope", "3", "0"])
def test_a_column_that_is_not_there(column: str, path: Path) -> None:
    path.write_text("1.0,5\n2.0,6\n")
    with pytest.raises(TraceError, match=f"no column '{column}'"):
        read_trace(path, column=column)


def test_a_bad_number_beyond_the_first_megabyte_has_its_row(path: Path) -> None:
    rows = [f"{i}.000000" for i in range(200_000)]
    rows[150_000] = "1 5000"
    path.write_text("\n".join(rows))
    with pytest.raises(TraceError, match="row 150001: '1 5000' is not a number"):
        read_trace(path)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30))
def test_any_iats_are_read_as_python_reads_them(tmp_path_factory: pytest.TempPathFactory, iats: list[float]) -> None:
    path = tmp_path_factory.mktemp("iats") / "t.txt"
    path.write_text("\n".join(repr(iat) for iat in iats))
    assert np.array_equal(read_trace(path, iat=True).iats_s, iats)
