"""The control loop: observe, analyze, plan, execute. It knows no Spark, no simulator and no wall clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from math import floor, inf
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController

from mead.clock import Clock
from mead.monitor import DemandEstimator, OverheadEstimator, implausible
from mead.policies.base import Policy
from mead.values import Allocation, Because, Knowledge, Observation, Plan, Round


class Engine(Protocol):
    """Runs a pipeline: Spark, or the simulator."""

    def observe(self, time_s: float) -> Observation:
        """Readings of the interval from the last call to ``time_s``."""

    def apply(self, allocation: Allocation) -> None:
        """Put this allocation in force from now on."""


class NotGranted(RuntimeError):  # noqa: N818 - nothing went wrong: somebody said no, or not yet
    """There are fewer processors than were asked for. An allocation that fits those is in force."""

    def __init__(self, wanted: int, held: int, in_force: Allocation) -> None:
        super().__init__(
            f"{wanted} processors were asked for and {held} are there; in force is {in_force}, and what comes later "
            "counts in a later round"
        )
        self.in_force = in_force


class Mode(Enum):
    """How far the loop may go."""

    OBSERVE = "observe"
    ADVISE = "advise"
    ACT = "act"


class ControlLoop:
    """Runs one round per interval. A round that fails changes nothing: the last good allocation stays in force.

    The first allocation is ``start``, or the most that every operator may have.
    """

    def __init__(
        self,
        engine: Engine,
        policy: Policy[Any],
        knowledge: Knowledge,
        clock: Clock,
        *,
        mode: Mode = Mode.ACT,
        start: Allocation | None = None,
        record: Callable[[Round], None] = lambda _: None,
        cpu_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.engine, self.policy, self.knowledge, self.clock = engine, policy, knowledge, clock
        self.mode, self.record, self.cpu_s = mode, record, cpu_s
        self.allocation = start or knowledge.pipeline.most
        """The allocation that is believed to be in force, or that was ordered last."""
        self.settled = False
        """Whether the engine took the last order. After one that failed half-way, anything may be in force."""
        self.seen_s = -inf
        """Time of the last usable readings."""
        self.given: Allocation | None = None
        """The allocation in force at the time of those readings."""
        self.libraries = ThreadpoolController()
        operators = knowledge.pipeline.operators
        self.demands = {o.name: DemandEstimator(o.demand_s) for o in operators}
        self.overheads = {o.name: OverheadEstimator(o.batches.overhead_s) for o in operators if o.batches}

    def run(self, duration_s: float) -> None:
        """Apply the start allocation, then turn until ``duration_s`` have passed."""
        start = Round(self.clock.now_s(), in_force=self.allocation)
        self._execute(start, self.allocation)
        if start.error:
            self.record(start)
        turn, interval_s = 1, self.policy.interval_s
        while turn * interval_s <= duration_s + 1e-9:
            self.clock.wait_until(turn * interval_s)
            self.record(self.round())
            # Rounds missed while a long one ran are not made up for: their readings would span no time at all.
            turn = max(turn, floor(self.clock.now_s() / interval_s + 1e-9)) + 1

    def round(self) -> Round:
        """One turn. It never raises: whatever fails, the stream goes on with what it has."""
        this = Round(self.clock.now_s())
        try:
            with self._phase(this, "observe"):
                this.observation = self._observed(this.time_s)
            if self.mode is not Mode.OBSERVE:
                this.plan = self._planned(this, this.observation)
        except Exception as error:  # noqa: BLE001 - see above
            self._failed(this, error)
            if self.mode is not Mode.OBSERVE:
                this.plan = Plan.keep(self.allocation, f"this round failed in {this.error}", Because.FAILED)
        if this.plan is not None:
            self._execute(this, this.plan.allocation)
        this.in_force = self.allocation
        return this

    def _observed(self, time_s: float) -> Observation:
        """Read the engine, and learn demands from the readings. Those that cannot be true are marked as missing."""
        observation = self.engine.observe(time_s)
        if fault := observation.missing or implausible(observation, self.knowledge.pipeline, self.seen_s):
            return replace(observation, missing=fault)
        for name, reading in observation.operators.items():
            self.demands[name].add(observation.time_s, reading.completed, reading.busy_s)
            given = observation.allocation[name]
            # Right after a change, micro-batches end that began under another share: their times would mislead.
            if name in self.overheads and self.given is not None and self.given[name] == given:
                work_s = reading.completed * self.demands[name].demand_s / given.cores
                self.overheads[name].add(reading.batches, reading.serving_s, work_s)
        self.seen_s, self.given = observation.time_s, observation.allocation
        if self.mode is not Mode.ACT:
            self.allocation = observation.allocation
        return observation

    def _planned(self, this: Round, observation: Observation) -> Plan:
        """The policy's plan, or "keep" if readings are missing. Raises if an operator may not have what is planned."""
        if observation.missing:
            return Plan.keep(self.allocation, observation.missing, Because.UNUSABLE)
        # A policy's matrices are small. More threads would mostly wait for each other, on cores that the stream needs.
        with self.libraries.limit(limits=1, user_api="blas"):
            return self._decided(this, observation)

    def _decided(self, this: Round, observation: Observation) -> Plan:
        with self._phase(this, "analyze"):
            knowledge = self.knowledge.with_demands(
                {name: one.demand_s for name, one in self.demands.items()},
                {name: one.overhead_s for name, one in self.overheads.items()},
            )
            analysis = self.policy.analyze(observation, knowledge)
        with self._phase(this, "plan"):
            plan = self.policy.plan(observation, analysis, knowledge)
            self.knowledge.pipeline.check(plan.allocation)
        return plan

    def _execute(self, this: Round, allocation: Allocation) -> None:
        """Order the allocation unless it is already in force. After a failure, the next round orders again."""
        if self.mode is not Mode.ACT or (self.settled and allocation == self.allocation):
            return
        try:
            with self._phase(this, "execute"):
                self.engine.apply(allocation)
            self.allocation, self.settled = allocation, True
        except Exception as error:  # noqa: BLE001 - see round
            self.settled = False
            if isinstance(error, NotGranted):
                self.allocation = error.in_force
            self._failed(this, error)

    def _failed(self, this: Round, error: Exception) -> None:
        failure = f"{list(this.phase_s)[-1]}: {type(error).__name__}: {error}"
        this.error = f"{this.error}; {failure}" if this.error else failure

    @contextmanager
    def _phase(self, this: Round, name: str) -> Iterator[None]:
        start_s, this.phase_s[name] = self.cpu_s(), 0.0
        try:
            yield
        finally:
            this.phase_s[name] = self.cpu_s() - start_s
