"""Expected answers of a live preference query, computed from the definitions alone.

Of what runs in the tasks this shares the points and the bounds of windows. K-slack is written down tuple by tuple, and
skylines and dominance factors are found from all tuples of a window at once, by comparing columns with NumPy: no panes,
no partitions, no merging, no compiled kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mead.arrays import FloatArray, IntArray
from mead.preference.spark.points import GeneratedPoints, uniform
from mead.preference.windows.panes import Windows

BLOCK = 512
"""Tuples that are compared with all others at a time."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The skyline of one window, with the dominance factor of each tuple."""

    rows: FloatArray
    factors: IntArray

    def allows(self, found: FloatArray, delta: int) -> bool:
        """Whether these are the best ``delta`` tuples; of equal ones, any may be chosen.

        >>> answer = Answer(np.array([[1.0, 5.0], [5.0, 1.0], [3.0, 3.0]]), np.array([1, 1, 1]))
        >>> answer.allows(np.array([[5.0, 1.0]]), delta=1), answer.allows(np.array([[9.0, 9.0]]), delta=1)
        (True, False)
        """
        factors = {row.tobytes(): int(factor) for row, factor in zip(self.rows, self.factors, strict=True)}
        chosen, there = (Counter(row.tobytes() for row in rows) for rows in (found, self.rows))
        if not chosen <= there:
            return False
        lowest: list[int] = np.sort(self.factors)[:delta].tolist()
        return sorted(factors[row] for row in chosen.elements()) == lowest


def answers(points: GeneratedPoints, windows: Windows) -> list[Answer]:
    """The answer for every window of a finished stream."""
    arrivals_us, events_us = points.trace.timestamps_us, points.events_us()
    order = np.lexsort((events_us, arrivals_us))
    origin_us = int(events_us[order[0]]) // (1000 * windows.slide_ms) * 1000 * windows.slide_ms
    since_us = events_us[order] - origin_us
    inside = np.fromiter(in_time(since_us), dtype=np.bool_, count=order.size)
    values = uniform(order.astype(np.int64), points.attributes, points.seed)[inside]
    panes = since_us[inside] // windows.pane_us
    found, window = [], 0
    while (covered := windows.panes(window)).stop - 1 <= panes.max():
        found.append(answer_of(values[(panes >= covered.start) & (panes < covered.stop)]))
        window += 1
    return found


def in_time(events_us: IntArray) -> Iterator[bool]:
    """Which tuples K-slack accepts (Alg. 1 of the Elastic-PPQ paper).

    >>> list(in_time(np.array([500, 2500, 1500, 4000, 900])))
    [True, True, False, True, False]
    """
    newest = slack = bound = 0
    oldest: int | None = None
    for event_us in events_us.tolist():
        oldest = event_us if oldest is None else min(oldest, event_us)
        if event_us > newest:
            newest, slack, oldest = event_us, max(slack, event_us - oldest), None
            bound = max(bound, newest - slack)
        yield event_us >= bound


def answer_of(rows: FloatArray) -> Answer:
    """All tuples that no other dominates, with their dominance factors.

    >>> answer = answer_of(np.array([[3.0, 3.0], [2.0, 2.0], [4.0, 1.0]]))
    >>> answer.rows.tolist(), answer.factors.tolist()
    ([[2.0, 2.0], [4.0, 1.0]], [1, 1])
    """
    rows = rows[np.lexsort((*rows.T[::-1], rows.sum(axis=1)))]  # no tuple is dominated by a later one
    best = rows[:0]
    for block in np.split(rows, range(BLOCK, len(rows), BLOCK)):
        block = block[_factors(block, best) < rows.shape[1]]  # noqa: PLW2901 - what is left of it
        best = np.concatenate((best, block[_factors(block, block) < rows.shape[1]]))
    blocks = np.split(best, range(BLOCK, len(best), BLOCK))
    return Answer(best, np.concatenate([_factors(block, best) for block in blocks]))


def _factors(rows: FloatArray, others: FloatArray) -> IntArray:
    """For every row the most columns in which one of the others is no worse, if it is better in one of them."""
    no_worse = np.zeros((len(rows), len(others)), dtype=np.int8)
    better: npt.NDArray[np.bool_] = np.zeros(no_worse.shape, dtype=np.bool_)
    for column in range(rows.shape[1]):
        own, theirs = rows[:, column, None], others[None, :, column]
        no_worse += theirs <= own
        better |= theirs < own
    return np.asarray(np.max(no_worse * better, axis=1, initial=0), dtype=np.int64)
