"""Faulty metrics: late, missing or wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from mead.simulator.simulation import Simulation
from mead.values import NOTHING_SAMPLED, Allocation, InputReading, Observation, OperatorReading, PathReading


@dataclass(frozen=True)
class FaultyMetrics:
    """Faults between the readings of a pipeline and the loop; none by default.

    >>> FaultyMetrics(late_s=5.0, missing=((600.0, 630.0),)).lost_at(615.0)
    True
    """

    late_s: float = 0.0
    """Time from when a reading is taken to its arrival at the loop."""
    missing: Sequence[tuple[float, float]] = ()
    """Times ``(from, to)`` between which the loop gets no readings. They come afterwards, all at once."""
    distorted: Callable[[Observation], Observation] = lambda observation: observation
    """How the readings themselves are changed."""
    period_s: float = 1.0
    """Time between two readings."""

    def __post_init__(self) -> None:
        if not 0 <= self.late_s < inf:
            raise ValueError(f"late_s must be finite and not negative; got {self.late_s:g}")
        if not 0 < self.period_s < inf:
            raise ValueError(f"period_s must be above 0 and finite; got {self.period_s:g}")
        for from_s, to_s in self.missing:
            if not 0 <= from_s < to_s < inf:
                raise ValueError(f"metrics are missing from one time to a later one; got {from_s:g} to {to_s:g} s")

    def lost_at(self, time_s: float) -> bool:
        """Whether the loop is told nothing at that time."""
        return any(from_s <= time_s < to_s for from_s, to_s in self.missing)


class MonitoredSimulation:
    """A simulation that is seen through faulty metrics. Orders reach it at once.

    An observation has the time of which it is true, what was in force then, and its age.
    """

    def __init__(self, simulation: Simulation, metrics: FaultyMetrics) -> None:
        self.simulation, self.metrics = simulation, metrics
        self._under_way: deque[Observation] = deque()
        self._readings = 0
        self._told_s = 0.0

    def apply(self, allocation: Allocation) -> None:
        """Have this allocation from now on."""
        self.simulation.apply(allocation)

    def observe(self, time_s: float) -> Observation:
        """All readings that have come in since the last call, as one."""
        self._read(time_s)
        if self.metrics.lost_at(time_s):
            return self._nothing(time_s, "no metrics come in")
        due_s = time_s - self.metrics.late_s + 1e-9
        new = []
        while self._under_way and self._under_way[0].time_s <= due_s:
            new.append(self._under_way.popleft())
        if not new:
            return self._nothing(time_s, f"no metrics of the time after {self._told_s:g} s have come in yet")
        self._told_s = new[-1].time_s
        return self.metrics.distorted(replace(joined(new), age_s=time_s - self._told_s))

    def _read(self, time_s: float) -> None:
        """Let the simulation go on to that time, and take all readings on the way."""
        while (next_s := (self._readings + 1) * self.metrics.period_s) <= time_s + 1e-9:
            self._under_way.append(self.simulation.observe(max(next_s, self.simulation.now_s)))
            self._readings += 1
        self.simulation.advance(max(time_s, self.simulation.now_s))

    def _nothing(self, time_s: float, why: str) -> Observation:
        nothing = np.empty(0)
        return Observation(
            time_s=time_s,
            interval_s=0.0,
            allocation=self.simulation.in_force,
            operators={},
            paths={},
            iats_s=nothing,
            counts=nothing,
            missing=why,
            age_s=time_s - self._told_s,
        )


def joined(observations: Sequence[Observation]) -> Observation:
    """Observations of intervals one after the other as one observation of all of them."""
    last = observations[-1]
    if len(observations) == 1:
        return last
    operators = {
        name: OperatorReading(
            arrived=sum(o.operators[name].arrived for o in observations),
            completed=sum(o.operators[name].completed for o in observations),
            backlog=reading.backlog,
            busy_s=sum(o.operators[name].busy_s for o in observations),
            batches=sum(o.operators[name].batches for o in observations),
            serving_s=sum(o.operators[name].serving_s for o in observations),
            throttled_s=sum(o.operators[name].throttled_s for o in observations),
            iats=sum((o.operators[name].iats for o in observations), NOTHING_SAMPLED),
            services=sum((o.operators[name].services for o in observations), NOTHING_SAMPLED),
        )
        for name, reading in last.operators.items()
    }
    paths = {
        name: PathReading(
            completed=sum(o.paths[name].completed for o in observations),
            response_sum_s=sum(o.paths[name].response_sum_s for o in observations),
            late=sum(o.paths[name].late for o in observations),
            beyond={bound_s: sum(o.paths[name].beyond[bound_s] for o in observations) for bound_s in reading.beyond},
        )
        for name, reading in last.paths.items()
    }
    known = [o.inputs for o in observations if o.inputs is not None]
    inputs = InputReading(sum(i.completed for i in known), sum(i.response_sum_s for i in known)) if known else None
    interval_s = sum(o.interval_s for o in observations)
    return replace(last, interval_s=interval_s, operators=operators, paths=paths, inputs=inputs)
