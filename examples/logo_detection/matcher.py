"""Matcher: which feature of a logo each feature of a frame looks like, by the distance of their descriptors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from logo_detection.features import SIZE, Floats, features
from logo_detection.frames import logo
from mead.arrays import IntArray

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, logo int, point int, distance float"

NEAREST = 0.3
"""A feature matches the nearest of all logos if its descriptor is closer than this; descriptors have length 1."""


@dataclass(frozen=True, eq=False)
class LogoFeatures:
    """The features of all logos that are looked for."""

    logos: IntArray
    """The logo that each feature belongs to."""
    points: IntArray
    """The number of each feature among those of its logo."""
    descriptors: Floats


def make_matcher(logos: int = 16, nearest: float = NEAREST) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function from features to a row for each whose nearest feature of the first ``logos`` is within ``nearest``.

    In a pipeline file: ``options: {logos: 16}``.
    """
    if logos < 1 or nearest <= 0:
        raise ValueError(f"logos must be at least 1 and nearest above 0, not {logos} and {nearest:g}")
    return partial(_matches, logos, nearest)


@lru_cache(maxsize=4)
def logo_features(logos: int) -> LogoFeatures:
    """Compute the features of the logos, once per worker."""
    found = [features(logo(number)) for number in range(logos)]
    return LogoFeatures(
        np.repeat(np.arange(logos), [len(one) for one in found]),
        np.concatenate([np.arange(len(one)) for one in found]),
        np.concatenate(found),
    )


def _matches(logos: int, nearest: float, batch: pa.RecordBatch) -> pa.RecordBatch:
    known = logo_features(logos)
    seen = np.frombuffer(b"".join(batch["descriptor"].to_pylist()), dtype=np.float32).reshape(-1, SIZE)
    # |a - b|² = 2 - 2ab for vectors of length 1: one product of matrices for all pairs.
    alike = seen @ known.descriptors.T
    closest = alike.argmax(axis=1)
    distances = np.sqrt(np.maximum(2 - 2 * alike[np.arange(len(seen)), closest], 0))
    rows = np.flatnonzero(distances < nearest)
    columns = closest[rows]
    taken = batch.select(["id", "arrival_us"]).take(pa.array(rows))
    return pa.record_batch(
        [
            *taken.columns,
            pa.array(known.logos[columns], pa.int32()),
            pa.array(known.points[columns], pa.int32()),
            pa.array(distances[rows], pa.float32()),
        ],
        names=["id", "arrival_us", "logo", "point", "distance"],
    )
