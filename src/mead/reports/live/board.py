"""The board of a run: the latest rounds, totals, and latest arrivals.

Page, metrics and terminal read it.

The thread that watches the run adds rounds; the thread of the server reads. Adding a round takes a lock, copies some
numbers and wakes the listeners, which cannot slow it down. The memory is bounded.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from threading import Lock
from typing import TypeAlias

from mead.arrays import FloatArray, frozen
from mead.monitor import PathMonitor, ResponseSketch
from mead.reports.frames import Frame, Kind, frame_from_round
from mead.session import RunFacts
from mead.values import WINDOW_S, Allocation, Cause, Pipeline, Round

log = logging.getLogger(__name__)

Sums: TypeAlias = defaultdict[str, float]

SILENT_ROUNDS, LEAST_SILENT_S = 10, 60.0
"""A controller is silent if it made no round for this many intervals and this many seconds."""

MOVES = {Kind.UP, Kind.DOWN, Kind.SHIFT}

KEPT_FRAMES = 3_600
"""An hour at one round a second, 2 KiB each."""

RECENT_PARTS = 2
"""Half-minutes of a run that count as now for response times."""


@dataclass
class Totals:
    """Sums since the run began."""

    rounds: int = 0
    changes: int = 0
    """Rounds whose plan differs from the one before."""
    decisions: Counter[tuple[Kind, Cause]] = field(default_factory=Counter)
    """Rounds by kind and reason."""
    phase_s: Sums = field(default_factory=lambda: defaultdict(float))
    arrived: Counter[str] = field(default_factory=Counter)
    busy_s: Sums = field(default_factory=lambda: defaultdict(float))
    throttled_s: Sums = field(default_factory=lambda: defaultdict(float))
    completed: Counter[str] = field(default_factory=Counter)
    """By path, as are the two below; the three above are by operator."""
    response_sum_s: Sums = field(default_factory=lambda: defaultdict(float))
    beyond: dict[str, Counter[float]] = field(default_factory=dict)

    def add(self, frame: Frame) -> None:
        """Add one round."""
        self.rounds += frame.rounds
        self.changes += frame.changes
        kept = frame.rounds - frame.changes if frame.kind in MOVES else 0
        self.decisions[frame.kind, frame.because] += frame.rounds - kept
        if kept:
            self.decisions[Kind.KEEP, frame.because] += kept
        for phase, spent_s in frame.phase_s.items():
            self.phase_s[phase] += max(spent_s, 0.0)
        for name, operator in frame.operators.items():
            self.arrived[name] += max(operator.arrived or 0, 0)
            self.busy_s[name] += max(operator.busy_s or 0.0, 0.0)
            self.throttled_s[name] += max(operator.throttled_s or 0.0, 0.0)
        for name, path in frame.paths.items():
            self.completed[name] += path.completed
            self.response_sum_s[name] += path.response_sum_s
            self.beyond.setdefault(name, Counter()).update(path.beyond)


def silent_after_s(interval_s: float | None) -> float:
    """Seconds without a round after which a run with this interval counts as silent.

    >>> silent_after_s(1.0), silent_after_s(60.0), silent_after_s(None)
    (60.0, 600.0, 60.0)
    """
    return max(SILENT_ROUNDS * (interval_s or 0.0), LEAST_SILENT_S)


class Board:
    """The state of one run. Rounds are numbered from 1; the last ``kept`` stay."""

    def __init__(
        self, facts: RunFacts, *, wall_s: Callable[[], float], kept: int = KEPT_FRAMES, stays: bool = False
    ) -> None:
        self.facts, self._wall_s = facts, wall_s
        self.stays = stays
        """Whether it stays readable after the run, as the board of a history does."""
        self.finished = False
        self.last_round_at_s = facts.started_s
        """Wall time of the last round, or of the start."""
        self.lost = 0
        """Rounds that could not be shown."""
        self.totals = Totals()
        self.pipeline: Pipeline = facts.pipeline
        """The pipeline with the demands and overheads of the last round."""
        self.arrivals: FloatArray = frozen([])
        """The latest IATs, oldest first; none if the board is made from a history."""
        self.figures: Mapping[str, Mapping[str, float]] = {}
        """By path, the figures that a history has of the whole run once it is finished."""
        self._monitors: Mapping[str, PathMonitor] = {}
        self._frames: deque[Frame] = deque(maxlen=kept)
        self._in_force: Allocation | None = facts.pipeline.most if facts.mode == "act" else None
        self._advised: Allocation | None = None
        self._lock = Lock()
        self._wake: list[Callable[[], None]] = []

    def add(self, this: Round, monitors: Mapping[str, PathMonitor] | None = None) -> None:
        """Add a round; ``monitors`` know single response times by path.

        A round that cannot be shown counts as lost.
        """
        try:
            self._add(this, monitors or {})
        except Exception as error:  # noqa: BLE001 - nothing that happens here may stop the run
            self.lost += 1
            if self.lost == 1:
                log.warning("the page lacks the round at %s s: %s: %s", this.time_s, type(error).__name__, error)

    def _add(self, this: Round, monitors: Mapping[str, PathMonitor]) -> None:
        self._monitors = monitors
        p95_s = {path: _recent(monitor).percentile_s(95) for path, monitor in self._monitors.items()}
        number, pipeline, acts = self.totals.rounds + 1, self.facts.pipeline, self.facts.mode == "act"
        frame = frame_from_round(this, number, pipeline, self._in_force, self._advised, p95_s, acts=acts)
        self._in_force = this.in_force
        if not acts:
            self._advised = this.in_force if this.plan is None else this.plan.allocation
        if this.observation is not None:
            self.arrivals = this.observation.iats_s
        self.pipeline = this.learned(pipeline)
        self.put(frame, self._wall_s())

    def put(self, frame: Frame, at_s: float) -> None:
        """Add a frame that was made at that wall time."""
        with self._lock:
            self.totals.add(frame)
            self.last_round_at_s = at_s
            self._frames.append(frame)
        self._notify()

    def finish(self) -> None:
        """Note that no more rounds will come."""
        self.finished = True
        self._notify()

    def since(self, number: int, most: int | None = None) -> list[Frame]:
        """The kept rounds after that number, oldest first; at most the first ``most`` of them."""
        with self._lock:
            skipped = bisect_right(self._frames, number, key=lambda frame: frame.number)  # merged ones leave gaps
            end = None if most is None else skipped + most
            return list(islice(self._frames, skipped, end))

    @property
    def last(self) -> Frame | None:
        """The last round."""
        with self._lock:
            return self._frames[-1] if self._frames else None

    @property
    def interval_s(self) -> float | None:
        """Seconds between two rounds: by the policy, or else by the latest rounds; None if unknown."""
        if self.facts.interval_s is not None:
            return self.facts.interval_s
        gaps_s = sorted(after.time_s - before.time_s for before, after in pairwise(self.recent(WINDOW_S)))
        return gaps_s[len(gaps_s) // 2] if gaps_s else None

    @property
    def silent_since_s(self) -> float | None:
        """Wall time of the last round if the controller is silent; otherwise None."""
        if self.finished or self._wall_s() - self.last_round_at_s <= silent_after_s(self.interval_s):
            return None
        return self.last_round_at_s

    def recent(self, seconds: float) -> list[Frame]:
        """The rounds of the last ``seconds`` of the run."""
        with self._lock:
            found: list[Frame] = []
            for frame in reversed(self._frames):
                if found and frame.time_s <= found[0].time_s - seconds:
                    break
                found.append(frame)
        return found[::-1]

    def responses(self, path: str) -> ResponseSketch | None:
        """All response times since the start; None if single ones are unknown."""
        monitor = self._monitors.get(path)
        return None if monitor is None else monitor.whole

    def on_change(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Call ``wake`` after every round, in the thread that adds it. Returns a function that ends this."""
        with self._lock:
            self._wake.append(wake)

        def forget() -> None:
            with self._lock:
                self._wake.remove(wake)

        return forget

    def _notify(self) -> None:
        with self._lock:
            waiting = list(self._wake)
        for wake in waiting:
            wake()


def _recent(monitor: PathMonitor) -> ResponseSketch:
    """Response times of tuples that arrived in the last half-minutes.

    The controller may add to them meanwhile.
    """
    parts = list(monitor.parts.items())
    newest = max((part for part, _ in parts), default=0)
    return ResponseSketch.merged(sketch for part, sketch in parts if part > newest - RECENT_PARTS)
