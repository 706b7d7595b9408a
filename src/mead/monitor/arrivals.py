"""A ring buffer of arrivals: the last inter-arrival times, and counts in bins."""

from __future__ import annotations

import numpy as np

from mead.arrays import FloatArray, IntArray, frozen
from mead.values import COUNT_BIN_S

BIN_US = round(COUNT_BIN_S * 1e6)
COUNTED_BINS = round(600 / COUNT_BIN_S)

STAMP_ERROR_US = 1_000_000
"""Stamps may lie this far in the future, since other machines may have set them."""


class Arrivals:
    """Arrival stamps. They come in bunches, each in order; bunches of different tasks may overlap a little.

    >>> arrivals = Arrivals(kept_iats=2)
    >>> arrivals.add(np.array([1_000_000, 1_050_000, 1_250_000]))
    >>> arrivals.add(np.array([1_200_000]))
    >>> arrivals.iats_s
    array([0.15, 0.05])
    >>> arrivals.known_until(1_300_000)
    >>> arrivals.counts
    array([2., 0., 2.])
    """

    def __init__(self, kept_iats: int) -> None:
        self._kept = kept_iats + 1
        self._stamps_us: IntArray = np.empty(2 * self._kept, dtype=np.int64)
        self._size = 0
        self._first_us: int | None = None
        self._bins = np.zeros(2 * COUNTED_BINS)
        self._dropped_bins = 0
        self._known_bins = 0

    def add(self, stamps_us: IntArray) -> None:
        """Add all arrivals of one micro-batch."""
        if stamps_us.size == 0:
            return
        if self._first_us is None:
            self._first_us = int(stamps_us[0])
        self._count(stamps_us, 1.0)
        self._append(stamps_us[-self._kept :])

    def _append(self, stamps_us: IntArray) -> None:
        """Append a bunch of no more stamps than are kept."""
        late = self._size - int(np.searchsorted(self._stamps_us[: self._size], stamps_us[0], side="right"))
        if late:
            stamps_us = np.sort(np.concatenate([self._stamps_us[self._size - late : self._size], stamps_us]))
            self._size -= late
        if self._size + stamps_us.size > self._stamps_us.size:
            keep = min(self._size, self._kept)
            self._stamps_us[:keep] = self._stamps_us[self._size - keep : self._size].copy()
            self._size = keep
        stamps_us = stamps_us[-self._kept :]
        self._stamps_us[self._size : self._size + stamps_us.size] = stamps_us
        self._size += stamps_us.size

    def add_spread(self, at_ranks_us: FloatArray, rows: int) -> None:
        """Add arrivals whose stamps are known only at some ranks, spread evenly between those.

        The inter-arrival times then show the rate, but less than the true burstiness. Without them a large micro-batch
        would look like a silence.

        >>> arrivals = Arrivals(kept_iats=3)
        >>> arrivals.add_spread(np.array([1e6, 1.1e6, 1.5e6]), rows=9)
        >>> arrivals.iats_s
        array([0.1, 0.1, 0.1])
        """
        if self._first_us is None:
            self._first_us = int(at_ranks_us[0])
        first, last = (int((at_us - self._first_us) // BIN_US) for at_us in (at_ranks_us[0], at_ranks_us[-1]))
        # Older stamps go into the first bin: one stamp of 1970 would make millions of bins.
        bins = np.arange(max(first, last - self._bins.size), last + 1)
        starts_us = self._first_us + BIN_US * bins
        below = np.interp(starts_us[1:], at_ranks_us, np.linspace(0.0, 1.0, at_ranks_us.size))
        self._count(starts_us, rows * np.diff(below, prepend=0.0, append=1.0))
        known_at = np.linspace(0.0, rows - 1.0, at_ranks_us.size)
        self._append(np.interp(np.arange(max(0, rows - self._kept), rows), known_at, at_ranks_us).astype(np.int64))

    def known_until(self, time_us: int) -> None:
        """Declare that all arrivals before this time have been added. Only bins that are over by then count."""
        if self._first_us is not None:
            self._known_bins = max(self._known_bins, (time_us - self._first_us) // BIN_US)
            self._make_room(self._known_bins)

    def at(self, time_us: int) -> None:
        """Forget stamps that are later than the present time: they come from a clock that has been set back since.

        Otherwise they would stay the latest arrivals for as long as that clock was ahead.
        """
        last_us = time_us + STAMP_ERROR_US
        self._size = int(np.searchsorted(self._stamps_us[: self._size], last_us, side="right"))
        if self._first_us is None:
            return
        past = (last_us - self._first_us) // BIN_US + 1 - self._dropped_bins
        if past > 0:
            self._bins[past:] = 0.0
            self._known_bins = min(self._known_bins, (time_us - self._first_us) // BIN_US)
        else:  # all counted arrivals were ahead
            self._bins[:] = 0.0
            self._first_us, self._dropped_bins, self._known_bins = None, 0, 0

    @property
    def iats_s(self) -> FloatArray:
        """The last inter-arrival times, oldest first."""
        return frozen(np.diff(self._stamps_us[max(0, self._size - self._kept) : self._size]) / 1e6)

    @property
    def counts(self) -> FloatArray:
        """Arrivals in the last ten minutes, in bins that lie on a grid from the first arrival."""
        end = self._known_bins - self._dropped_bins
        return frozen(self._bins[max(0, end - COUNTED_BINS) : max(0, end)].copy())

    def _count(self, stamps_us: IntArray, weights: FloatArray | float) -> None:
        assert self._first_us is not None  # noqa: S101 - a fact, not a check
        bins = (stamps_us - self._first_us) // BIN_US
        self._make_room(int(bins.max()) + 1)
        np.add.at(self._bins, np.maximum(bins - self._dropped_bins, 0), weights)

    def _make_room(self, bins: int) -> None:
        """Forget bins that are older than ten minutes."""
        beyond = bins - self._dropped_bins - self._bins.size
        if beyond > 0:
            shift = max(beyond, COUNTED_BINS)
            rest = self._bins[shift:].copy()
            self._bins[:] = 0.0
            self._bins[: rest.size] = rest
            self._dropped_bins += shift
