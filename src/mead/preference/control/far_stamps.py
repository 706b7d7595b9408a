"""Find time stamps that lie too far ahead: wrong units and wrong clocks.

K-slack follows the newest time stamp, so one wrong stamp would make every right tuple late. Two rules find such stamps.
No tuple arrives long before its event. Where arrival times say nothing, as in a replay of files that have none, the
other tuples of the same batch decide: a small part of them, after a gap that dwarfs the time that the others cover, is
set aside. If most tuples are ahead, the stream itself has moved on, after a night or a pause.
"""

from __future__ import annotations

from math import inf

import numpy as np
import numpy.typing as npt

from mead.arrays import IntArray

AHEAD_US = 600_000_000
"""Default of the longest time by which an event may be ahead of its arrival. Clocks that are set differ by seconds;
wrong time zones begin at 15 minutes."""

DAY_US = 86_400_000_000

SMALL_PART = 0.25
"""Part of a batch from which tuples are followed, however far ahead they are."""

SPANS = 5
"""A gap dwarfs the time before it if it is this many times as long."""


def find_far_stamps(event_us: IntArray, arrival_us: IntArray, ahead_us: int, gap_us: int) -> npt.NDArray[np.bool_]:
    """Return which tuples of a batch lie too far ahead.

    They are ahead of their arrival, or of the others by more than ``gap_us``.

    >>> clock_us = np.arange(8) * 1_000_000
    >>> event_us = clock_us + np.array([0, 0, 3_600_000_000, 0, 0, 0, 0, 0])
    >>> for arrival_us in (clock_us, event_us):
    ...     print(find_far_stamps(event_us, arrival_us, AHEAD_US, AHEAD_US).nonzero()[0])
    [2]
    [2]
    """
    far = event_us > arrival_us + ahead_us
    others_us = event_us[~far]
    others_us = others_us[_is_not_behind(others_us, gap_us)]
    return far | (event_us >= _find_leap(others_us, gap_us))


def find_first_stamp(event_us: IntArray, gap_us: int) -> int:
    """Return the first event time in order of arrival that does not lie far behind the others.

    >>> find_first_stamp(np.array([0, 10**15, 10**15 + 1, 10**15 + 2, 10**15 + 3]), AHEAD_US) - 10**15
    0
    """
    return int(event_us[_is_not_behind(event_us, gap_us).argmax()])


def _is_not_behind(event_us: IntArray, gap_us: int) -> npt.NDArray[np.bool_]:
    """Return which tuples do not lie more than a day behind most others."""
    return -event_us < _find_leap(-event_us, max(DAY_US, gap_us))


def _find_leap(event_us: IntArray, gap_us: int) -> float:
    """Return the first time stamp after a leap of a small part of the tuples.

    Infinity if there is none.
    """
    if event_us.size < 2 or event_us.max() - event_us.min() <= gap_us:
        return inf
    ordered = np.sort(event_us)
    gaps_us = np.diff(ordered)
    behind = np.arange(ordered.size - 1, 0, -1)
    leaps = (gaps_us > gap_us) & (gaps_us // SPANS > ordered[:-1] - ordered[0]) & (behind < SMALL_PART * ordered.size)
    return int(ordered[1:][leaps.argmax()]) if leaps.any() else inf
