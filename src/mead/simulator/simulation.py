"""A pipeline in virtual time, advanced step by step."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf

import numpy as np

from mead.arrays import FloatArray, frozen
from mead.policies import KEPT_IATS, Restart
from mead.queueing import PATH_SEPARATOR
from mead.simulator.conditions import Conditions, check_names
from mead.simulator.machine import Counters, Machine
from mead.simulator.readings import Monitor
from mead.simulator.timeline import Timeline
from mead.values import Allocation, Observation, Pipeline, Resources
from mead.workload import Trace

STANDSTILL = 2.0**-40
"""Speed of an operator that is down, relative to its share. A minute does less than a nanosecond of work, and the
rest of a service can be computed exactly, which a speed of zero would not allow."""


@dataclass(frozen=True, eq=False)
class Responses:
    """The tuples that have left a path, in the order in which they left it."""

    arrival_s: FloatArray = field(repr=False)
    """Time of arrival at the source."""
    response_s: FloatArray = field(repr=False)


class Simulation:
    """Tuples of a trace on their way through a pipeline, from the first arrival on, which is at 0 s.

    Every operator serves first come, first served: one queue, ``replicas`` servers, each at the speed of its share. If
    the conditions have a grouping, every replica has a queue of its own, and a tuple stays where it was sent. A tuple's
    demand is fixed when it arrives there. A change of share acts at once, on what is left of the running
    services; added replicas take waiting tuples at once, removed ones finish theirs. A micro-batch is split evenly
    over the replicas, task j of k taking the tuples j, j + k ..., and lasts its overhead and as long as its longest
    task: ``overhead + ceil(n / k) demand / share`` for equal demands.

    A path's response time is from arrival at the source to the end of service at the path's last operator. Of a flat
    map every tuple that it made counts for itself. A tuple that an edge sends back from the last operator has not
    left; it counts when it leaves for good. A copy that goes back from earlier on the path counts beside its original.

    Of every ``recorded_every`` tuples at an operator, one has its inter-arrival and its service time recorded.

    The same seed gives the same run, no matter in which steps it is made.

    >>> from mead.values.pipeline import Operator
    >>> pipeline = Pipeline("one", [Operator("matcher", demand_s=1.0, scv=0.0)])
    >>> simulation = Simulation(pipeline, Trace.from_timestamps_s([0.0, 0.5, 5.0]), seed=1)
    >>> simulation.advance(1.5)  # the first is done, the second half done
    >>> simulation.apply(Allocation.of(matcher=Resources(share=0.25)))
    >>> simulation.drain()
    >>> simulation.responses("matcher").response_s.tolist()
    [1.0, 3.0, 4.0]
    """

    def __init__(
        self,
        pipeline: Pipeline,
        trace: Trace,
        seed: int,
        *,
        allocation: Allocation | None = None,
        conditions: Conditions | None = None,
        kept_iats: int = KEPT_IATS,
        recorded_every: int = 1,
    ) -> None:
        self.pipeline = pipeline
        self.conditions = conditions or Conditions()
        self.conditions.check_for(pipeline)
        self.in_force = self.requested = self._checked(pipeline.most if allocation is None else allocation)
        self.now_s = 0.0
        self.timeline = Timeline()
        self.timeline.add(0.0, self.in_force)
        self._machine = Machine(
            pipeline,
            frozen(trace.times_s),
            self.in_force,
            seed,
            self.conditions,
            recorded_every=recorded_every,
        )
        self._monitor = Monitor(pipeline, trace, kept_iats)
        self._places = {operator.name: place for place, operator in enumerate(pipeline.operators)}
        self._interference = dict.fromkeys(self._places, 1.0)
        self._down_until_s = -inf
        self._changes: list[_Change] = []
        self._order = count()
        for name, steps in self.conditions.interference.items():
            for time_s, factor in steps:
                heappush(self._changes, _Change(time_s, next(self._order), name, interference=factor))

    def advance(self, until_s: float) -> None:
        """Let everything happen up to and at that time. What happens at the time of a change comes before it."""
        if not self.now_s <= until_s < inf:
            raise ValueError(f"time runs forward: it is {self.now_s:g} s, and cannot become {until_s:g} s")
        while self._changes and self._changes[0].time_s <= until_s:
            self._machine.run(self._changes[0].time_s)
            self._change()
        self._machine.run(until_s)
        self.now_s = until_s

    def drain(self) -> None:
        """Let all that is still to come arrive, and leave."""
        while not self.empty:
            self._machine.run(self._changes[0].time_s if self._changes else inf)
            if self._changes and not self.empty:
                self._change()
        self.now_s = max(self.now_s, float(self._machine.clock["now_s"][0]))
        self.advance(self.now_s)

    @property
    def empty(self) -> bool:
        """Whether everything has arrived, and left."""
        counters = self.counters
        return counters.inside == 0 and counters.arrived == self._machine.arrivals_s.size

    def apply(self, allocation: Allocation) -> None:
        """Order an allocation; it comes into force after the delays of the conditions."""
        before, self.requested = self.requested, self._checked(allocation)
        share_s = self.now_s + self.conditions.share_delay_s
        replicas_s = self.now_s + self.conditions.replicas_delay_s
        if self.conditions.restart and any(r.replicas != before[name].replicas for name, r in allocation.items()):
            heappush(self._changes, _Change(replicas_s, next(self._order), restart=self.conditions.restart))
        for name, wanted in allocation.items():
            if wanted.share != before[name].share:
                heappush(self._changes, _Change(share_s, next(self._order), name, share=wanted.share))
            if wanted.replicas != before[name].replicas:
                heappush(self._changes, _Change(replicas_s, next(self._order), name, replicas=wanted.replicas))
        while self._changes and self._changes[0].time_s <= self.now_s:
            self._change()

    def observe(self, time_s: float | None = None) -> Observation:
        """The readings since the last observation, at ``time_s`` or now."""
        if time_s is not None:
            self.advance(time_s)
        return self._monitor.observe(self._machine, self.now_s, self.in_force)

    def responses(self, path: str) -> Responses:
        """Every tuple that has left that path so far."""
        known = ", ".join(self.pipeline.paths)
        if path not in self.pipeline.paths:
            raise ValueError(f"there is no path {path}; those of {self.pipeline.name} are {known}")
        left = self._machine.log[: self.counters.departed]
        left = left[left["path"] == self.pipeline.paths.index(path)]
        return Responses(frozen(left["arrival_s"]), frozen(left["response_s"]))

    def completions(self) -> Responses:
        """Every input of which all is done so far, from its arrival until the last of its derived tuples was.

        It is what a stream processor with acknowledgements measures: the longest way through forks, flat maps and
        loops counts, and an input that a filter takes is done there. Only tuples on the way to the end of a judged path
        have to be done (`Pipeline.judged_paths`).
        """
        done = ~np.isnan(self._machine.took_s)
        return Responses(frozen(self._machine.arrivals_s[done]), frozen(self._machine.took_s[done]))

    @property
    def counters(self) -> Counters:
        """Where the tuples are now."""
        return self._machine.counters

    @property
    def sent(self) -> dict[str, int]:
        """Number of tuples sent along every edge, such as ``parser>matcher``.

        Edges from the source are named ``>parser``.
        """
        routes = self._machine.routes
        counts = routes.edge_records["sent"].tolist()
        return {PATH_SEPARATOR.join(edge): n for edge, n in zip(routes.edges, counts, strict=True)}

    def _change(self) -> None:
        """Put the next change into force."""
        change = heappop(self._changes)
        if change.restart is not None:
            self._restart(change.time_s, change.restart)
            return
        if not change.operator:
            self._resume(change.time_s)
            return
        name, place = change.operator, self._places[change.operator]
        now = self.in_force[name]
        if change.replicas is not None:
            self._machine.set_servers(place, change.time_s, change.replicas)
        else:
            self._interference[name] = change.interference or self._interference[name]
            self._set_speed(name, change.time_s, change.share or now.share)
        if change.interference is None:
            resources = Resources(change.share or now.share, change.replicas or now.replicas)
            self.in_force = self.in_force.with_(name, resources)
            self.timeline.add(change.time_s, self.in_force)

    def _set_speed(self, name: str, time_s: float, share: float) -> None:
        """Set the speed that the share is worth now. An operator that stands still is charged for nothing."""
        if time_s < self._down_until_s:
            self._machine.set_speed(self._places[name], time_s, 0.0, share * STANDSTILL)
        else:
            self._machine.set_speed(self._places[name], time_s, share, share * self._interference[name])

    def _restart(self, time_s: float, restart: Restart) -> None:
        """Everything stops for a while."""
        until_s = time_s + restart.downtime_s
        if restart.loses:
            self._machine.lose_all(time_s, until_s)
            return
        self._down_until_s = until_s
        heappush(self._changes, _Change(until_s, next(self._order)))
        for name, resources in self.in_force.items():
            self._set_speed(name, time_s, resources.share)

    def _resume(self, time_s: float) -> None:
        """Everything goes on, unless it had to stop again meanwhile."""
        if time_s >= self._down_until_s:
            for name, resources in self.in_force.items():
                self._set_speed(name, time_s, resources.share)

    def _checked(self, allocation: Allocation) -> Allocation:
        """The allocation in the order of the pipeline. Raises if it does not fit the pipeline."""
        check_names("the allocation names", allocation, self.pipeline)
        for operator in self.pipeline.operators:
            if operator.name not in allocation:
                raise ValueError(f"the allocation gives nothing to operator {operator.name!r}")
            resources = allocation[operator.name]
            if not (0 < resources.share < inf and resources.replicas >= 1):
                raise ValueError(
                    f"operator {operator.name!r} needs a share above 0 and at least one replica; got {resources}"
                )
        return Allocation.of({operator.name: allocation[operator.name] for operator in self.pipeline.operators})


@dataclass(frozen=True, order=True)
class _Change:
    """A change of the share, the replicas or the speed factor of an operator.

    Without an operator, everything stops (``restart``) or goes on.
    """

    time_s: float
    order: int
    """Number of the change, by which those of the same time are ordered."""
    operator: str = field(default="", compare=False)
    share: float | None = field(default=None, compare=False)
    replicas: int | None = field(default=None, compare=False)
    interference: float | None = field(default=None, compare=False)
    restart: Restart | None = field(default=None, compare=False)
