"""Response times on a path, from micro-batches whose tuples all finish at the same moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mead.arrays import FloatArray
from mead.monitor.sketch import ResponseSketch
from mead.values import STEP_S, PathReading, Requirement, late_bound_s

SPREAD = 8
"""Number of evenly spread response times that stand for the tuples between two ranks of a micro-batch."""

KEPT_PARTS = 2900
"""Parts of a run that are kept one by one: a day and a window. Older parts are merged."""


@dataclass(frozen=True, eq=False)
class BatchResponses:
    """One micro-batch: its end, its tuples and their response times.

    They are the mean, and times at evenly spaced ranks, longest first.
    """

    done_s: float
    """Time since the run began."""
    tuples: int
    mean_s: float
    at_ranks_s: FloatArray

    def beyond(self, bound_s: float) -> float:
        """Number of tuples that took longer than ``bound_s``, interpolated between ranks.

        >>> BatchResponses(60.0, 10, 1.0, np.array([2.0, 1.0, 0.0])).beyond(1.5)
        2.5
        """
        ranks = np.linspace(0.0, 1.0, self.at_ranks_s.size)
        within = np.interp(bound_s, self.at_ranks_s[::-1], ranks, left=0.0, right=1.0)
        return float(self.tuples * (1.0 - within))


@dataclass
class PathMonitor:
    """The response times of the tuples that leave one path."""

    requirements: tuple[Requirement, ...]
    parts: dict[int, ResponseSketch] = field(default_factory=dict)
    """By part of the run, ``STEP_S`` long, in which tuples arrived. Earlier tuples count in the first."""
    _older: ResponseSketch = field(default_factory=ResponseSketch)
    _new: list[BatchResponses] = field(default_factory=list)

    @property
    def whole(self) -> ResponseSketch:
        """The sketch of all tuples since the start."""
        return ResponseSketch.merged([self._older, *self.parts.values()])

    def add(self, batch: BatchResponses) -> None:
        """Add a micro-batch of the path's last operator."""
        self._new.append(batch)
        steps = batch.at_ranks_s.size - 1
        spread_s = np.interp((np.arange(steps * SPREAD) + 0.5) / SPREAD, np.arange(steps + 1), batch.at_ranks_s)
        if spread_s.sum() > 0:  # the mean is known exactly: keep it
            spread_s = spread_s * (batch.mean_s * spread_s.size / spread_s.sum())
        arrived_in = np.maximum((batch.done_s - spread_s) // STEP_S, 0.0).astype(np.int64)
        for part in np.unique(arrived_in).tolist():
            sketch = self.parts.setdefault(part, ResponseSketch())
            sketch.add(spread_s[arrived_in == part], batch.tuples / spread_s.size)
        while len(self.parts) > KEPT_PARTS:
            self._older = ResponseSketch.merged([self._older, self.parts.pop(min(self.parts))])

    def reading(self) -> PathReading:
        """The reading of the tuples that have left since the last reading."""
        new, self._new = self._new, []
        bounds_s = sorted({r.bound_s for r in self.requirements if r.percent is not None})
        beyond = {bound_s: round(sum(batch.beyond(bound_s) for batch in new)) for bound_s in bounds_s}
        late_s = late_bound_s(self.requirements)
        late = 0 if late_s is None else round(sum(batch.beyond(late_s) for batch in new))
        return PathReading(
            completed=sum(batch.tuples for batch in new),
            response_sum_s=sum(batch.tuples * batch.mean_s for batch in new),
            late=late,
            beyond=beyond,
        )


def monitors(paths: Iterable[str], requirements: Iterable[Requirement]) -> dict[str, PathMonitor]:
    """A monitor for each path."""
    requirements = tuple(requirements)
    return {path: PathMonitor(tuple(r for r in requirements if r.path == path)) for path in paths}
