"""NumPy's ``.npy``: one array, integers are microseconds and floats are seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mead.workload.formats.columns import Choice, Column, Columns
from mead.workload.trace import Trace, TraceError


def read(path: Path, choice: Choice) -> Columns:
    """The array of a ``.npy`` file."""
    if choice.column is not None:
        raise TraceError("a .npy file has no columns to choose from; leave out --column")
    try:
        values = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        # NumPy takes whatever it does not know for pickled objects, and advises to load them.
        reason = "it holds no array of numbers" if "pickle" in str(error) else error
        raise TraceError(f"not a readable .npy file ({reason})") from error
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "iuf":
        kind = values.dtype if isinstance(values, np.ndarray) else "an archive of arrays"
        raise TraceError(f"the array is of type {kind}; it must hold integers (microseconds) or floats (seconds)")
    if values.dtype.kind == "f":
        return Columns(Column(values.astype(np.float64, copy=False), choice.unit or "s"))
    if values.size and values.max() > np.iinfo(np.int64).max:
        raise TraceError(f"the array holds {values.max()}, beyond 64 bits with a sign")
    return Columns(Column(values.astype(np.int64, copy=False), choice.unit or "us"))


def write(path: Path, trace: Trace, *, iat: bool) -> None:
    """Time stamps as int64 microseconds, or IATs as float64 seconds."""
    if trace.event_timestamps_us is not None:
        raise TraceError("a .npy file has no room for the event times of this trace; write Parquet or CSV")
    with path.open("wb") as file:  # np.save would add .npy to a path that does not end in it
        np.save(file, trace.iats_s if iat else trace.timestamps_us)
