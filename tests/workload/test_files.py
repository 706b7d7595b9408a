from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.paths import DATA

from mead.workload import FORMATS, BadRowError, Trace, TraceError, files, read_trace, split_trace, write_trace
from mead.workload.formats import npy, parquet, text
from mead.workload.formats.columns import Choice
from mead.workload.survey import merge_surveys, survey_piece

BELLCORE = DATA / "bc-paug89.parquet"


@pytest.fixture
def trace() -> Trace:
    start = Trace.from_iats_s(np.random.default_rng(3).standard_exponential(2_000) / 300)
    # Microseconds since 1970, the largest time stamps that are usual.
    return Trace.from_timestamps_us(start.timestamps_us + 1_754_000_000_123_457)


@pytest.mark.parametrize("extension", FORMATS)
def test_time_stamps_come_back_exactly_from_every_format(extension: str, trace: Trace, tmp_path: Path) -> None:
    write_trace(trace, tmp_path / f"t{extension}")
    back = read_trace(tmp_path / f"t{extension}")
    assert (back.timestamps_us == trace.timestamps_us).all()
    assert (back.iats_s == trace.iats_s).all()


@pytest.mark.parametrize("extension", FORMATS)
def test_iats_come_back_exactly_from_every_format(extension: str, tmp_path: Path) -> None:
    trace = Trace.from_iats_s([0.1, 1 / 3, 1e-9, 0.0, 1e5])
    write_trace(trace, tmp_path / f"t{extension}", iat=True)
    assert read_trace(tmp_path / f"t{extension}", iat=True).iats_s.tolist() == trace.iats_s.tolist()


@pytest.mark.parametrize("extension", [".parquet", ".csv", ".tsv", ".txt"])
def test_event_times_come_back_in_the_order_of_the_arrivals(extension: str, tmp_path: Path) -> None:
    trace = Trace.from_timestamps_us([10, 20, 30]).with_event_timestamps_us([9, 1, 5])
    write_trace(trace, tmp_path / f"t{extension}")
    back = read_trace(tmp_path / f"t{extension}")
    assert back.event_timestamps_us is not None
    assert back.event_timestamps_us.tolist() == [9, 1, 5]


@pytest.mark.parametrize("extension", FORMATS)
def test_iats_do_not_drop_event_times(extension: str, tmp_path: Path) -> None:
    trace = Trace.from_timestamps_us([10, 20, 30]).with_event_timestamps_us([9, 1, 5])
    with pytest.raises(TraceError, match="leave no room for the event times"):
        write_trace(trace, tmp_path / f"t{extension}", iat=True)
    assert not list(tmp_path.iterdir())


def test_sorting_keeps_every_event_time_with_its_arrival(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("timestamp_us,event_timestamp_us\n30,5\n10,9\n20,1\n")
    back = read_trace(tmp_path / "t.csv", sort=True)
    assert back.timestamps_us.tolist() == [10, 20, 30]
    assert back.event_timestamps_us is not None
    assert back.event_timestamps_us.tolist() == [9, 1, 5]


def test_parquet_has_the_column_of_the_contract(trace: Trace, tmp_path: Path) -> None:
    write_trace(trace, tmp_path / "t.parquet")
    schema = pq.read_schema(tmp_path / "t.parquet")
    assert schema.names == ["timestamp_us"]
    assert schema.field("timestamp_us").type == pa.int64()


def test_text_is_written_in_seconds_with_a_header(tmp_path: Path) -> None:
    write_trace(Trace.from_timestamps_us([1_500_000, 2_000_001]), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().split() == ["timestamp_s", "1.5", "2.000001"]


def test_a_path_may_be_a_string_and_its_extension_in_capitals(tmp_path: Path) -> None:
    np.save(tmp_path / "t", np.array([0.0, 1.5]))
    (tmp_path / "t.npy").rename(tmp_path / "T.NPY")
    assert read_trace(str(tmp_path / "T.NPY")).duration_s == 1.5


def test_iats_and_sorting_exclude_each_other(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("1.0\n0.5\n")
    with pytest.raises(TraceError, match="have no order to repair; leave out --sort"):
        read_trace(tmp_path / "t.txt", iat=True, sort=True)


def test_an_unknown_unit_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="unknown unit 'min'; it must be one of s, ms, us, ns"):
        read_trace(tmp_path / "t.csv", unit="min")  # type: ignore[arg-type]


def test_the_message_names_the_file_and_the_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time\n1.0\n3.0\n2.0\n")
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    assert str(caught.value).startswith(
        f"{path}: row 3: time stamp 2.0 s is before the one above it (3.0 s); use --sort"
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nowhere\.csv: there is no such file"):
        read_trace(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("name", ["t.xlsx", "t"])
def test_an_unknown_extension_lists_the_known_ones(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("1\n2\n")
    with pytest.raises(TraceError, match=r"unknown kind of file.*\.parquet, .*\.npy"):
        read_trace(tmp_path / name)
    with pytest.raises(TraceError, match="unknown kind of file"):
        write_trace(Trace.from_iats_s([1.0]), tmp_path / name)


@pytest.mark.parametrize("name", ["d.csv", "d.npy"])
def test_a_folder_is_no_text_file(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(TraceError, match=r"cannot be read \(Is a directory\)"):
        read_trace(tmp_path / name)


@pytest.mark.parametrize("extension", FORMATS)
def test_an_empty_file_is_refused_in_one_line(extension: str, tmp_path: Path) -> None:
    (tmp_path / f"t{extension}").write_bytes(b"")
    with pytest.raises(TraceError) as caught:
        read_trace(tmp_path / f"t{extension}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("extension", FORMATS)
def test_random_bytes_are_refused_in_one_line(extension: str, tmp_path: Path) -> None:
    (tmp_path / f"t{extension}").write_bytes(np.random.default_rng(1).bytes(5_000))
    with pytest.raises(TraceError) as caught:
        read_trace(tmp_path / f"t{extension}")
    assert "\n" not in str(caught.value)


def test_writing_replaces_a_file_and_leaves_nothing_else_behind(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_text("something older")
    write_trace(trace, tmp_path / "t.parquet")
    assert len(read_trace(tmp_path / "t.parquet")) == len(trace)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def test_a_write_that_fails_half_way_keeps_the_old_file(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(path: Path, trace: Trace, *, iat: bool) -> None:  # noqa: ARG001 - the signature of a writer
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.FORMATS, ".csv", files.Format(files.TEXT.read, files.TEXT.split, full_disk))
    (tmp_path / "t.csv").write_text("the old file")
    with pytest.raises(TraceError, match=r"t\.csv: cannot be written \(No space left on device\)"):
        write_trace(trace, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "the old file"
    assert len(list(tmp_path.iterdir())) == 1


def test_writing_into_a_folder_that_is_not_there(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be written"):
        write_trace(trace, tmp_path / "missing" / "t.npy")


def test_npy_has_no_room_for_event_times(tmp_path: Path) -> None:
    trace = Trace.from_timestamps_us([10, 20]).with_event_timestamps_us([9, 1])
    with pytest.raises(TraceError, match="write Parquet or CSV"):
        write_trace(trace, tmp_path / "t.npy")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not BELLCORE.exists(), reason="the Bellcore trace lies beside the project and is not here")
def test_the_bellcore_trace_is_read_whole() -> None:
    trace = read_trace(BELLCORE)
    assert len(trace) == 1_000_000
    assert trace.rate_per_s == pytest.approx(318.2, abs=0.1)


@pytest.mark.parametrize("size", [1, 7, 50, 1 << 20])
@pytest.mark.parametrize("extension", FORMATS)
def test_pieces_of_a_file_are_the_file(
    extension: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"t{extension}"
    trace = Trace.from_timestamps_us(np.arange(300) * 1_000_003 // 7)
    monkeypatch.setattr(text, "BLOCK_BYTES", size)
    monkeypatch.setattr(npy, "PIECE_ROWS", size)
    monkeypatch.setattr(npy, "CHUNK_ROWS", 20)
    write_trace(trace, path)
    if FORMATS[extension] is files.PARQUET:
        pq.write_table(pq.read_table(path), path, row_group_size=size)
    found = split_trace(path)
    values = np.concatenate([chunk for piece in found.pieces for chunk in piece.chunks()])
    whole = FORMATS[extension].read(path, Choice()).arrivals
    assert values.dtype == whole.values.dtype
    assert values.tolist() == whole.values.tolist()
    assert found.unit == whole.unit
    assert len(found.pieces) > 1 or size == 1 << 20


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("head", ["", "# made by hand\ntimestamp_s\n", "\ufefftimestamp_s\n"])
def test_pieces_of_a_text_keep_to_its_lines(
    head: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BLOCK_BYTES", 5)
    path = tmp_path / "t.csv"
    path.write_bytes((head + "1.5\n\n22.25\n333.125\n4444").replace("\n", ending).encode())
    values = [value for piece in split_trace(path).pieces for chunk in piece.chunks() for value in chunk.tolist()]
    assert values == [1.5, 22.25, 333.125, 4444.0] == (read_trace(path).timestamps_us / 1e6).tolist()


def test_a_folder_of_part_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "t.parquet"
    folder.mkdir()
    for name, stamps, kind in (("part-1", [3, 4], pa.int64()), ("part-0", [1, 2], pa.int32())):
        pq.write_table(pa.table({"timestamp_us": pa.array(stamps, kind)}), folder / f"{name}.parquet")
    found = split_trace(folder)
    assert [chunk.tolist() for piece in found.pieces for chunk in piece.chunks()] == [[1, 2], [3, 4]]


def test_rows_are_counted_within_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "CHUNK_ROWS", 2)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"timestamp_us": [1, 2, 3, 4, None, 6]}), path)
    with pytest.raises(BadRowError, match="row 5: column 'timestamp_us' has no value there") as caught:
        list(split_trace(path).pieces[0].chunks())
    assert str(caught.value.after(100)).startswith("row 105: column")


def test_a_file_that_cannot_be_split_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.zeros((3, 3)))
    with pytest.raises(TraceError, match=r"t.npy: the array must be one row of numbers; it is of shape \(3, 3\)"):
        split_trace(tmp_path / "t.npy")
    with pytest.raises(TraceError, match=r"none.csv: there is no such file"):
        split_trace(tmp_path / "none.csv")


@pytest.mark.parametrize("extension", [".parquet", ".csv"])
def test_event_times_alone_are_the_arrivals(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{extension}"
    if extension == ".csv":
        path.write_text("event_timestamp_us\n10\n20\n")
    else:
        pq.write_table(pa.table({"event_timestamp_us": [10, 20]}), path)
    back = read_trace(path)
    assert back.timestamps_us.tolist() == [10, 20]
    assert back.event_timestamps_us is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("columns", "iat", "said"),
    [
        ({"timestamp_s": [0.0, 1.0, 1e300]}, False, "row 3: time stamp 1e+300 s is too far away; check the unit"),
        ({"timestamp_ns": [0, 1, 2**62, 2**63 - 1]}, False, None),
        ({"timestamp_us": [0, 10**17]}, False, "row 2: time stamp 1e+17 us is too far away; check the unit"),
        ({"iat_s": [1.0, 1e308, 1e308]}, True, "row 2: inter-arrival time 1e+308 s is too far away; check the unit"),
        (
            {"timestamp_s": [0.0, 1.0], "event_timestamp_s": [0.0, -1e300]},
            False,
            "row 2: event time -1e+300 s is too far away; check the unit",
        ),
    ],
)
def test_far_stamps_are_refused_with_file_and_row(
    tmp_path: Path,
    columns: dict[str, list[float]],
    iat: bool,  # noqa: FBT001 - drawn
    said: str | None,
) -> None:
    path = tmp_path / "far.parquet"
    pq.write_table(pa.table(columns), path)
    if said is None:
        assert len(read_trace(path, column="timestamp_ns")) == 4
        return
    with pytest.raises(TraceError) as caught:
        read_trace(path, iat=iat)
    assert str(caught.value).startswith(f"{path}: {said}")
    if "event" not in said:  # a survey does not read event times
        pieces = split_trace(path, iat=iat)
        surveys = [survey_piece(piece, pieces.unit, iat=iat) for piece in pieces.pieces]
        with pytest.raises(TraceError) as found:
            merge_surveys(surveys, pieces.unit, iat=iat)
        assert str(found.value).startswith(said)
