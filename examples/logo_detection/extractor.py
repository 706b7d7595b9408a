"""Feature extractor: one row for every feature of a frame. How many there are, the picture decides."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from logo_detection.features import features
from logo_detection.frames import HEIGHT, WIDTH

OUTPUT_SCHEMA = "id bigint, arrival_us bigint, descriptor binary"

ROW = pa.schema([("id", pa.int64()), ("arrival_us", pa.int64()), ("descriptor", pa.binary())])


def extract(batch: pa.RecordBatch) -> pa.RecordBatch:
    """From ``id, arrival_us, pixels`` to the features of every frame, as bytes of 32-bit floats."""
    ids, stamps, descriptors = [], [], []
    frames = zip(*(batch.column(name).to_pylist() for name in ("id", "arrival_us", "pixels")), strict=True)
    for number, arrival_us, pixels in frames:
        found = features(np.frombuffer(pixels, dtype=np.uint8).reshape(HEIGHT, WIDTH))
        ids += [number] * len(found)
        stamps += [arrival_us] * len(found)
        descriptors += [descriptor.tobytes() for descriptor in found]
    return pa.record_batch([ids, stamps, descriptors], schema=ROW)
