"""The one array type of the models, and the two ways we make arrays safe to share."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


def frozen(values: npt.ArrayLike) -> FloatArray:
    """A read-only float64 copy, so that a value object cannot be changed from outside."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
