"""Arrival and response times of a micro-batch's rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from mead.monitor import STAMP_ERROR_US, Arrivals, BatchResponses
from mead.spark.telemetry.probe import Stamps
from mead.spark.telemetry.reports import BatchReport
from mead.values import Requirement

COARSE_US = 1_000_000
"""Resolution of stamps that some sources have, such as AMQP's timestamp: whole seconds."""

COARSE_ROWS = 10
"""Fewer rows may all have arrived at whole seconds by chance."""


def find_stamp_fault(progress: BatchReport, stamps: Stamps, requirements: Sequence[Requirement] = ()) -> str:
    """Return why the stamps cannot be used for these requirements; empty if they can."""
    whose = progress.query or "the query"
    if stamps.unstamped and not stamps.stamped:
        return f"tuples of {whose} have no time of arrival"
    if stamps.stamped and stamps.at_ranks_us[-1] > progress.done_us + STAMP_ERROR_US:
        return f"tuples of {whose} are said to have arrived in the future"
    tight_s = min((r.bound_s for r in requirements), default=inf)
    if tight_s < 2e-6 * COARSE_US and stamps.stamped >= COARSE_ROWS and not (stamps.at_ranks_us % COARSE_US).any():
        return f"tuples of {whose} have arrival times in whole seconds, too coarse for a bound of {tight_s:g} s"
    return ""


def add_stamps(arrivals: Arrivals, stamps: Stamps) -> None:
    """Add every single arrival where all are known; otherwise spread them evenly between the ranks."""
    if stamps.all_us is None:
        arrivals.add_spread(stamps.at_ranks_us, stamps.stamped)
    else:
        arrivals.add(stamps.all_us)


def batch_responses(progress: BatchReport, stamps: Stamps, began_us: int) -> BatchResponses:
    """Return response times of a micro-batch, whose rows are all done when it is.

    ``began_us`` is the start of the run. Clocks of milliseconds and of microseconds can disagree by one, so negative
    response times count as 0. Rows without a stamp are left out.
    """
    return BatchResponses(
        (progress.done_us - began_us) / 1e6,
        stamps.stamped,
        max(progress.done_us - stamps.mean_us, 0.0) / 1e6,
        ((progress.done_us - stamps.at_ranks_us) / 1e6).clip(min=0.0),
    )
