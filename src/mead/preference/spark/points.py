"""Generated tuples for preference queries on Spark: same number, same tuple, in whatever task it is made."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mead.arrays import FloatArray, IntArray
from mead.spark.sources.trace import times_us

HIGHEST = 1000.0


def point_columns(attributes: int) -> list[str]:
    """Names of the attribute columns."""
    return [f"a{n}" for n in range(attributes)]


def point_schema(attributes: int) -> str:
    """Columns of the tuples (DDL): when they came into being, and independent attributes, uniform on [0, 1000)."""
    return ", ".join(["event_us bigint", *(f"{name} double" for name in point_columns(attributes))])


def make_points(attributes: int, seed: int, events: str) -> Callable[[IntArray], pa.RecordBatch]:
    """A payload for streams of traces; ``events`` is a file with their event times in microseconds (.npy)."""
    return partial(_made, attributes, seed, Path(events))


def uniform(numbers: IntArray, attributes: int, seed: int) -> FloatArray:
    """Attributes of tuples by their numbers: a counter, mixed (Steele et al., "Splittable Generators", 2014).

    >>> whole = uniform(np.arange(1000), 8, seed=1)
    >>> bool((whole[500:] == uniform(np.arange(500, 1000), 8, seed=1)).all()), bool(abs(whole.mean() - 500) < 10)
    (True, True)
    """
    counter = (numbers[:, None] * attributes + np.arange(attributes)).astype(np.uint64)
    z: npt.NDArray[np.uint64] = (counter + _start(seed) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return HIGHEST * ((z >> np.uint64(11)).astype(np.float64) / (1 << 53))


def _start(seed: int) -> np.uint64:
    """Where the counter of a seed begins: with 24 bits it has 2^40 numbers for itself; larger ones begin anywhere."""
    if seed < 1 << 24:
        return np.uint64(seed << 40)
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


def _made(attributes: int, seed: int, events: Path, numbers: IntArray) -> pa.RecordBatch:
    values = uniform(numbers, attributes, seed)
    columns = {"event_us": pa.array(times_us(events)[numbers])}
    return pa.record_batch(columns | {name: values[:, n].copy() for n, name in enumerate(point_columns(attributes))})
