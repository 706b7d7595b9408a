"""Segments of a stream, and functions that draw and join them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import BLOCK, MAP, alias_table, walk

SMALLEST_BLOCK = 1 << 10


class Segment(NamedTuple):
    """Sorted arrivals from 0 to ``duration_s``."""

    times_s: FloatArray
    duration_s: float


def joined(segments: Iterable[Segment], *, duration_s: float | None = None, count: int | None = None) -> Segment:
    """Join segments in sequence, up to a duration or a number of arrivals.

    >>> half = Segment(np.array([0.1, 0.4]), 0.5)
    >>> joined([half, half, half], duration_s=0.9).times_s.tolist()
    [0.1, 0.4, 0.6]
    """
    end_s = inf if duration_s is None else duration_s
    pieces: list[FloatArray] = []
    start_s, arrived = 0.0, 0
    for times_s, length_s in segments:
        pieces.append(times_s + start_s)
        start_s += length_s
        arrived += times_s.size
        if start_s >= end_s or (count is not None and arrived >= count):
            break
    times_s = np.concatenate(pieces)
    return Segment(times_s[: int(times_s.searchsorted(end_s))][:count], min(start_s, end_s))


def block_sizes() -> Iterator[int]:
    """Yield sizes for draws of random numbers: small at first, for short traces, then the fastest size."""
    block = SMALLEST_BLOCK
    while True:
        yield block
        block = min(2 * block, BLOCK)


def poisson_segment(rate_per_s: float, duration_s: float, rng: np.random.Generator) -> Segment:
    """Draw a Poisson process: a Poisson number of arrivals at uniform times.

    Sums of exponentials over their total are uniform order statistics (Devroye 1986, V.2.1), so nothing is sorted.
    """
    sums = np.cumsum(rng.standard_exponential(int(rng.poisson(rate_per_s * duration_s)) + 1))
    return Segment(sums[:-1] * (duration_s / sums[-1]), duration_s)


def map_segments(arrivals: MAP, start: FloatArray, rng: np.random.Generator) -> Iterator[Segment]:
    """Yield segments of a MAP whose first phase has the distribution ``start``.

    Starting in ``time_stationary``, the mean number of arrivals in t seconds is exactly rate times t; starting in
    ``arrival_stationary``, the mean inter-arrival time is exactly the inverse of the rate.
    """
    hidden = arrivals.D0 - np.diag(np.diag(arrivals.D0))
    keep, other = alias_table(np.hstack([hidden, arrivals.D1]))
    mean_sojourn_s = -1.0 / np.diag(arrivals.D0)
    state, elapsed_s = int(rng.choice(arrivals.states, p=start)), 0.0
    for block in block_sizes():
        iats_s = np.empty(block)
        state, elapsed_s, done = walk(
            rng.standard_exponential(block), rng.random(block), mean_sojourn_s, keep, other, state, elapsed_s, iats_s, 0
        )
        times_s = np.cumsum(iats_s[:done])
        yield Segment(times_s, float(times_s[-1]) if done else 0.0)
