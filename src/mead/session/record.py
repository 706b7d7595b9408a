"""A record of the rounds of a run in bounded memory: totals of all rounds, and the last ones whole."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from mead.values import Allocation, Pipeline, Resources, Round

KEPT_ROUNDS = 900
"""A quarter of an hour at one round a second. A round takes 8 KiB, and all of them are in the history."""

KEPT_CHANGES = 20_000
"""Allocations are small, so their time line covers more than an hour."""


@dataclass
class RunRecord:
    """A record of a run's rounds that stops growing once it is full.

    >>> from mead.values.allocation import Resources
    >>> low, high = Allocation.of(a=Resources(0.5, 1)), Allocation.of(a=Resources(1.0, 2))
    >>> record = RunRecord(low)
    >>> for time_s, held in ((10.0, low), (20.0, high), (30.0, high)):
    ...     record.add(Round(time_s, in_force=held))
    >>> record.rounds, record.changes, record.core_s(40.0)  # 20 s of half a core, and 20 s of two
    (3, 1, {'a': 50.0})
    """

    start: Allocation
    rounds: int = 0
    failed: int = 0
    """Rounds with an error."""
    changes: int = 0
    """Number of times another allocation came into force."""
    loop_s: float = 0.0
    """CPU seconds of the control loop alone, all its phases."""
    last: deque[Round] = field(default_factory=lambda: deque(maxlen=KEPT_ROUNDS), repr=False)
    timeline: deque[tuple[float, Allocation]] = field(init=False, repr=False)
    """Allocations with the time at which each came into force, oldest first."""
    _held_s: dict[tuple[str, Resources], float] = field(default_factory=dict, repr=False)
    """Seconds for which an operator had some resources, until the last change."""

    def __post_init__(self) -> None:
        self.timeline = deque([(0.0, self.start)], maxlen=KEPT_CHANGES)

    def add(self, this: Round) -> None:
        """Add a round; rounds come in the order of their times. Single arrivals are not kept."""
        self.rounds += 1
        self.failed += bool(this.error)
        self.loop_s += sum(this.phase_s.values())
        self.last.append(this.without_arrivals())
        if this.in_force is not None and this.in_force != self.timeline[-1][1]:
            self._held_s = self._held_until(this.time_s)
            self.timeline.append((this.time_s, this.in_force))
            self.changes += 1

    def core_s(self, end_s: float) -> dict[str, float]:
        """By operator, core-seconds from the start to ``end_s``, which is not before the last change."""
        given = dict.fromkeys(self.start, 0.0)
        for (name, resources), held_s in self._held_until(end_s).items():
            given[name] += held_s * resources.cores
        return given

    def cost_s(self, pipeline: Pipeline, end_s: float) -> float:
        """The cost of the pipeline per second, added up from the start to ``end_s``."""
        held_s = self._held_until(end_s)
        return sum(span_s * pipeline.operator(name).cost(given) for (name, given), span_s in held_s.items())

    def _held_until(self, end_s: float) -> dict[tuple[str, Resources], float]:
        since_s, held = self.timeline[-1]
        until = dict(self._held_s)
        for entry in held.items():
            until[entry] = until.get(entry, 0.0) + end_s - since_s
        return until
