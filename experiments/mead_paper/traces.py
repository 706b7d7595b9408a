"""Figs. 2, 6 and 7 of the MEAD paper: arrival rate over time and autocorrelation of the traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table

from experiments.workloads import Workload
from mead.arrays import FloatArray
from mead.queueing import acf, scv
from mead.reports.tables import plain_table

INTERVAL_S = 10.0
"""Length of the intervals whose rates are shown."""

LAGS = tuple(np.unique(np.geomspace(1, 1000, 40).round().astype(int)).tolist())
PRINTED = (1, 10, 100, 1000)

WINDOWS = (25_000, 50_000, 100_000)
"""The windows of Table III, in arrivals."""

ROUND_S = 60.0
"""Time between two decisions."""


@dataclass(frozen=True)
class TraceCourse:
    """Rate and correlation of one trace."""

    trace: str
    title: str
    arrivals: int
    time_s: list[float]
    """Start of every interval; the last is left out if the trace ends within it."""
    rate_per_s: list[float]
    scv: float
    acf: list[float]
    """At ``LAGS``, as far as the trace is long enough."""
    rounds: int
    """Minutes of the trace, without the first."""
    surprises: dict[int, int]
    """By window: minutes whose busiest 10 s are busier than all that the window before them holds."""

    def as_json(self) -> dict[str, Any]:
        """One entry of ``traces``."""
        return asdict(self) | {"lags": list(LAGS[: len(self.acf)])}


def course_of(workload: Workload, *, seed: int) -> TraceCourse:
    """Count the arrivals of a trace, and correlate them."""
    trace = workload.trace(seed)
    edges_s = np.arange(0.0, max(trace.duration_s, INTERVAL_S) + 1e-9, INTERVAL_S)
    times_s = np.cumsum(trace.iats_s)
    counts = np.histogram(times_s, bins=edges_s)[0]
    lags = [lag for lag in LAGS if lag < trace.iats_s.size // 2]
    return TraceCourse(
        workload.name,
        workload.title,
        len(trace),
        edges_s[:-1].tolist(),
        (counts / INTERVAL_S).tolist(),
        scv(trace.iats_s),
        acf(trace.iats_s, lags).tolist(),
        len(_rounds_s(trace.duration_s)),
        {size: surprises(times_s, size) for size in WINDOWS},
    )


def _rounds_s(duration_s: float) -> FloatArray:
    """When decisions are made: every minute that another one follows."""
    return np.arange(ROUND_S, duration_s - ROUND_S, ROUND_S)


def surprises(times_s: FloatArray, size: int) -> int:
    """In how many rounds the next minute is busier than the last ``size`` arrivals ever were, over 10 s.

    Arrivals at 1/s with a spurt in every minute: if spurts grow, each is a surprise; backwards, none is.

    >>> spurts = [np.linspace(60.0 * k + 30, 60.0 * k + 31, 50 * (k + 1)) for k in range(5)]
    >>> times_s = np.sort(np.concatenate([*spurts, np.arange(0.0, 300.0)]))
    >>> surprises(times_s, 10_000), surprises(times_s[::-1].max() - times_s[::-1], 10_000)
    (3, 0)
    """
    busy = np.searchsorted(times_s, times_s + INTERVAL_S) - np.arange(times_s.size)  # arrivals within 10 s of each
    count = 0
    for now_s in _rounds_s(float(times_s[-1] - times_s[0])) + times_s[0]:
        seen, now, then = np.searchsorted(times_s, [now_s - INTERVAL_S, now_s, now_s + ROUND_S])
        past, ahead = busy[max(now - size, 0) : seen], busy[now:then]
        count += int(past.size > 0 and ahead.size > 0 and ahead.max() > past.max())
    return count


def traces_tables(courses: Sequence[TraceCourse]) -> Iterator[Table]:
    """Rate and correlation of every trace, and how often a window does not show what follows."""
    title = f"Rate per s in intervals of {INTERVAL_S:g} s, and autocorrelation of the IATs"
    table = plain_table(title, "trace", "arrivals", "mean", "lowest", "highest", "SCV", *(f"lag {k}" for k in PRINTED))
    for one in courses:
        rates = np.array(one.rate_per_s)
        known = dict(zip(LAGS, one.acf, strict=False))
        correlations = [f"{known[lag]:.3f}" if lag in known else "-" for lag in PRINTED]
        cells = [f"{rate:.0f}" for rate in (rates.mean(), rates.min(), rates.max())]
        table.add_row(one.trace, f"{one.arrivals:,}", *cells, f"{one.scv:.2f}", *correlations)
    yield table
    rows = plain_table(
        f"Minutes whose busiest {INTERVAL_S:g} s are busier than any in the window before them",
        "trace",
        "minutes",
        *(f"{size:,}" for size in WINDOWS),
    )
    for one in courses:
        rows.add_row(one.trace, str(one.rounds), *(str(one.surprises[size]) for size in WINDOWS))
    yield rows
