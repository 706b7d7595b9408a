"""Forecast of the next period's tuples from counts of recent periods.

The state of the arrivals is one number, the exponentially smoothed rate. What follows it is the empirical distribution
of the counts that followed similar rates. So bursts keep their length and their return to the mean, and their height
is what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import exp

import numpy as np

from mead.arrays import FloatArray, frozen

RATES = 10
"""States of the rate, from below the lowest to above the highest that was seen."""

PARTS = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.96, 0.99, 1.0])
"""A distribution is kept as the means of these parts of it: finer towards the top, as bursts are what makes late."""

CHANCES = np.diff(PARTS)

MEMORY_S = 3.0
"""The time constant of the smoothing. Between 2 and 30 s it matters little."""

SIMILAR = 0.25
"""Rates count as similar if they differ by no more than about this part."""

LOWEST_RATE = 0.05
"""The lowest rate of the grid, as a part of the mean: rates below it are not told apart."""

HEADROOM = 1.25
"""Factor by which the grid of rates reaches beyond the highest seen."""


@dataclass(frozen=True, eq=False)
class RateModel:
    """A Markov chain on a grid of rates, in tuples per period."""

    rates: FloatArray
    """Each higher than the last by the same factor."""
    outcomes: FloatArray = field(repr=False)
    """``outcomes[i]``: counts that follow the rate i, with the probabilities ``CHANCES``."""
    smoothing: float
    """The weight of a new count."""
    mean: float
    """Tuples per period, of the counts that it was learned from."""
    highest: float
    """The most tuples in one period."""
    errors: FloatArray = field(repr=False)
    """The error of the predicted backlog at the time an order acts, in periods of the rate, with ``CHANCES``.

    It is zero where orders act at once.
    """

    def scaled(self, factor: float) -> RateModel:
        """The same where ``factor`` tuples come for each one here."""
        return replace(
            self,
            rates=self.rates * factor,
            outcomes=self.outcomes * factor,
            mean=self.mean * factor,
            highest=self.highest * factor,
        )


def smoothing(period_s: float) -> float:
    """The weight of one period's count in the smoothed rate."""
    return 1 - exp(-period_s / MEMORY_S)


def smoothed(counts: FloatArray, weight: float) -> FloatArray:
    """The smoothed rate after each count; the first counts are simply averaged.

    >>> smoothed(np.array([4.0, 8.0, 6.0]), weight=0.1).round(3).tolist()
    [4.0, 6.0, 6.0]
    """
    rates = np.empty(counts.size)
    rate = 0.0
    for k, count in enumerate(counts.tolist()):
        rate += max(weight, 1 / (k + 1)) * (count - rate)
        rates[k] = rate
    return rates


def learn(counts: FloatArray, period_s: float, *, most: float = 0.0, delay: int = 0) -> RateModel:
    """The chain that these counts, oldest first, are a path of.

    Its grid reaches beyond the rate ``most``. Backlogs are predicted ``delay`` periods ahead.

    >>> steady = learn(np.full(60, 100.0), period_s=1.0)
    >>> bool(np.allclose(steady.outcomes[3], steady.rates[3]))
    True
    """
    weight = smoothing(period_s)
    # After a pause the rate is next to nothing, and no grid can reach from there to the usual.
    rates = np.maximum(smoothed(counts, weight), max(LOWEST_RATE * float(counts.mean()), 1e-9))
    before, after = rates[:-1], counts[1:]
    grid = np.geomspace(0.8 * np.quantile(before, 0.02), HEADROOM * max(before.max(), most), RATES)
    # Beyond the common rates there is too little to learn from: there, the common ones are scaled.
    near = np.clip(grid, *np.quantile(before, [0.05, 0.95]))
    distance = np.log(before)[None, :] - np.log(near)[:, None]
    likeness = np.exp(-0.5 * (distance / SIMILAR) ** 2)
    outcomes = [_parts(after * rate / before, alike) for rate, alike in zip(grid, likeness, strict=True)]
    return RateModel(
        frozen(grid),
        frozen(np.array(outcomes)),
        weight,
        float(counts.mean()),
        float(counts.max()),
        frozen(_errors(counts, rates, delay)),
    )


def _errors(counts: FloatArray, rates: FloatArray, delay: int) -> FloatArray:
    """Arrivals in the next ``delay`` periods beyond those that the rate predicts, in periods of that rate."""
    if delay == 0 or counts.size <= delay:
        return np.zeros(CHANCES.size)
    sums = np.convolve(counts, np.ones(delay), mode="valid")[1:]
    promised = rates[: sums.size]
    return _parts((sums - delay * promised) / promised, np.ones(sums.size))


def _parts(values: FloatArray, weights: FloatArray) -> FloatArray:
    """The means of the parts of a distribution, lowest first.

    >>> _parts(np.arange(100.0), np.ones(100)).round(6).tolist()
    [9.5, 29.5, 49.5, 69.5, 84.5, 92.5, 97.0, 99.0]
    """
    order = np.argsort(values)
    weights = weights[order] / weights.sum()
    reached = np.concatenate([[0.0], np.cumsum(weights)])
    sums = np.concatenate([[0.0], np.cumsum(weights * values[order])])
    return np.asarray(np.diff(np.interp(PARTS, reached, sums)) / CHANCES)
