"""The query, fixed for a folder, and the options of its execution."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from mead.preference.control.degrees import Degrees
from mead.preference.control.far_stamps import AHEAD_US, DAY_US
from mead.preference.control.fuzzy import CODE, Profile
from mead.preference.control.punctuation import KSlack
from mead.preference.control.threshold import PAPER_SET_POINT
from mead.preference.kernels.dominance import PreferenceError, Preferences
from mead.preference.spark.user_relation import Relation
from mead.preference.windows.owner_table import Splitting
from mead.preference.windows.panes import Windows

EVENT, ARRIVAL = "_event_us", "_arrival_us"
"""Columns of the log of tuples, beside those of the user."""

NUMBER = "_number"
"""The number of a tuple in order of arrival. It distinguishes equal tuples, the same way in every run."""

WINDOW, START, END = "window", "window_start", "window_end"
"""Columns of the results, before those of the user."""

RESERVED = (EVENT, ARRIVAL, NUMBER, WINDOW, START, END, "to")
"""The last one has a meaning in the logs: the reader that a row is for."""

UNITS_MS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "second", "seconds"), 1_000),
    **dict.fromkeys(("min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
    **dict.fromkeys(("d", "day", "days"), 86_400_000),
}
LENGTH = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-z]+)")


class Kernel(Enum):
    """Algorithms that find dominated tuples, with the same answer."""

    SORTED = "sorted"
    """One sorted pass with bit masks: the cost of a tuple hardly depends on their number."""
    NESTED_LOOP = "nested-loop"
    """The paper's algorithm, with the load that splitting is made for. For experiments."""


@dataclass(frozen=True)
class QuerySpec:
    """The query itself."""

    preferences: Preferences
    windows: Windows
    delta: int | None = None
    """Number of best tuples of every window; None for the whole skyline."""
    slack_us: int | None = None
    """How long to wait for late tuples; None for K-slack, which learns it."""
    target_drop_ratio: float = 0.0
    """K-slack waits only as long as needed to drop this part of the tuples; 0 for the standard form."""
    ahead_us: int = AHEAD_US
    """Tuples whose event time is further ahead of their arrival are set aside."""
    relation: Relation | None = None
    """A dominance relation of the user on the preferred columns; None for that of the skyline."""

    def __post_init__(self) -> None:
        if self.delta is not None and self.delta < 1:
            raise PreferenceError(f"top must be at least 1; got {self.delta}")
        if self.delta is not None and self.relation is not None:
            raise PreferenceError("top counts columns to minimise or maximise; leave out top or dominates")
        if self.slack_us is not None and self.target_drop_ratio:
            raise PreferenceError("slack and target_drop_ratio exclude each other; leave one out")
        try:
            self.k_slack()
        except ValueError as error:
            raise PreferenceError(str(error)) from error

    def k_slack(self) -> KSlack:
        """Return K-slack before the first tuple. Punctuations are free here, so there is no minimum gap."""
        return KSlack(
            self.windows.pane_us,
            self.target_drop_ratio,
            least_gap_us=0,
            fixed_us=self.slack_us,
            longest_us=max(DAY_US, 1000 * self.windows.length_ms),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the document by which a folder is recognized."""
        return {
            "columns": list(self.preferences.columns),
            "directions": list(self.preferences.directions),
            "length_ms": self.windows.length_ms,
            "slide_ms": self.windows.slide_ms,
            "delta": self.delta,
            "slack_us": self.slack_us,
            "target_drop_ratio": self.target_drop_ratio,
            "ahead_us": self.ahead_us,
            "relation": None if self.relation is None else self.relation.name,
        }


@dataclass(frozen=True)
class ExecutionOptions:
    """Distribution of the work. Results do not depend on it."""

    splitting: Splitting = Splitting.ADAPTIVE
    """Inner level: whether hot panes are split over tasks."""
    elastic: bool = True
    """Outer level: whether the numbers of tasks follow the load."""
    start: Degrees = field(default_factory=lambda: Degrees(1, 1))
    most: int = 8
    """Maximum tasks of both stages together."""
    set_point: float = PAPER_SET_POINT
    """Target utilization of the pane stage."""
    control_s: float = 2.5
    """Interval between decisions of the controller."""
    profile: Profile = CODE
    """Fuzzy sets and rules of the controller."""
    merging: bool = True
    kernel: Kernel = Kernel.SORTED
    most_rows: int = 200_000
    """Maximum rows per micro-batch. A larger batch of the input is split if it is one file."""
    slots: int = 1_000
    """Cores: tasks that run at the same time."""

    def __post_init__(self) -> None:
        if self.most_rows < 1:
            raise PreferenceError(f"most_rows must be at least 1; got {self.most_rows}")
        if self.start.panes < 1 or self.start.windows < 1 or self.start.total > self.most:
            raise PreferenceError(
                f"start: each stage needs at least one task, and both together at most {self.most}; "
                f"got {self.start.panes} and {self.start.windows}"
            )


def length_ms(length: str | float | timedelta, what: str) -> int:
    """Convert seconds, a text such as ``"500 ms"`` or ``"2 seconds"``, or a timedelta to milliseconds.

    >>> length_ms("1.5 minutes", "window"), length_ms(0.2, "slide")
    (90000, 200)
    >>> length_ms("soon", "slide")
    Traceback (most recent call last):
    ...
    mead.preference.kernels.dominance.PreferenceError: slide: write a length such as '500 ms' or '2 seconds'; got 'soon'
    """
    if isinstance(length, str):
        found = LENGTH.fullmatch(length.strip().lower())
        unit_ms = UNITS_MS.get(found["unit"]) if found else None
        if found is None or unit_ms is None:
            raise PreferenceError(f"{what}: write a length such as '500 ms' or '2 seconds'; got {length!r}")
        exact_ms = float(found["number"]) * unit_ms
    else:
        exact_ms = 1e3 * (length.total_seconds() if isinstance(length, timedelta) else float(length))
    if not 1 <= exact_ms < 1e15 or abs(exact_ms - round(exact_ms)) > 1e-6:
        raise PreferenceError(f"{what}: must be a whole number of milliseconds, at least 1; got {length!r}")
    return round(exact_ms)
