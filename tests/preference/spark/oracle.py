"""The answer by the definitions, written down as plainly as can be: no panes, no tasks, no kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tests.preference.conftest import brute_factor, brute_skyline

Values = tuple[float, ...]


@dataclass(frozen=True)
class Tuple:
    event_us: int
    arrival_us: int
    values: Values
    """Less is better."""


def admitted(batches: Sequence[Sequence[Tuple]], slide_us: int, fixed_us: int | None = None) -> tuple[int, list[Tuple]]:
    """Where time begins, and who is not too late: K-slack, tuple by tuple (Alg. 1 of the Elastic-PPQ paper)."""
    stream = [one for batch in batches for one in sorted(batch, key=lambda one: (one.arrival_us, one.event_us))]
    if not stream:
        return 0, []
    origin_us = stream[0].event_us // slide_us * slide_us
    newest = slack = bound = 0
    since: list[int] = []
    inside = []
    for one in stream:
        stamp = one.event_us - origin_us
        since.append(stamp)
        if stamp > newest:
            newest = stamp
            slack = max(slack, newest - min(since)) if fixed_us is None else fixed_us
            since = []
            bound = max(bound, newest - slack)
        if stamp >= bound:
            inside.append(one)
    return origin_us, inside


class DropRegulator:
    """The adaptive K-slack of the released code: every 100 ms of arrivals, wait for more or less of the longest delay.

    A PID (6, 0.6, 0.2, output within 1) on the part that was let in; its set-point is 1 less the wanted part of drops.
    """

    def __init__(self, target: float) -> None:
        self.cut, self.set_point = 0.0, 1 - target
        self.next_us: int | None = None
        self.offered = self.dropped = 0
        self.integral = 0.0
        self.last: float | None = None

    def look(self, clock_us: int) -> None:
        """Before the next tuple is judged."""
        if self.next_us is not None and clock_us < self.next_us:
            return
        if self.offered:
            let_in = 1 - self.dropped / self.offered
            above = let_in - self.set_point
            self.integral = min(max(self.integral + 0.6 * above, -1.0), 1.0)
            slope = 0.0 if self.last is None else 0.2 * (let_in - self.last)
            self.cut = min(max(self.cut + min(max(6 * above + self.integral + slope, -1.0), 1.0), 0.0), 1.0)
            self.last = let_in
        self.offered = self.dropped = 0
        self.next_us = clock_us // 100_000 * 100_000 + 100_000


def admitted_adaptively(
    batches: Sequence[Sequence[Tuple]], slide_us: int, target: float
) -> tuple[int, list[Tuple], int]:
    """As `admitted`, for a wanted part of drops; and how many were dropped."""
    stream = [one for batch in batches for one in sorted(batch, key=lambda one: (one.arrival_us, one.event_us))]
    if not stream:
        return 0, [], 0
    origin_us, clock_us, regulator = stream[0].event_us // slide_us * slide_us, 0, DropRegulator(target)
    newest = slack = bound = 0
    since: list[int] = []
    inside = []
    for one in stream:
        clock_us = max(clock_us, one.arrival_us)
        regulator.look(clock_us)
        stamp = one.event_us - origin_us
        since.append(stamp)
        if stamp > newest:
            newest, slack, since = stamp, max(slack, stamp - min(since)), []
            bound = max(bound, newest - int((1 - regulator.cut) * slack))
        regulator.offered += 1
        if stamp >= bound:
            inside.append(one)
        else:
            regulator.dropped += 1
    return origin_us, inside, len(stream) - len(inside)


def windows_of(
    inside: Sequence[Tuple], origin_us: int, length_us: int, slide_us: int, pane_us: int
) -> Iterator[tuple[int, list[Values]]]:
    """Every window that is over when the stream is: the pane of the newest tuple is closed at its end."""
    if not inside:
        return
    end_us = (max(one.event_us for one in inside) // pane_us + 1) * pane_us
    window = 0
    while (start_us := origin_us + window * slide_us) + length_us <= end_us:
        yield window, [one.values for one in inside if start_us <= one.event_us < start_us + length_us]
        window += 1


def skyline_of(values: Sequence[Values]) -> list[Values]:
    if not values:
        return []
    rows = np.array(values, dtype=np.float64)
    return sorted(values[row] for row in brute_skyline(rows))


def lowest_factors(values: Sequence[Values], delta: int) -> list[int]:
    """The dominance factors of the best so many: which of equals are chosen, the definition leaves open."""
    best = skyline_of(values)
    if not best:
        return []
    rows = np.array(values, dtype=np.float64)
    return sorted(brute_factor(rows, np.array(row)) for row in best)[:delta]
