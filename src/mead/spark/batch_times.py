"""When the rows of a micro-batch arrived, and how long they took: of our own queries, and of those of others."""

from __future__ import annotations

from mead.monitor.arrivals import Arrivals
from mead.monitor.responses import BatchResponses
from mead.spark.probe import Stamps
from mead.spark.progress import Progress

STAMP_ERROR_US = 1_000_000
"""So far stamps may lie in the future, where other machines have set them."""


def stamp_fault(progress: Progress, stamps: Stamps) -> str:
    """Why the stamps cannot be true; empty if they can."""
    if stamps.rows and stamps.at_ranks_us[-1] > progress.done_us + STAMP_ERROR_US:
        return f"tuples of {progress.query or 'the query'} are said to have arrived in the future"
    return ""


def add_stamps(arrivals: Arrivals, stamps: Stamps) -> None:
    """Every single arrival where they are all known, and otherwise evenly between the ranks."""
    if stamps.all_us is None:
        arrivals.add_spread(stamps.at_ranks_us, stamps.rows)
    else:
        arrivals.add(stamps.all_us)


def responses(progress: Progress, stamps: Stamps, began_us: int) -> BatchResponses:
    """All rows of a micro-batch are done when it is. ``began_us`` is when the run did.

    Clocks of milliseconds and microseconds can disagree by one, so that what would be below 0 is 0.
    """
    return BatchResponses(
        (progress.done_us - began_us) / 1e6,
        stamps.rows,
        max(progress.done_us - stamps.mean_us, 0.0) / 1e6,
        ((progress.done_us - stamps.at_ranks_us) / 1e6).clip(min=0.0),
    )
