"""The control loop: observe, analyze, plan, execute. It knows no Spark, no simulator and no wall clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from math import floor, inf
from typing import Protocol

from threadpoolctl import ThreadpoolController

from mead.clock import Clock
from mead.monitor import CostEstimates, implausible
from mead.policies import NotReady, Policy
from mead.values import Allocation, Cause, CutToFit, Knowledge, Move, Observation, Plan, Round


class Engine(Protocol):
    """Runs a pipeline: Spark, or the simulator."""

    def observe(self, time_s: float) -> Observation:
        """Readings of the interval from the last call to ``time_s``."""

    def apply(self, allocation: Allocation) -> None:
        """Put this allocation in force from now on."""


class NotGranted(RuntimeError):  # noqa: N818 - a refusal, not an error of the engine
    """The resource manager granted fewer processors than were ordered. ``in_force`` fits those."""

    def __init__(self, wanted: int, held: int, in_force: Allocation) -> None:
        super().__init__(
            f"{wanted} processors were ordered and {held} were granted; {in_force} is in force, and processors that "
            "come later are used in a later round"
        )
        self.in_force = in_force


class Mode(Enum):
    """Mode of the loop: observe, advise or act."""

    OBSERVE = "observe"
    ADVISE = "advise"
    ACT = "act"


class ControlLoop:
    """Runs one round per interval.

    A round that fails changes nothing: the last good allocation stays in force.

    The first allocation is ``start``, by default the most that every operator may have and the processors hold. A plan
    that needs more processors than there are is cut to those.
    """

    def __init__(
        self,
        engine: Engine,
        policy: Policy,
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
        self.allocation = start or knowledge.start
        """The allocation in force, as far as the loop knows, or the one ordered last."""
        self.settled = False
        """Whether the engine took the last order. After an order that failed half-way, anything may be in force."""
        self.seen_s = -inf
        """Time of the last usable readings."""
        self.estimates = CostEstimates(knowledge.pipeline)
        self.libraries = ThreadpoolController()

    def run(self, duration_s: float) -> None:
        """Apply the start allocation, then turn until ``duration_s`` have passed."""
        turn = Turn(self.clock.now_s(), self.cpu_s)
        self._execute(turn, self.allocation)
        if turn.error:
            self.record(self._round(turn))
        number, interval_s = 1, self.policy.interval_s
        while number * interval_s <= duration_s + 1e-9:
            self.clock.wait_until(number * interval_s)
            self.record(self.round())
            # Rounds missed while a long one ran are skipped: their readings would span no time at all.
            number = max(number, floor(self.clock.now_s() / interval_s + 1e-9)) + 1

    def round(self) -> Round:
        """One turn. It never raises: if a phase fails, the stream keeps its allocation."""
        turn = Turn(self.clock.now_s(), self.cpu_s)
        try:
            with turn.phase("observe"):
                turn.observation = self._observe(turn.time_s)
            if self.mode is not Mode.OBSERVE:
                turn.plan = self._plan(turn, turn.observation)
        except Exception as error:  # noqa: BLE001 - see above
            turn.fail(error)
            if self.mode is not Mode.OBSERVE:
                turn.plan = Plan.keep(self.allocation, "the round failed", Cause.FAILED)
        if turn.plan is not None:
            self._execute(turn, turn.plan.allocation)
        return self._round(turn)

    def _observe(self, time_s: float) -> Observation:
        """Read the engine and learn from the readings. Implausible readings count as missing."""
        observation = self.engine.observe(time_s)
        if fault := observation.missing or implausible(observation, self.knowledge.pipeline, self.seen_s):
            return replace(observation, missing=fault)
        self.estimates.add(observation)
        self.seen_s = observation.time_s
        if self.mode is not Mode.ACT:
            self.allocation = observation.allocation
        return observation

    def _plan(self, turn: Turn, observation: Observation) -> Plan:
        """The policy's plan, or "keep" if readings are missing.

        Raises if the plan exceeds what operators may have.
        """
        if observation.missing:
            return Plan.keep(self.allocation, observation.missing, Cause.UNUSABLE)
        # A policy's matrices are small: more threads would only take cores from the stream.
        with self.libraries.limit(limits=1, user_api="blas"):
            with turn.phase("analyze"):
                knowledge = self.knowledge.with_demands(self.estimates.demands_s, self.estimates.overheads_s)
                analysis = self.policy.analyze(observation, knowledge)
            with turn.phase("plan"):
                if isinstance(analysis, NotReady):
                    return Plan.keep(observation.allocation, analysis.reason)
                plan = self.policy.plan(observation, analysis, knowledge)
                self.knowledge.pipeline.check(plan.allocation)
        return self._fit(plan, observation.allocation)

    def _fit(self, plan: Plan, now: Allocation) -> Plan:
        """The plan with no more replicas than there are processors for."""
        capacity, wanted = self.knowledge.capacity, plan.allocation
        if capacity is None or (fitting := capacity.limit(wanted, now, self.knowledge.pipeline)) == wanted:
            return plan
        facts = (*plan.reason.facts, CutToFit(capacity.processors, capacity.used(wanted)))
        reason = replace(plan.reason, cause=Cause.IMPOSSIBLE, facts=facts, move=Move(now, fitting))
        return replace(plan, allocation=fitting, reason=reason, predicted={})

    def _execute(self, turn: Turn, allocation: Allocation) -> None:
        """Order the allocation unless it is already in force. After a failure, the next round orders again."""
        if self.mode is not Mode.ACT or (self.settled and allocation == self.allocation):
            return
        try:
            with turn.phase("execute"):
                self.engine.apply(allocation)
            self.allocation, self.settled = allocation, True
        except Exception as error:  # noqa: BLE001 - see round
            self.settled = False
            if isinstance(error, NotGranted):
                self.allocation = error.in_force
            turn.fail(error)

    def _round(self, turn: Turn) -> Round:
        """The turn as a value, with everything that has been learned up to it."""
        return Round(
            turn.time_s,
            turn.observation,
            turn.plan,
            turn.error,
            turn.phase_s,
            self.allocation,
            self.estimates.demands_s,
            self.estimates.overheads_s,
        )


@dataclass
class Turn:
    """A round that is under way."""

    time_s: float
    cpu_s: Callable[[], float]
    observation: Observation | None = None
    plan: Plan | None = None
    error: str = ""
    phase_s: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure the CPU time of a phase, even if it fails."""
        start_s, self.phase_s[name] = self.cpu_s(), 0.0
        try:
            yield
        finally:
            self.phase_s[name] = self.cpu_s() - start_s

    def fail(self, error: Exception) -> None:
        """Note that the phase begun last has failed."""
        failure = f"{list(self.phase_s)[-1]}: {type(error).__name__}: {error}"
        self.error = f"{self.error}; {failure}" if self.error else failure
