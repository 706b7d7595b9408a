"""Tuples that arrive later than they came into being, each by its own delay, and so out of order."""

from __future__ import annotations

import numpy as np

from mead.workload.trace import Trace, TraceError

LONGEST_MEAN_S = 1e9
"""Delays of more than 30 years are a mistaken unit."""


def delayed(trace: Trace, mean_delay_s: float, rng: np.random.Generator) -> Trace:
    """The same tuples after independent delays, uniform from 0 to twice the mean.

    The time stamps given become the event times; what is sorted are the arrivals. De Matteis and Mencagli,
    "Elastic-PPQ" (2018), section 6: with a mean delay of 200 ms nobody is later than 0.4 s.

    >>> late = delayed(Trace.from_iats_s([0.1] * 9), mean_delay_s=0.2, rng=np.random.default_rng(1))
    >>> bool((late.timestamps_us >= late.event_timestamps_us).all())
    True
    """
    if not 0 <= mean_delay_s <= LONGEST_MEAN_S:
        raise TraceError(f"the mean delay must lie between 0 and {LONGEST_MEAN_S:g} s; got {mean_delay_s:g}")
    delays_us = np.rint(rng.random(len(trace)) * (2e6 * mean_delay_s)).astype(np.int64)
    arrivals_us = trace.timestamps_us + delays_us
    order = np.argsort(arrivals_us, kind="stable")
    return Trace.from_timestamps_us(arrivals_us[order]).with_event_timestamps_us(trace.timestamps_us[order])
