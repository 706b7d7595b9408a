"""NumPy's ``.npy``: one array of integers (microseconds) or floats (seconds)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mead.arrays import FloatArray, IntArray
from mead.workload.formats.columns import CHUNK_ROWS, Choice, Column, Columns, Pieces, check_rows
from mead.workload.trace import Trace, TraceError, Unit

PIECE_ROWS = 1 << 20


@dataclass(frozen=True)
class Rows:
    """A range of rows of an array."""

    path: Path
    first: int
    end: int

    def chunks(self) -> Iterator[IntArray | FloatArray]:
        """Yield the rows through a memory map, so that no other rows are read."""
        for start in range(self.first, self.end, CHUNK_ROWS):
            values = np.load(self.path, mmap_mode="r", allow_pickle=False)
            yield _numbers(np.array(values[start : min(start + CHUNK_ROWS, self.end)]))


def read(path: Path, choice: Choice) -> Columns:
    """Read the array of a ``.npy`` file."""
    check_rows(_mapped(path, choice).size)
    values = _numbers(np.load(path, allow_pickle=False))
    return Columns(Column(values, choice.unit or _unit(values)))


def split(path: Path, choice: Choice) -> Pieces:
    """Split the array into ranges of rows."""
    values = _mapped(path, choice)
    if values.ndim != 1:
        raise TraceError(f"the array must be one row of numbers; it is of shape {values.shape}")
    starts = range(0, values.size, PIECE_ROWS)
    pieces = [Rows(path, start, min(start + PIECE_ROWS, values.size)) for start in starts]
    return Pieces(choice.unit or _unit(values), pieces)


def _mapped(path: Path, choice: Choice) -> npt.NDArray[Any]:
    """Map the array into memory, which checks its header and size before anything is read."""
    if choice.column is not None:
        raise TraceError("a .npy file has no columns to choose from; leave out --column")
    try:
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # the header is a Python literal and can fail in many ways
        # NumPy takes unknown content for pickled objects and advises to load them.
        strange = any(word in str(error) for word in ("pickle", "Python objects"))
        said = "it holds no array of numbers" if strange else " ".join(str(error).split())
        raise TraceError(f"not a readable .npy file ({said})") from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        kind = values.dtype if isinstance(values, np.ndarray) else "an archive of arrays"
        raise TraceError(f"the array is of type {kind}; it must hold integers (microseconds) or floats (seconds)")
    return values


def _unit(values: npt.NDArray[Any]) -> Unit:
    return "s" if values.dtype.kind == "f" else "us"


def _numbers(values: npt.NDArray[Any]) -> IntArray | FloatArray:
    if values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    if values.size and values.max() > np.iinfo(np.int64).max:
        raise TraceError(f"the array holds {values.max()}, which does not fit into a signed 64-bit integer")
    return values.astype(np.int64, copy=False)


def write(path: Path, trace: Trace, *, iat: bool) -> None:
    """Write time stamps as int64 microseconds, or IATs as float64 seconds."""
    if trace.event_timestamps_us is not None:
        raise TraceError("a .npy file has no room for the event times of this trace; write Parquet or CSV")
    with path.open("wb") as file:  # np.save would add .npy to a path that does not end in it
        np.save(file, trace.iats_s if iat else trace.timestamps_us)
