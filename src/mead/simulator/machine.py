"""The memory of a simulation: run on, change speed, change servers."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from mead.arrays import FloatArray
from mead.simulator.conditions import Conditions
from mead.simulator.draws import Buffers, coin_blocks, demand_blocks
from mead.simulator.kernel import run
from mead.simulator.layout import group_records, members_of, operator_records, speeds_of
from mead.simulator.records import CLOCK, DEPARTURE, SERVICE, Records, grown, grown_pool, pool_of
from mead.simulator.routes import Routes
from mead.values import Allocation, Pipeline

FIRST_ROOM = 1024
"""Places for waiting tuples at the start; they double when they are full, as those for departures do."""

DICE = "#"
"""Stands for the target in the name of the random numbers that decide which of an operator's replicas gets a tuple."""


@dataclass(frozen=True)
class Counters:
    """Where the tuples are.

    ``arrived + copied == departed + filtered + lost + rejected + timed_out + inside``, at every moment.

    A tuple that leaves the source or an operator goes on to its successors. What goes on first counts as itself, the
    others are copies. If nothing goes on, it has departed if this is the end of a path, and else was filtered.
    """

    arrived: int
    """Tuples that have arrived at the source."""
    copied: int
    filtered: int
    departed: int
    inside: int
    """Waiting or in service."""
    lost: int = 0
    """Tuples lost by restarts."""
    rejected: int = 0
    """Tuples that came to a full queue."""
    timed_out: int = 0
    """Tuples that were too old when a server was to take them."""


class Machine:
    """Everything that the kernel works on."""

    def __init__(
        self,
        pipeline: Pipeline,
        arrivals_s: FloatArray,
        allocation: Allocation,
        seed: int,
        conditions: Conditions,
        *,
        recorded_every: int,
    ) -> None:
        self.arrivals_s = arrivals_s
        self.routes = Routes.of(pipeline)
        self.members = members_of(pipeline, allocation, conditions)
        self.speeds = [
            speeds_of(o.name, len(m), conditions) for o, m in zip(pipeline.operators, self.members, strict=True)
        ]
        self.operators = operator_records(pipeline, self.routes, allocation, self.members, self.speeds, conditions)
        self.groups = group_records(pipeline, self.members, conditions)
        self.operators["next_s"][-1] = arrivals_s[0]
        self.operators["recorded_every"] = recorded_every
        self.services = np.zeros((self.operators.size, self.operators["servers"].max()), SERVICE)
        self.pool = pool_of(FIRST_ROOM + self.routes.fanout)
        self.log = np.zeros(_expected_departures(pipeline, self.routes, arrivals_s.size), DEPARTURE)
        self.alive = np.zeros(arrivals_s.size, dtype=np.int64)
        """Per input, its tuples that are not done."""
        self.took_s = np.full(arrivals_s.size, np.nan)
        """Per input, the time until all of it was done; NaN before that."""
        self.clock = np.zeros(1, CLOCK)
        self.clock["room"] = self.pool.size
        self.clock["queue_size"] = np.iinfo(np.int64).max if conditions.queue_size is None else conditions.queue_size
        self.clock["timeout_s"] = conditions.timeout_s
        factors = conditions.demand_factors
        self.demands = Buffers(
            self.operators[: len(self.members)],
            [demand_blocks(o, seed, factors.get(o.name, 1.0)) for o in pipeline.operators],
            least=self.routes.fanout,
        )
        self.coins = Buffers(
            self.routes.edge_records, [coin_blocks(*edge, seed) for edge in self.routes.edges], least=1
        )
        thrown = len(self.members) if conditions.groupings else 0
        self.dice = Buffers(
            self.groups[:thrown],
            [coin_blocks(o.name, DICE, seed) for o in pipeline.operators[:thrown]],
            least=self.routes.fanout,
        )

    def run(self, until_s: float) -> None:
        """Do every event up to and at that time."""
        routes = self.routes
        while not run(
            until_s,
            routes.fanout,
            self.clock,
            self.operators,
            self.services,
            routes.edge_records,
            routes.ways,
            routes.paths,
            self.pool,
            self.arrivals_s,
            self.demands.values,
            self.coins.values,
            self.groups,
            self.dice.values,
            self.log,
            routes.judged,
            self.alive,
            self.took_s,
        ):
            if self.clock["short"][0]:
                self.demands.refill()
                self.coins.refill()
                self.dice.refill()
                self.clock["short"] = 0
            if self.clock["room"][0] < routes.fanout:
                self.pool = grown_pool(self.pool, self.clock)
            if self.clock["departed"][0] == self.log.size:
                self.log = grown(self.log)

    def set_speed(self, place: int, now_s: float, share: float, speed: float) -> None:
        """Let the operator work at this speed from now on.

        The rest of its running services takes longer or shorter accordingly.

        The overhead of a batch is spent by the engine and not by the operator's workers: its length stays.
        """
        for member, of_replica in zip(self.members[place], self.speeds[place], strict=True):
            operator = self.operators[member]
            running = self._running(member)
            running["end_s"] = _rescaled(running, now_s, operator["speed"] / (speed * of_replica))
            uncharged_s = _uncharged_s(running, now_s)
            operator["cpu_s"] += uncharged_s * operator["share"] * operator["busy_tasks"]
            operator["worked_s"] += uncharged_s * (operator["share"] > 0)
            running["since_s"] = np.maximum(running["since_s"], now_s)
            operator["share"], operator["speed"] = share, speed * of_replica
            if running.size:
                operator["next_s"] = running["end_s"][-1]

    def set_servers(self, place: int, now_s: float, servers: int) -> None:
        """Change the number of servers.

        Added servers take waiting tuples with the next ``run``; removed ones finish their service.

        A micro-batch that runs keeps its tasks. A replica with a queue of its own gets no more tuples and serves those
        that it has.
        """
        if self.groups["kind"][place] and servers > len(self.members[place]):
            raise ValueError(f"the pool has {len(self.members[place])} replicas with a queue each; got {servers}")
        self.clock["now_s"] = now_s
        self.operators["servers"][place] = servers
        if (missing := servers - self.services.shape[1]) > 0:
            self.services = np.pad(self.services, ((0, 0), (0, missing)))

    def cpu_s(self, place: int, now_s: float) -> float:
        """CPU seconds that the operator has been charged for, running services included."""
        return sum(self._charged_s(member, now_s) for member in self.members[place])

    def completed(self, place: int) -> int:
        """Tuples that the operator has served."""
        return int(self.operators["completed"][self.members[place]].sum())

    def backlog(self, place: int) -> int:
        """Tuples that wait at the operator, or are in service."""
        members = self.operators[self.members[place]]
        return int(members["waiting"].sum() + members["in_service"].sum())

    def lose_all(self, now_s: float, until_s: float) -> None:
        """Forget every tuple that is inside, and those that arrive before ``until_s``."""
        for member in range(self.operators.size - 1):
            operator = self.operators[member]
            operator["worked_s"] += _uncharged_s(self._running(member), now_s)
            operator["cpu_s"] = self._charged_s(member, now_s)
        self.clock["lost"] += self.counters.inside
        self.clock["down_until_s"] = until_s
        self.pool = pool_of(self.pool.size)
        self.clock["free"], self.clock["room"] = 0, self.pool.size
        for name in ("queued", "waiting", "in_service", "starting"):
            self.operators[name] = 0
        self.operators["next_s"][:-1] = inf

    def _charged_s(self, member: int, now_s: float) -> float:
        operator = self.operators[member]
        uncharged_s = _uncharged_s(self._running(member), now_s)
        return float(operator["cpu_s"] + uncharged_s * operator["share"] * operator["busy_tasks"])

    @property
    def counters(self) -> Counters:
        """Where the tuples are."""
        clock = self.clock[0]
        return Counters(
            arrived=self.arrived,
            copied=int(clock["copied"]),
            filtered=int(clock["filtered"]),
            departed=int(clock["departed"]),
            inside=int(self.operators["waiting"].sum() + self.operators["in_service"].sum()),
            lost=int(clock["lost"]),
            rejected=int(clock["rejected"]),
            timed_out=int(clock["timed_out"]),
        )

    @property
    def arrived(self) -> int:
        """Tuples at the source so far."""
        return int(self.operators["arrived"][-1])

    def _running(self, place: int) -> Records:
        """The services of an operator; a batch is one."""
        operator = self.operators[place]
        count = min(1, operator["in_service"]) if operator["batched"] else operator["in_service"]
        return self.services[place, :count]


def _uncharged_s(running: Records, now_s: float) -> float:
    """Work that is not in the CPU seconds of the operator yet.

    A batch may not have begun to work.
    """
    return float(np.maximum(now_s - running["since_s"], 0.0).sum())


def _rescaled(running: Records, now_s: float, slower: float) -> FloatArray:
    """When services end whose remaining work takes ``slower`` times as long."""
    from_s = np.maximum(running["since_s"], now_s)
    return np.asarray(from_s + (running["end_s"] - from_s) * slower)


def _expected_departures(pipeline: Pipeline, routes: Routes, arrivals: int) -> int:
    """Room in the log for a few more departures than the mean.

    So the log is seldom copied; memory is used only once it is written.
    """
    per_arrival = sum(visits for visits, sink in zip(pipeline.visits.values(), routes.sinks, strict=False) if sink)
    return int(1.02 * arrivals * per_arrival) + FIRST_ROOM
