"""CSV and plain text: time stamps or inter-arrival times in seconds, with or without a header.

Columns are separated by commas, semicolons, tabs or blanks. Lines before the data that start with ``#`` are skipped.
Rows are counted from 1 at the first row of data.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from mead.arrays import FloatArray
from mead.workload.formats.columns import MOST_ROWS, Choice, Column, Columns, Pieces, unit_in_name
from mead.workload.trace import BadRowError, Trace, TraceError

HEAD_BYTES = 1 << 16
"""Bytes read to detect the layout."""

BLOCK_BYTES = 1 << 23

MOST_BYTES = 20 * MOST_ROWS
"""Maximum size of a text read whole: ``MOST_ROWS`` rows of ten digits and six decimals."""

BLANKS = " "
"""Stands for any number of blanks between columns."""

NO_SEPARATOR = "\x1f"
"""A character that no numbers contain. With this separator Arrow reads whole lines."""


@dataclass(frozen=True)
class Layout:
    """Layout of a file. Columns without a header have empty names."""

    names: tuple[str, ...]
    separator: str
    skipped_lines: int


@dataclass(frozen=True)
class Block:
    """The lines that begin in a range of bytes."""

    path: Path
    first: int
    end: int
    is_first: bool
    layout: Layout
    column: int

    def chunks(self) -> Iterator[FloatArray]:
        """Yield all lines of the block at once."""
        with self.path.open("rb") as file:
            file.seek(self.first if self.is_first else self.first - 1)
            if not self.is_first:
                file.readline()  # skip the rest of a line that began in the block before
            lines = file.read(max(self.end - file.tell(), 0))
            if lines and not lines.endswith(b"\n"):
                lines += file.readline()
        if lines.strip():
            yield from _columns(lines, self.layout, [self.column])


def read(path: Path, choice: Choice) -> Columns:
    """Read the columns of a text file."""
    if (size := path.stat().st_size) > MOST_BYTES:
        raise TraceError(
            f"it has {size:,} bytes; at most {MOST_BYTES:,} are read at once. Use mead characterize for larger files"
        )
    layout = _layout(path)
    arrivals, events = choice.arrivals_among(layout.names), choice.events_among(layout.names)
    numbers = _columns(path, layout, [i for i in (arrivals, events) if i is not None])
    return Columns(
        arrivals=Column(numbers[0], choice.unit_of(layout.names[arrivals], default="s")),
        events=None if events is None else Column(numbers[1], unit_in_name(layout.names[events], default="s")),
    )


def split(path: Path, choice: Choice) -> Pieces:
    """Split the file into blocks of lines."""
    layout = _layout(path)
    arrivals = choice.arrivals_among(layout.names)
    with path.open("rb") as file:
        data = sum(map(len, file.read(HEAD_BYTES).splitlines(keepends=True)[: layout.skipped_lines]))
    size, plain = path.stat().st_size, replace(layout, skipped_lines=0)
    blocks = [
        Block(path, at, min(at + BLOCK_BYTES, size), at == data, plain, arrivals)
        for at in range(data, size, BLOCK_BYTES)
    ]
    return Pieces(choice.unit_of(layout.names[arrivals], default="s"), blocks)


def _layout(path: Path) -> Layout:
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if b"\0" in head:
        raise TraceError("this is not text; for Parquet or NumPy name the file .parquet or .npy")
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None:
        raise TraceError("no arrivals; the file is empty")
    has_header = not all(_is_number(word) for word in re.split(r"[,;\s]+", lines[first].strip()))
    data = next((line for line in lines[first + has_header :] if line.strip()), "")
    if not data:
        raise TraceError("no arrivals; the file has a header and nothing else")
    separator = next((s for s in (",", ";", "\t") if s in data), BLANKS if len(data.split()) > 1 else NO_SEPARATOR)
    width = len(_split(data, separator))
    names = _split(lines[first], separator) if has_header else [""] * width
    if len(names) != width:
        raise TraceError(f"the header names {len(names)} columns and the first row has {width}")
    return Layout(tuple(names), separator, skipped_lines=first + has_header)


def _split(line: str, separator: str) -> list[str]:
    try:
        words = line.split() if separator == BLANKS else next(csv.reader([line.strip("\r\n")], delimiter=separator))
    except csv.Error as error:
        raise TraceError(f"a line cannot be split into columns ({error})") from error
    return [word.strip().strip("\"'") for word in words]


def _is_number(word: str) -> bool:
    try:
        float(word.strip("\"'") or "0")  # an empty field is a missing number, not a title
    except ValueError:
        return False
    return True


def _columns(source: Path | bytes, layout: Layout, wanted: Sequence[int]) -> list[FloatArray]:
    """Read columns as floats, which hold whole microseconds exactly until the year 2255."""
    try:
        return [_floats(column) for column in _arrow_columns(source, layout, wanted)]
    except pa.ArrowInvalid as error:
        # Arrow does not say in which row it stopped, so search for the row.
        raise _first_bad_row(source, layout, wanted) or TraceError(str(error).splitlines()[0]) from error


def _arrow_columns(source: Path | bytes, layout: Layout, wanted: Sequence[int]) -> list[pa.ChunkedArray]:
    blanks = layout.separator == BLANKS
    names = ["line"] if blanks else [str(i) for i in range(len(layout.names))]
    whole = isinstance(source, Path)
    table = pa.csv.read_csv(
        source if whole else pa.BufferReader(source),
        read_options=pa.csv.ReadOptions(column_names=names, skip_rows=layout.skipped_lines, use_threads=whole),
        parse_options=pa.csv.ParseOptions(delimiter=NO_SEPARATOR if blanks else layout.separator),
        convert_options=pa.csv.ConvertOptions(
            include_columns=names if blanks else [str(i) for i in wanted],
            column_types=dict.fromkeys(names, pa.string() if blanks else pa.float64()),
            null_values=[""],
        ),
    )
    if not blanks:
        return [table.column(str(i)) for i in wanted]
    words = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(table.column("line")))
    if any(length.as_py() != len(layout.names) for length in pc.min_max(pc.list_value_length(words)).values()):
        raise pa.ArrowInvalid("the rows have different numbers of columns")
    return [pc.list_element(words, i).cast(pa.float64()) for i in wanted]


def _first_bad_row(source: Path | bytes, layout: Layout, wanted: Sequence[int]) -> BadRowError | None:
    raw = source.open("rb") if isinstance(source, Path) else BytesIO(source)
    with TextIOWrapper(raw, encoding="utf-8-sig", errors="replace") as file:
        rows = (line for line in islice(file, layout.skipped_lines, None) if line.strip())
        for number, line in enumerate(rows, start=1):
            words = _split(line, layout.separator)
            if len(words) != len(layout.names):
                return BadRowError(number, f" has {len(words)} columns and the first row has {len(layout.names)}")
            for word in (words[i] for i in wanted):
                if not _is_number(word):
                    return BadRowError(number, f": '{word}' is not a number; give digits, with a point for decimals")
    return None


def _floats(column: pa.ChunkedArray) -> FloatArray:
    if column.null_count:
        row = pc.index(pc.is_null(column), value=True).as_py()
        raise BadRowError(row + 1, " has no value; every row needs a number")
    return np.asarray(column.to_numpy())


def write(path: Path, trace: Trace, *, iat: bool) -> None:
    """Write seconds under a header. Time stamps have at most six decimals, which is exact."""
    columns = {"iat_s": trace.iats_s} if iat else {"timestamp_s": trace.timestamps_us / 1e6}
    if trace.event_timestamps_us is not None:
        columns["event_timestamp_s"] = trace.event_timestamps_us / 1e6
    options = pa.csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",", quoting_header="none")
    pa.csv.write_csv(pa.table({name: pa.array(values) for name, values in columns.items()}), path, options)
