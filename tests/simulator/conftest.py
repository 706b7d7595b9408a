"""A second simulator, written to be obviously right: it looks at everything at every event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import ceil, floor, inf

import pytest

from mead.arrays import FloatArray
from mead.simulator import Grouping
from mead.simulator.draws import coin_blocks, demand_blocks
from mead.values import Allocation, Operator, Pipeline

Tuple = tuple[float, tuple[str, ...], float]
"""Arrival at the source, the way it has come, demand here."""


def one_by_one(blocks: Iterator[FloatArray]) -> Iterator[float]:
    return (float(value) for block in blocks for value in block)


@dataclass
class Job:
    """What a server does: first the overhead, in real seconds, then the work, in CPU seconds."""

    tuples: list[Tuple]
    overhead_s: float
    work_s: float
    tasks: float = 1.0
    replica: int = -1
    """Whose it is, if every replica has a queue of its own, and how fast that is."""
    pace: float = 1.0

    def left_s(self, speed: float) -> float:
        return self.overhead_s + self.work_s / (speed * self.pace) if speed else inf

    def progress(self, span_s: float, speed: float) -> float:
        """Go on for so long; returns the working time."""
        overhead_s = min(self.overhead_s, span_s)
        self.overhead_s -= overhead_s
        self.work_s -= (span_s - overhead_s) * speed * self.pace
        return (span_s - overhead_s) * self.tasks if speed else 0.0


@dataclass
class Replica:
    """One with a queue of its own, as the grouping sees it."""

    pace: float
    step: float
    queue: list[Tuple] = field(default_factory=list)
    load: float = 0.0
    worked_s: float = 0.0
    served: int = 0
    seen: tuple[float, int] = (0.0, 0)

    def look(self, elapsed_s: float, interval_s: float) -> None:
        worked_s, served = self.worked_s - self.seen[0], self.served - self.seen[1]
        self.load = min(worked_s / elapsed_s, 1.0)
        self.step = worked_s / served / interval_s if served else self.step
        self.seen = self.worked_s, self.served


@dataclass
class Station:
    operator: Operator
    share: float
    replicas: int
    demands: Iterator[float]
    queue: list[Tuple] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    started_s: float = -1.0
    ended_s: float = 0.0
    due_s: float = inf
    """When the next batch starts."""
    cpu_s: float = 0.0
    arrived: int = 0
    grouping: Grouping | None = None
    pool: list[Replica] = field(default_factory=list)
    dice: Iterator[float] = field(default_factory=lambda: iter(()))
    looked_s: float = 0.0
    turn: int = 0
    queue_size: float = inf
    timeout_s: float = inf
    rejected: int = 0
    timed_out: int = 0

    def arrive(self, now_s: float, arrival_s: float, trail: tuple[str, ...]) -> None:
        self.arrived += 1
        one = (arrival_s, trail, next(self.demands))
        if self.grouping:
            number = self.choose(now_s, self.grouping)
            queue, free = self.pool[number].queue, not any(job.replica == number for job in self.jobs)
        else:
            queue, free = self.queue, self.operator.batches is None and len(self.jobs) < self.replicas
        if free or len(queue) < self.queue_size:
            queue.append(one)
            self.plan(now_s)
        else:
            self.rejected += 1

    def drop_expired(self, now_s: float, queue: list[Tuple]) -> None:
        while queue and now_s - queue[0][0] >= self.timeout_s:
            queue.pop(0)
            self.timed_out += 1

    def choose(self, now_s: float, grouping: Grouping) -> int:
        """By the words of ``Grouping``."""
        active = self.pool[: self.replicas]
        if grouping.kind == "shuffle":
            return int(next(self.dice) * self.replicas)
        if grouping.kind == "round_robin":
            self.turn += 1
            return (self.turn - 1) % self.replicas
        if now_s - self.looked_s >= grouping.interval_s:
            for replica in self.pool:
                replica.look(now_s - self.looked_s, grouping.interval_s)
            self.looked_s = now_s
        if grouping.kind == "weighted_random":
            weights = [101 - floor(100 * replica.load) for replica in active]
            drawn = next(self.dice) * sum(weights)
            return next(i for i in range(self.replicas) if drawn < sum(weights[: i + 1]))
        least = min(range(self.replicas), key=lambda i: active[i].load)
        if active[least].load >= 1 - 1e-9:
            self.turn += 1
            return (self.turn - 1) % self.replicas
        active[least].load = min(active[least].load + active[least].step, 1.0)
        return least

    def plan(self, now_s: float) -> None:
        batches = self.operator.batches
        if self.grouping:
            for number, replica in enumerate(self.pool):
                if any(job.replica == number for job in self.jobs):
                    continue
                self.drop_expired(now_s, replica.queue)
                if replica.queue:
                    first = replica.queue.pop(0)
                    self.jobs.append(Job([first], 0.0, first[2], replica=number, pace=replica.pace))
        elif batches is None:
            while self.queue and len(self.jobs) < self.replicas:
                self.drop_expired(now_s, self.queue)
                if self.queue:
                    self.jobs.append(Job([self.queue[0]], 0.0, self.queue.pop(0)[2]))
        elif self.queue and not self.jobs and self.due_s == inf:
            self.due_s = max(now_s, self.ended_s)
            if trigger_s := batches.trigger_s:
                after_s = next(n * trigger_s for n in count() if n * trigger_s > self.started_s)
                earliest_s = max(self.ended_s, after_s)
                self.due_s = earliest_s if earliest_s >= now_s else ceil(now_s / trigger_s) * trigger_s

    def start_batch(self, now_s: float) -> None:
        assert self.operator.batches is not None
        size = min(len(self.queue), self.operator.batches.max_tuples or len(self.queue))
        batch, self.queue = self.queue[:size], self.queue[size:]
        works = [sum(demand_s for _, _, demand_s in batch[task :: self.replicas]) for task in range(self.replicas)]
        self.jobs = [Job(batch, self.operator.batches.overhead_s, max(works), sum(works) / max(works))]
        self.started_s, self.due_s = now_s, inf


class Naive:
    """The same as ``Simulation`` as far as the tests need it. ``factors`` is the interference now."""

    def __init__(
        self,
        pipeline: Pipeline,
        arrivals_s: FloatArray,
        seed: int,
        allocation: Allocation,
        groupings: Mapping[str, Grouping] | None = None,
        queue_size: float = inf,
        timeout_s: float = inf,
    ) -> None:
        self.pipeline, self.arrivals_s, self.now_s = pipeline, list(arrivals_s), 0.0
        self.stations = {
            o.name: Station(
                o, allocation[o.name].share, allocation[o.name].replicas, one_by_one(demand_blocks(o, seed))
            )
            for o in pipeline.operators
        }
        for station in self.stations.values():
            station.queue_size, station.timeout_s = queue_size, timeout_s
        for name, grouping in (groupings or {}).items():
            station = self.stations[name]
            step = station.operator.demand_s / station.share / grouping.interval_s
            station.grouping = grouping
            station.pool = [Replica(pace, step) for pace in grouping.speeds]
            station.dice = one_by_one(coin_blocks(name, "#", seed))
        self.factors = dict.fromkeys(self.stations, 1.0)
        self.down_until_s = -inf
        self.lost_until_s = -inf
        self.lost = 0
        self.coins = {e: one_by_one(coin_blocks(e.source, e.target, seed)) for e in pipeline.edges}
        self.left: dict[str, list[tuple[float, float]]] = {path: [] for path in pipeline.paths}

    def speed(self, name: str) -> float:
        return 0.0 if self.now_s < self.down_until_s else self.stations[name].share * self.factors[name]

    def advance(self, until_s: float) -> None:
        while True:
            ends = {n: min((j.left_s(self.speed(n)) for j in s.jobs), default=inf) for n, s in self.stations.items()}
            arrival_s = self.arrivals_s[0] if self.arrivals_s else inf
            end_s = self.now_s + min(ends.values())
            due_s = min(s.due_s for s in self.stations.values())
            if self.now_s < self.down_until_s <= min(arrival_s, end_s, due_s, until_s):
                self.pass_time(self.down_until_s)
                continue
            self.pass_time(min(arrival_s, end_s, due_s, until_s))
            if min(arrival_s, end_s, due_s) > until_s:
                return
            if arrival_s <= min(end_s, due_s):
                self.arrivals_s.pop(0)
                if arrival_s < self.lost_until_s:
                    self.lost += 1
                    continue
                for name in dict.fromkeys(path.split(">")[0] for path in self.pipeline.paths):
                    self.stations[name].arrive(arrival_s, arrival_s, (name,))
            elif end_s <= due_s:
                self.complete(min(ends, key=ends.__getitem__))
            else:
                next(s for s in self.stations.values() if s.due_s == due_s).start_batch(due_s)

    def pass_time(self, to_s: float) -> None:
        for name, station in self.stations.items():
            for job in station.jobs:
                working_s = job.progress(to_s - self.now_s, self.speed(name))
                station.cpu_s += working_s * station.share
                if station.grouping:
                    station.pool[job.replica].worked_s += working_s
        self.now_s = to_s

    def complete(self, name: str) -> None:
        station = self.stations[name]
        job = min(station.jobs, key=lambda j: j.left_s(1.0))
        station.jobs.remove(job)
        if station.grouping:
            station.pool[job.replica].served += 1
        station.ended_s = self.now_s
        for arrival_s, trail, _ in job.tuples:
            self.send(name, arrival_s, trail)
        station.plan(self.now_s)

    def send(self, name: str, arrival_s: float, trail: tuple[str, ...]) -> None:
        gone_on = False
        ahead = [edge for edge in self.pipeline.edges if edge.source == name]
        for edge in ahead:
            copies = floor(edge.selectivity)
            if edge.selectivity % 1:
                copies += next(self.coins[edge]) < edge.selectivity % 1
            way = (*trail, edge.target)
            if edge in self.pipeline.returns:
                begins = [path.split(">") for path in self.pipeline.paths]
                known = trail if edge.target in trail else next(tuple(p) for p in begins if edge.target in p)
                way = known[: known.index(edge.target) + 1]
            for _ in range(copies):
                gone_on = True
                self.stations[edge.target].arrive(self.now_s, arrival_s, way)
        if not gone_on and all(edge in self.pipeline.returns for edge in ahead):
            self.left[">".join(trail)].append((arrival_s, self.now_s - arrival_s))

    def set(self, name: str, share: float, replicas: int) -> None:
        self.stations[name].share = share
        self.stations[name].replicas = replicas
        self.stations[name].plan(self.now_s)

    def restart(self, downtime_s: float, *, loses: bool) -> None:
        if not loses:
            self.down_until_s = self.now_s + downtime_s
            return
        self.lost_until_s = self.now_s + downtime_s
        for station in self.stations.values():
            self.lost += len(station.queue) + sum(len(job.tuples) for job in station.jobs)
            self.lost += sum(len(replica.queue) for replica in station.pool)
            station.queue, station.jobs, station.due_s = [], [], inf
            for replica in station.pool:
                replica.queue = []

    def drain(self) -> None:
        while self.arrivals_s or any(s.queue or s.jobs or any(r.queue for r in s.pool) for s in self.stations.values()):
            self.advance(self.now_s + 100.0)


@pytest.fixture(scope="session")
def naive() -> type[Naive]:
    return Naive
