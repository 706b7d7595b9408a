"""A margin on the rate of a window: the upper end of its confidence interval.

Under bursts that last for minutes, a window of some minutes gives a rough rate: that of the next window differs by more
than Poisson arrivals would. Near saturation, response times depend on the rate more than on anything else, so half of
the predictions for the measured rate would be exceeded.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from statistics import NormalDist

import numpy as np

from mead.arrays import FloatArray
from mead.values import Requirement

BATCHES = 10
"""Parts of a window, long enough to be nearly independent and enough to show a variance: the usual number."""


def higher_rate(iats_s: FloatArray, requirements: Iterable[Requirement]) -> float:
    """The factor from the rate of a window to the upper end of its confidence interval.

    The standard error comes from batch means: the variance of the counts in ten equal parts of the window. A percentile
    is as sure as it says, so that a p95 asks for the rate that is not exceeded with 95 %; a mean asks for one standard
    error.

    >>> steady = np.full(1000, 0.01)
    >>> round(higher_rate(steady, [Requirement("parser", bound_s=0.3)]), 2)
    1.0
    >>> faster = np.concatenate([np.full(500, 0.02), np.full(1000, 0.01)])
    >>> round(higher_rate(faster, [Requirement("parser", bound_s=0.3)]), 2)
    1.11
    """
    times_s = np.cumsum(iats_s)
    counts = np.histogram(times_s, bins=BATCHES, range=(0.0, float(times_s[-1])))[0]
    error = float(counts.std(ddof=1)) / sqrt(BATCHES) / float(counts.mean())
    return 1.0 + max((_sureness(requirement) for requirement in requirements), default=0.0) * error


def _sureness(requirement: Requirement) -> float:
    """How many standard errors above the measured rate a requirement asks for."""
    return max(1.0, NormalDist().inv_cdf(requirement.percent / 100)) if requirement.percent else 1.0
