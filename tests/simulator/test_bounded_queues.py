"""Queues that are full and tuples that are too old, against a plain simulation of the same rules."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from mead.queueing import Edge
from mead.simulator import Conditions, Grouping, Simulation
from mead.values import Batches, Operator, Pipeline
from mead.workload import Poisson, Trace


def tandem(*demands_s: float) -> Pipeline:
    operators = [Operator(f"step{n}", demand_s, 0.0) for n, demand_s in enumerate(demands_s)]
    return Pipeline("tandem", operators, [Edge(a.name, b.name) for a, b in pairwise(operators)])


@dataclass
class PlainStation:
    """One server and its queue, written down as the rules read."""

    demand_s: float
    size: float
    timeout_s: float
    waiting: deque[tuple[float, float]] = field(default_factory=deque)
    """Time of arrival here and at the source."""
    free_s: float = -inf
    leaving: list[tuple[float, float]] = field(default_factory=list)
    rejected: int = 0
    timed_out: int = 0

    def serve(self, until_s: float) -> None:
        while self.waiting and self.free_s <= until_s:
            came_s, born_s = self.waiting.popleft()
            start_s = max(self.free_s, came_s)
            if start_s - born_s >= self.timeout_s:
                self.timed_out += 1
            else:
                self.free_s = start_s + self.demand_s
                self.leaving.append((self.free_s, born_s))

    def take(self, came_s: float, born_s: float) -> None:
        self.serve(came_s)
        if self.free_s <= came_s or len(self.waiting) < self.size:
            self.waiting.append((came_s, born_s))
            self.serve(came_s)
        else:
            self.rejected += 1


def plain_tandem(arrivals_s: list[float], stations: list[PlainStation]) -> list[float]:
    """Response times of what gets through all stations."""
    coming = [(time_s, time_s) for time_s in arrivals_s]
    for station in stations:
        for came_s, born_s in coming:
            station.take(came_s, born_s)
        station.serve(inf)
        coming = station.leaving
    return [left_s - born_s for left_s, born_s in coming]


@pytest.mark.parametrize(("size", "timeout_s"), [(None, 0.5), (5, inf), (40, 0.12), (1, 0.02)])
def test_a_tandem_loses_what_a_plain_simulation_loses(size: int | None, timeout_s: float) -> None:
    trace = Poisson(rate_per_s=130.0, duration_s=40.0).generate(np.random.default_rng(5))
    demands_s = (0.008, 0.0065, 0.0085)
    conditions = Conditions(queue_size=size, timeout_s=timeout_s)
    simulation = Simulation(tandem(*demands_s), trace, 1, conditions=conditions)
    simulation.drain()
    stations = [PlainStation(demand_s, inf if size is None else size, timeout_s) for demand_s in demands_s]
    expected = plain_tandem(trace.times_s.tolist(), stations)
    rejected, timed_out = sum(one.rejected for one in stations), sum(one.timed_out for one in stations)
    counters = simulation.counters
    assert (counters.rejected, counters.timed_out) == (rejected, timed_out)
    assert rejected + timed_out > 100
    assert simulation.responses("step0>step1>step2").response_s == pytest.approx(expected)
    assert counters.arrived == counters.departed + counters.rejected + counters.timed_out


def test_work_on_a_tuple_that_times_out_later_is_lost() -> None:
    """The second operator has no room: what the first one works on reaches it too old, and nothing is left."""
    trace = Trace.from_timestamps_s(np.arange(400) * 0.5)
    simulation = Simulation(tandem(1.0, 1.0), trace, 1, conditions=Conditions(timeout_s=10.0))
    simulation.advance(60.0)
    before = simulation.counters.departed
    simulation.advance(150.0)
    reading = simulation.observe().operators["step0"]
    assert reading.completed > 140  # busy all the time
    assert simulation.counters.departed == before  # at 10 s and more they all reach the second one too late


def test_every_replica_has_a_queue_of_that_size() -> None:
    pipeline = Pipeline("pool", [Operator("worker", 10.0, 0.0, (1.0,), max_replicas=3)])
    conditions = Conditions(groupings={"worker": Grouping("round_robin")}, queue_size=2)
    simulation = Simulation(pipeline, Trace.from_timestamps_s(np.arange(20) * 0.1), 1, conditions=conditions)
    simulation.drain()
    assert (simulation.counters.departed, simulation.counters.rejected) == (9, 11)  # three in service, six waiting


def test_a_micro_batch_takes_no_more_than_its_queue_held() -> None:
    pipeline = Pipeline("batched", [Operator("worker", 0.01, 0.0, batches=Batches(1.0))])
    simulation = Simulation(
        pipeline, Trace.from_timestamps_s([0.0, *np.linspace(0.1, 0.9, 9)]), 1, conditions=Conditions(queue_size=4)
    )
    simulation.drain()
    assert (simulation.counters.departed, simulation.counters.rejected) == (5, 5)


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [({"queue_size": 0}, "queue_size must be at least 1"), ({"timeout_s": 0.0}, "timeout_s must be above 0")],
)
def test_limits_that_let_nothing_through_are_refused(keys: dict[str, float], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Conditions(**keys)  # type: ignore[arg-type]


def test_micro_batches_have_no_time_out() -> None:
    batched = Pipeline("batched", [Operator("worker", 0.002, batches=Batches(0.1))])
    with pytest.raises(ValueError, match="'worker' works in micro-batches; a time-out is for tuples one by one"):
        Simulation(batched, Trace.from_timestamps_s([0.0, 1.0]), 1, conditions=Conditions(timeout_s=30.0))
