"""Attributes of tuples for preference queries: independent, or correlated with each other."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray
from mead.workload.generators.kind import GeneratorError

HIGHEST = 1000.0
CENTRE, SPREAD = 500.0, 30.0
"""Mean and standard deviation of correlated attributes."""


def uniform_attributes(count: int, attributes: int, rng: np.random.Generator) -> FloatArray:
    """Independent and uniform on [0, 1000): all streams of the Elastic-PPQ paper.

    >>> uniform_attributes(2, 3, np.random.default_rng(1)).shape
    (2, 3)
    """
    return HIGHEST * rng.random((count, attributes))


def correlated_attributes(count: int, attributes: int, correlation: float, rng: np.random.Generator) -> FloatArray:
    """Normal, each two of them with the same correlation: a high one makes skylines small, a negative one large.

    >>> rows = correlated_attributes(1000, 4, 0.9, np.random.default_rng(1))
    >>> bool(np.corrcoef(rows.T)[0, 1] > 0.85)
    True
    """
    least = -1 / (attributes - 1) if attributes > 1 else 0.0
    if not least <= correlation <= 1:
        raise GeneratorError(
            f"{attributes} attributes can have a common correlation between {least:g} and 1; got {correlation:g}"
        )
    covariance = np.full((attributes, attributes), correlation) + (1 - correlation) * np.eye(attributes)
    return rng.multivariate_normal(np.full(attributes, CENTRE), SPREAD**2 * covariance, count, method="eigh")
