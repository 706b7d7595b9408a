"""Statistics of a trace too long for memory, from sums over its parts.

A part is a run of successive arrivals. To summarize it, one needs a few numbers about the whole trace (the ``Frame``)
and the IATs just before the part, as many as the longest lag. The summary (``Partial``) has the same size however long
the part is. Partials of neighbouring parts go together in the order of time, and the last one says what
`inter_arrivals` and `hurst` would have said about the whole trace in memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np

from mead.arrays import FloatArray, IntArray
from mead.queueing.statistics.hurst import Hurst, Level, SquaredCounts, hurst_of_counts, levels_of
from mead.queueing.statistics.inter_arrivals import dispersion, lags_of, spans_of, steps_of, whole_intervals
from mead.queueing.statistics.interval_counts import Counted, runs_by_length


@dataclass(frozen=True)
class Frame:
    """Facts of the whole trace that each part needs."""

    iats: int
    end_s: float
    """Seconds from the first arrival to the last."""

    @property
    def mean_s(self) -> float:
        """Mean IAT. It is subtracted from the IATs before they are multiplied, so that no digits are lost."""
        return self.end_s / self.iats

    @cached_property
    def lags(self) -> list[int]:
        """Lags at which the autocorrelation is taken."""
        return lags_of(self.iats)

    @property
    def longest_lag(self) -> int:
        """Number of IATs that must be known before a part."""
        return max(self.lags, default=0)

    @cached_property
    def spans_s(self) -> list[float]:
        """Lengths of the intervals over which the index of dispersion is taken."""
        return spans_of(self.iats, self.end_s)

    def step_s(self, span_s: float) -> float:
        """Time from the beginning of one interval of length ``span_s`` to the beginning of the next."""
        return span_s / steps_of(span_s, self.end_s)

    @cached_property
    def levels(self) -> list[Level]:
        """Intervals for the Hurst parameter."""
        return levels_of(self.iats, self.end_s)


@dataclass(frozen=True, eq=False)
class Partial:
    """The sums over one part."""

    iats: int = 0
    shortest_s: float = math.inf
    longest_s: float = -math.inf
    sums: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Sums of the IATs less their mean, of their squares, and of their products with the one a lag before."""
    lost: FloatArray = field(default_factory=lambda: np.zeros(0))
    """The rounding errors of the sums."""
    spans: tuple[Counted | IntArray, ...] = ()
    """Where intervals lie side by side, the sums. Where they overlap, the arrivals in every step of
    the whole trace: these are few, however long it is."""
    levels: tuple[tuple[Counted, Counted], ...] = ()
    """Counts for the Hurst parameter: in all intervals, and in those that make pairs."""

    @classmethod
    def of(cls, frame: Frame, iats_s: FloatArray, ages_s: FloatArray, before_s: FloatArray) -> Partial:
        """Summarize one part.

        It needs its IATs, their ages before the end of the trace, and the IATs before the part.

        Those before are as many as the longest lag, or fewer where the trace begins.
        """
        if iats_s.size == 0:
            return cls()
        near = before_s[max(before_s.size - frame.longest_lag, 0) :]
        off_mean = np.concatenate([near, iats_s]) - frame.mean_s
        sums = [off_mean[near.size :].sum()]
        for lag in (0, *frame.lags):
            start = max(near.size, lag)
            sums.append(off_mean[start:] @ off_mean[start - lag : max(off_mean.size - lag, 0)])
        lengths_s = [*map(frame.step_s, frame.spans_s), *(level.length_s for level in frame.levels)]
        runs = runs_by_length(ages_s, lengths_s, frame.end_s)
        spans: list[Counted | IntArray] = []
        for span_s in frame.spans_s:
            step_s = frame.step_s(span_s)
            whole = whole_intervals(frame.end_s, step_s)
            spans.append(runs[step_s].below(whole).counted() if step_s == span_s else runs[step_s].spread(whole))
        return cls(
            iats=iats_s.size,
            shortest_s=float(iats_s.min()),
            longest_s=float(iats_s.max()),
            sums=np.array(sums),
            lost=np.zeros(len(sums)),
            spans=tuple(spans),
            levels=tuple(
                (runs[at.length_s].below(at.intervals).counted(), runs[at.length_s].below(at.in_pairs).counted())
                for at in frame.levels
            ),
        )

    def then(self, later: Partial) -> Partial:
        """Together with the part that follows."""
        if not self.iats or not later.iats:
            return later if later.iats else self
        sums = self.sums + later.sums
        # Knuth's two-sum: what the addition has rounded off, exactly.
        added = sums - self.sums
        rounded = (self.sums - (sums - added)) + (later.sums - added)
        return Partial(
            iats=self.iats + later.iats,
            shortest_s=min(self.shortest_s, later.shortest_s),
            longest_s=max(self.longest_s, later.longest_s),
            sums=sums,
            lost=self.lost + later.lost + rounded,
            spans=tuple(_joined(one, other) for one, other in zip(self.spans, later.spans, strict=True)),
            levels=tuple(
                (one[0].then(other[0]), one[1].then(other[1]))
                for one, other in zip(self.levels, later.levels, strict=True)
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values, to be sent."""
        return {
            "iats": self.iats,
            "shortest_s": self.shortest_s,
            "longest_s": self.longest_s,
            "sums": self.sums.tolist(),
            "lost": self.lost.tolist(),
            "spans": [asdict(one) if isinstance(one, Counted) else _trimmed(one) for one in self.spans],
            "levels": [[asdict(one) for one in both] for both in self.levels],
        }

    @classmethod
    def from_json(cls, sent: Mapping[str, Any]) -> Partial:
        """Read a partial from its JSON form."""
        return cls(
            iats=sent["iats"],
            shortest_s=sent["shortest_s"],
            longest_s=sent["longest_s"],
            sums=np.array(sent["sums"]),
            lost=np.array(sent["lost"]),
            spans=tuple(_padded(one) if "size" in one else _counted(one) for one in sent["spans"]),
            levels=tuple((_counted(every), _counted(paired)) for every, paired in sent["levels"]),
        )


@dataclass(frozen=True)
class Characteristics:
    """A trace in a few numbers.

    A value is None where the trace has none; ``reasons`` says why, by name.
    """

    events: int
    duration_s: float
    rate_per_s: float | None
    scv: float | None
    acf: Mapping[int, float | None]
    idc: Mapping[float, float]
    hurst: Hurst | None
    reasons: Mapping[str, str]

    @classmethod
    def of(cls, frame: Frame, whole: Partial) -> Characteristics:
        """From the sums over all parts."""
        if whole.iats != frame.iats:
            raise ValueError(f"the parts have {whole.iats} IATs and the trace has {frame.iats}")
        reasons = {}
        if frame.end_s == 0:
            reasons = dict.fromkeys(("rate_per_s", "scv"), "all arrivals have the same time stamp")
        total, squares, *products = (whole.sums + whole.lost).tolist()
        constant = whole.shortest_s == whole.longest_s  # the mean of equal numbers may differ from them by rounding
        if constant:
            reasons["acf"] = "all inter-arrival times are equal, and equal numbers have no correlation"
        elif not frame.lags:
            reasons["acf"] = "there are too few inter-arrival times for any lag"
        if not frame.spans_s:
            reasons["idc"] = "there are too few arrivals to count in intervals"
        squared = [SquaredCounts(every.all_squares, paired.all_squares) for every, paired in whole.levels]
        estimate = hurst_of_counts(frame.levels, squared)
        if estimate is None:
            reasons["hurst"] = "there are too few arrivals, or they are too regular, for three octaves of time"
        elif not estimate.fits:
            reasons["hurst"] = "at no range of scales does the energy grow by one power; take the value as rough"
        variance = 0.0 if constant else (squares - total**2 / frame.iats) / frame.iats
        return cls(
            events=frame.iats + 1,
            duration_s=frame.end_s,
            rate_per_s=frame.iats / frame.end_s if frame.end_s else None,
            scv=variance / frame.mean_s**2 if frame.end_s else None,
            acf={lag: None if constant else at / squares for lag, at in zip(frame.lags, products, strict=True)},
            idc={span_s: _dispersion(frame, span_s, at) for span_s, at in zip(frame.spans_s, whole.spans, strict=True)},
            hurst=estimate,
            reasons=reasons,
        )


def _dispersion(frame: Frame, span_s: float, counted: Counted | IntArray) -> float:
    if not isinstance(counted, Counted):
        return dispersion(counted, steps_of(span_s, frame.end_s))
    # Variance over mean, in whole numbers until the last division.
    intervals = whole_intervals(frame.end_s, span_s)
    return (intervals * counted.all_squares - counted.arrivals**2) / (intervals * counted.arrivals)


def _joined(one: Counted | IntArray, other: Counted | IntArray) -> Counted | IntArray:
    if isinstance(one, Counted):
        return one.then(cast(Counted, other))
    return one + cast(IntArray, other)


def _counted(sent: Mapping[str, Any]) -> Counted:
    return Counted(tuple((number, count) for number, count in sent["ends"]), sent["squares"], sent["arrivals"])


def _trimmed(counts: IntArray) -> dict[str, Any]:
    """Without the zeros at both ends, which are most of it."""
    filled = np.flatnonzero(counts)
    first, end = (int(filled[0]), int(filled[-1]) + 1) if filled.size else (0, 0)
    return {"size": counts.size, "first": first, "counts": counts[first:end].tolist()}


def _padded(sent: Mapping[str, Any]) -> IntArray:
    counts = np.zeros(sent["size"], dtype=np.int64)
    counts[sent["first"] :][: len(sent["counts"])] = sent["counts"]
    return counts
