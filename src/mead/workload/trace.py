"""The arrivals of one stream, as every reader and every generator returns them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mead.arrays import FloatArray, IntArray, frozen

Unit: TypeAlias = Literal["s", "ms", "us", "ns"]

TICKS_PER_S: dict[Unit, int] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

LARGEST_US = 1e17
"""Time stamps must stay below this, the year 5138. Epoch milliseconds that are read as seconds exceed it."""

TOO_FAR = "is too far away; check the unit of the file (--unit)"

LONGEST_MEAN_DELAY_S = 1e9
"""A mean delay above 30 years is a mistaken unit."""


class TraceError(ValueError):
    """Invalid arrivals. The message says what is wrong, where, and what to do."""


class BadRowError(TraceError):
    """An invalid row. Rows are counted from 1.

    >>> str(BadRowError(3, ": no number").after(100))
    'row 103: no number'
    """

    def __init__(self, row: int, said: str) -> None:
        super().__init__(f"row {row}{said}")
        self.row, self.said = row, said

    def after(self, rows: int) -> BadRowError:
        """Return the error for a trace with ``rows`` rows before this part."""
        return BadRowError(self.row + rows, self.said)


@dataclass(frozen=True, eq=False)
class Trace:
    """At least two arrivals in order of time.

    There are n time stamps, and n - 1 inter-arrival times (IATs) between them.

    It keeps both, because neither can be computed exactly from the other: time stamps are whole microseconds, IATs
    are floats in seconds and may be finer. Use ``from_timestamps_us``, ``from_timestamps_s`` or ``from_iats_s``:
    they check their input.

    >>> trace = Trace.from_timestamps_us([5_000_000, 5_500_000, 7_000_000])
    >>> trace.iats_s.tolist(), trace.duration_s, trace.rate_per_s
    ([0.5, 1.5], 2.0, 1.0)
    """

    timestamps_us: IntArray
    iats_s: FloatArray
    event_timestamps_us: IntArray | None = None
    """Time at which each tuple was created, if it arrived later (see ``with_random_delays``)."""

    def __post_init__(self) -> None:
        for values in (self.timestamps_us, self.iats_s, self.event_timestamps_us):
            if values is not None:
                values.setflags(write=False)

    # -- constructors -------------------------------------------------------------------------------------------

    @classmethod
    def from_timestamps_us(cls, timestamps_us: npt.ArrayLike, *, sort: bool = False) -> Trace:
        """Make a trace from whole microseconds."""
        return cls.from_ticks(timestamps_us, "us", sort=sort)

    @classmethod
    def from_ticks(cls, timestamps: npt.ArrayLike, unit: Unit, *, sort: bool = False) -> Trace:
        """Make a trace from whole numbers of any unit.

        >>> Trace.from_ticks([1, 3], "ms").timestamps_us.tolist()
        [1000, 3000]
        """
        ticks = np.array(timestamps, dtype=np.int64)
        gaps = _checked_gaps(ticks, unit, sort=sort)
        us_per_tick = Fraction(TICKS_PER_S["us"], TICKS_PER_S[unit])
        if us_per_tick > 1:
            ticks *= us_per_tick.numerator
        elif us_per_tick < 1:
            ticks = (ticks + us_per_tick.denominator // 2) // us_per_tick.denominator
        return cls(ticks, gaps / TICKS_PER_S[unit])

    @classmethod
    def from_timestamps_s(cls, timestamps_s: npt.ArrayLike, *, sort: bool = False) -> Trace:
        """Make a trace from seconds.

        Values within rounding error of whole microseconds become whole, so that text with six decimals is exact.
        """
        seconds = np.array(timestamps_s, dtype=np.float64)
        gaps = _checked_gaps(seconds, "s", sort=sort)
        timestamps_us, off_us = whole_us(seconds)
        if is_rounding(off_us, timestamps_us[-1]):
            return cls(timestamps_us, np.diff(timestamps_us) / 1e6)
        return cls(timestamps_us, np.asarray(gaps, dtype=np.float64))

    @classmethod
    def from_iats_s(cls, iats_s: npt.ArrayLike) -> Trace:
        """Make a trace of n + 1 arrivals, the first at time 0, from n inter-arrival times in seconds.

        >>> Trace.from_iats_s([0.25, 0.5]).timestamps_us.tolist()
        [0, 250000, 750000]
        """
        iats = frozen(iats_s)
        if iats.ndim != 1:
            raise TraceError(f"inter-arrival times must be one row of numbers; got an array of shape {iats.shape}")
        if iats.size == 0:
            raise TraceError("no inter-arrival times; a trace needs at least one")
        check_iats(iats)
        check_sum(float(iats.sum()))
        micros = iats * 1e6
        # Integers add up exactly. The remainders are small, and so is the error of their sum.
        whole = np.rint(micros)
        micros -= whole
        timestamps_us = np.zeros(iats.size + 1, dtype=np.int64)
        np.cumsum(whole, dtype=np.int64, out=timestamps_us[1:])
        timestamps_us[1:] += np.rint(np.cumsum(micros)).astype(np.int64)
        return cls(timestamps_us, iats)

    def with_event_timestamps_us(self, event_timestamps_us: npt.ArrayLike) -> Trace:
        """Return the same arrivals with the creation time of each tuple."""
        events = np.array(event_timestamps_us, dtype=np.int64)
        if events.shape != self.timestamps_us.shape:
            raise TraceError(f"{self.timestamps_us.size} arrivals need as many event time stamps; got {events.size}")
        return replace(self, event_timestamps_us=events)

    def with_random_delays(self, mean_delay_s: float, rng: np.random.Generator) -> Trace:
        """Delay every tuple independently, uniformly from 0 to twice the mean, and sort by arrival.

        The time stamps of this trace become the event times. This is the disorder of De Matteis and Mencagli,
        "Elastic-PPQ" (2018), section 6: with a mean delay of 200 ms no tuple is later than 0.4 s.

        >>> late = Trace.from_iats_s([0.1] * 9).with_random_delays(0.2, np.random.default_rng(1))
        >>> bool((late.timestamps_us >= late.event_timestamps_us).all())
        True
        """
        if not 0 <= mean_delay_s <= LONGEST_MEAN_DELAY_S:
            raise TraceError(f"the mean delay must lie between 0 and {LONGEST_MEAN_DELAY_S:g} s; got {mean_delay_s:g}")
        delays_us = np.rint(rng.random(len(self)) * (2e6 * mean_delay_s)).astype(np.int64)
        arrivals_us = self.timestamps_us + delays_us
        order = np.argsort(arrivals_us, kind="stable")
        return Trace.from_timestamps_us(arrivals_us[order]).with_event_timestamps_us(self.timestamps_us[order])

    def between(self, start_s: float, end_s: float) -> Trace:
        """Return the arrivals from ``start_s`` to ``end_s`` after the first one, both included.

        >>> Trace.from_timestamps_s([5.0, 6.0, 8.0, 9.0]).between(1.0, 3.0).timestamps_us.tolist()
        [6000000, 8000000]
        """
        if not start_s <= end_s:
            raise TraceError(f"the end of a part, {end_s:g} s, must not be before its start, {start_s:g} s")
        times_s = self.times_s
        first, end = int(np.searchsorted(times_s, start_s)), int(np.searchsorted(times_s, end_s, side="right"))
        if end - first < 2:
            raise TraceError(f"fewer than two arrivals lie between {start_s:g} s and {end_s:g} s after the first")
        events = self.event_timestamps_us
        return replace(
            self,
            timestamps_us=self.timestamps_us[first:end],
            iats_s=self.iats_s[first : end - 1],
            event_timestamps_us=None if events is None else events[first:end],
        )

    # -- statistics ---------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Return the number of arrivals."""
        return int(self.timestamps_us.size)

    @property
    def times_s(self) -> FloatArray:
        """Arrival times in seconds since the first arrival."""
        return np.asarray((self.timestamps_us - self.timestamps_us[0]) / 1e6)

    @property
    def duration_s(self) -> float:
        """Seconds from the first arrival to the last."""
        return float(self.iats_s.sum())

    @property
    def rate_per_s(self) -> float:
        """Mean arrivals per second: the number of IATs over their sum."""
        if self.duration_s == 0:
            raise TraceError(f"all {len(self)} arrivals have the same time stamp, so there is no rate")
        return self.iats_s.size / self.duration_s


def _checked_gaps(values: IntArray | FloatArray, unit: Unit, *, sort: bool) -> IntArray | FloatArray:
    """Check time stamps, sort them in place if ``sort``, and return the gaps between them."""
    if values.ndim != 1:
        raise TraceError(f"time stamps must be one row of numbers; got an array of shape {values.shape}")
    check_enough(values.size)
    check_timestamps(values, unit)
    if sort:
        values.sort()
    return gaps_in_order(values, unit)


# -- checks of a trace or a part of one ---------------------------------------------------------------------------


def check_enough(arrivals: int) -> None:
    """Refuse fewer than two arrivals."""
    if arrivals < 2:
        raise TraceError(f"{'only one arrival' if arrivals else 'no arrivals'}; a trace needs at least two")


def check_timestamps(values: IntArray | FloatArray, unit: Unit) -> None:
    """Refuse time stamps that are not finite, negative, or in the far future."""
    _check_finite(values, "time stamp")
    if values.min() < 0:
        row = int((values < 0).argmax())
        raise BadRowError(row + 1, f": time stamp {values[row]} {unit} is negative; count from the start of the trace")
    check_near(values, unit, "time stamp")


def gaps_in_order(values: IntArray | FloatArray, unit: Unit) -> IntArray | FloatArray:
    """Return the gaps between time stamps. Refuse one that is before its predecessor."""
    gaps = np.diff(values)
    if gaps.min(initial=0) < 0:
        row = int((gaps < 0).argmax()) + 1
        raise BadRowError(
            row + 1,
            f": time stamp {values[row]} {unit} is before the one above it ({values[row - 1]} {unit}); "
            "use --sort to put them in order, or --iat if these are inter-arrival times",
        )
    return gaps


def check_iats(iats_s: FloatArray) -> None:
    """Refuse IATs that are not finite, negative, or of thousands of years."""
    _check_finite(iats_s, "inter-arrival time")
    if iats_s.min() < 0:
        row = int((iats_s < 0).argmax())
        raise BadRowError(
            row + 1,
            f": inter-arrival time {iats_s[row]:g} s is negative; if these are time stamps, leave out --iat",
        )
    check_near(iats_s, "s", "inter-arrival time")


def check_near(values: IntArray | FloatArray, unit: Unit, what: str) -> None:
    """Refuse times thousands of years away, which come from a mistaken unit."""
    largest = LARGEST_US / TICKS_PER_S["us"] * TICKS_PER_S[unit]
    if values.max(initial=0) >= largest or values.min(initial=0) <= -largest:
        row = int((np.abs(values) >= largest).argmax())
        raise BadRowError(row + 1, f": {what} {values[row]:g} {unit} {TOO_FAR}")


def check_sum(seconds: float) -> None:
    """Refuse IATs that add up to thousands of years."""
    if seconds * TICKS_PER_S["us"] >= LARGEST_US:
        raise TraceError(f"the sum of the inter-arrival times, {seconds:g} s, {TOO_FAR}")


def _check_finite(values: IntArray | FloatArray, what: str) -> None:
    # NaN propagates through min and max, so valid values need no array of flags.
    if not (np.isfinite(values.min()) and np.isfinite(values.max())):
        row = int((~np.isfinite(values)).argmax())
        raise BadRowError(row + 1, f": {what} is {values[row]}; every row needs a finite number")


# -- seconds that are whole microseconds --------------------------------------------------------------------------


def whole_us(seconds: FloatArray) -> tuple[IntArray, float]:
    """Return the nearest whole microseconds and the largest rounding error. Overwrites ``seconds``."""
    seconds *= 1e6
    whole = np.rint(seconds)
    off_us = np.abs(np.subtract(seconds, whole, out=seconds), out=seconds).max(initial=0.0)
    return whole.astype(np.int64), float(off_us)


def is_rounding(off_us: float, last_us: float) -> bool:
    """Return True if an error of ``off_us`` is only float rounding, for time stamps up to ``last_us``.

    >>> is_rounding(1e-7, last_us=5e6), is_rounding(0.25, last_us=5e6)
    (True, False)
    """
    return bool(off_us <= 1e-6 + 4 * np.finfo(np.float64).eps * last_us)
