"""Matcher: which features of a frame look like one of a logo, by the Euclidean distance of their descriptors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from logo_detection.features import SIZE, Floats, Places, features
from logo_detection.frames import logo

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, logo int, point int, distance float"

NEAREST = 0.35
"""Descriptors that are closer than this match; they have length 1."""


@dataclass(frozen=True, eq=False)
class LogoFeatures:
    """The features of all logos that are looked for."""

    logos: Places
    """The logo that each feature belongs to."""
    points: Places
    """The number of each feature among those of its logo."""
    descriptors: Floats


def make_matcher(logos: int = 16, nearest: float = NEAREST) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function from features to one row for each that is closer than ``nearest`` to one of the first ``logos``.

    In a pipeline file: ``options: {logos: 16}``.
    """
    if logos < 1 or nearest <= 0:
        raise ValueError(f"logos must be at least 1 and nearest above 0, not {logos} and {nearest:g}")
    return partial(_matches, logos, nearest)


@lru_cache(maxsize=4)
def logo_features(logos: int) -> LogoFeatures:
    """Compute the features of the logos, once per worker."""
    found = [features(logo(number)).descriptors for number in range(logos)]
    return LogoFeatures(
        np.repeat(np.arange(logos), [len(one) for one in found]),
        np.concatenate([np.arange(len(one)) for one in found]),
        np.concatenate(found),
    )


def _matches(logos: int, nearest: float, batch: pa.RecordBatch) -> pa.RecordBatch:
    known = logo_features(logos)
    seen = np.frombuffer(b"".join(batch["descriptor"].to_pylist()), dtype=np.float32).reshape(-1, SIZE)
    # |a - b|² = 2 - 2ab for vectors of length 1: one product of matrices for all pairs.
    distances = np.sqrt(np.maximum(2 - 2 * (seen @ known.descriptors.T), 0))
    rows, columns = np.nonzero(distances < nearest)
    taken = batch.select(["id", "arrival_us"]).take(pa.array(rows))
    return pa.record_batch(
        [
            *taken.columns,
            pa.array(known.logos[columns], pa.int32()),
            pa.array(known.points[columns], pa.int32()),
            pa.array(distances[rows, columns], pa.float32()),
        ],
        names=["id", "arrival_us", "logo", "point", "distance"],
    )
