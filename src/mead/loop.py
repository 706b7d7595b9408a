"""The control loop: observe, analyze, plan, execute. It knows no Spark, no simulator and no wall clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from mead.clock import Clock
from mead.knowledge.allocation import Allocation
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.observation import Observation
from mead.knowledge.plan import Plan
from mead.monitor.demand import DemandEstimator
from mead.plan.policy import Policy


class Mode(Enum):
    """How far the loop may go."""

    OBSERVE = "observe"
    ADVISE = "advise"
    ACT = "act"


class Engine(Protocol):
    """What runs the pipeline: Spark, or the simulator."""

    def observe(self, time_s: float) -> Observation:
        """Readings of the time since the last call, up to ``time_s``."""

    def apply(self, allocation: Allocation) -> None:
        """Have this allocation from now on."""


@dataclass
class Round:
    """One turn of the loop, as it goes into the history."""

    time_s: float
    observation: Observation | None = None
    plan: Plan | None = None
    error: str = ""
    """In which phase the round failed, and why; empty if it did not."""
    phase_s: dict[str, float] = field(default_factory=dict)
    """CPU seconds by phase."""


class ControlLoop:
    """Turns on a fixed interval. A round that fails changes nothing: the last good allocation stays in force."""

    def __init__(
        self,
        engine: Engine,
        policy: Policy[Any],
        knowledge: Knowledge,
        clock: Clock,
        *,
        mode: Mode = Mode.ACT,
        record: Callable[[Round], None] = lambda _: None,
        cpu_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.engine, self.policy, self.knowledge, self.clock = engine, policy, knowledge, clock
        self.mode, self.record, self.cpu_s = mode, record, cpu_s
        self.allocation = knowledge.pipeline.most
        self.demands = {o.name: DemandEstimator(o.demand_s) for o in knowledge.pipeline.operators}

    def run(self, duration_s: float) -> None:
        """Apply the start allocation, then turn until ``duration_s`` have passed."""
        self.engine.apply(self.allocation)
        rounds = int(duration_s / self.policy.interval_s + 1e-9)
        for turn in range(1, rounds + 1):
            self.clock.wait_until(turn * self.policy.interval_s)
            self.record(self.round())

    def round(self) -> Round:
        """One turn."""
        this = Round(self.clock.now_s())
        try:
            with self._phase(this, "observe"):
                observation = this.observation = self.engine.observe(this.time_s)
                knowledge = self._learned(observation)
            if self.mode is Mode.OBSERVE:
                return this
            if observation.missing:
                this.plan = Plan.keep(observation.allocation, observation.missing)
                return this
            with self._phase(this, "analyze"):
                analysis = self.policy.analyze(observation, knowledge)
            with self._phase(this, "plan"):
                this.plan = self.policy.plan(observation, analysis, knowledge)
            if self.mode is Mode.ACT and this.plan.allocation != self.allocation:
                with self._phase(this, "execute"):
                    self.engine.apply(this.plan.allocation)
                    self.allocation = this.plan.allocation
        except Exception as error:  # noqa: BLE001 - whatever fails, the stream goes on with what it has
            this.error = f"{this.phase_s and list(this.phase_s)[-1]}: {type(error).__name__}: {error}"
            this.plan = Plan.keep(self.allocation, f"this round failed in {this.error}")
        return this

    def _learned(self, observation: Observation) -> Knowledge:
        """The knowledge with demands as measured so far."""
        for name, reading in observation.operators.items():
            self.demands[name].add(observation.time_s, reading.completed, reading.busy_s)
        return self.knowledge.with_demands({name: d.demand_s for name, d in self.demands.items()})

    @contextmanager
    def _phase(self, this: Round, name: str) -> Iterator[None]:
        start_s, this.phase_s[name] = self.cpu_s(), 0.0
        try:
            yield
        finally:
            this.phase_s[name] = self.cpu_s() - start_s
