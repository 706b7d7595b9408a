"""The base of all policies: their two phases, their options, and the traits that a run reads from these."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeAlias

from pydantic import AfterValidator, Field

from mead.keys import Keys, Positive
from mead.policies.reasons import NoCpu, Remark
from mead.values import Cause, Knowledge, Observation, Pipeline, Plan, Reason

KEPT_IATS = 50_000
"""IATs that a monitor keeps for every policy: as many as the monitor of the MEAD paper."""

Knob: TypeAlias = Literal["share", "replicas"]
Tuples = Annotated[int, Field(ge=100, le=10_000_000)]
Fraction = Annotated[float, Field(gt=0, le=1)]


class Policy(Protocol):
    """Decides in two phases: ``analyze`` describes the situation, ``plan`` turns that into an allocation.

    Both depend only on their arguments and on earlier calls: a policy reads no clock and knows no engine.

    A policy that places processors may set ``negotiates = True``. On a cluster it is then told how many executors it
    was granted, and has to cope with fewer than it ordered. For other policies, executors follow when they come.
    """

    name: str
    interval_s: float
    """Time between two decisions."""

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Any:
        """The policy's own analysis; ``NotReady`` if the readings do not suffice, and nothing changes."""

    def plan(self, observation: Observation, analysis: Any, knowledge: Knowledge) -> Plan:
        """The allocation, and the reason for it. Not called if the policy is not ready."""


@dataclass(frozen=True)
class NotReady:
    """The answer of a policy that cannot analyze the readings."""

    reason: Reason


def not_ready(observation: Observation, pipeline: Pipeline) -> NotReady | None:
    """Refuse true readings that tell nothing; missing or implausible ones never reach a policy.

    A pipeline in which nothing arrived, waited or ran cannot be told from a broken monitor.
    """
    for operator in pipeline.operators:
        if observation.allocation[operator.name].cores <= 0:
            return NotReady(Reason(Cause.UNUSABLE, (NoCpu(operator.name),)))
    readings = [observation.operators[operator.name] for operator in pipeline.operators]
    if not any(reading.arrived or reading.completed or reading.backlog for reading in readings):
        return NotReady(Reason(Cause.UNUSABLE, (Remark.NO_TRAFFIC,)))
    return None


def decide(policy: Policy, observation: Observation, knowledge: Knowledge) -> Plan:
    """Analyze and plan, as one round of the loop does."""
    analysis = policy.analyze(observation, knowledge)
    if isinstance(analysis, NotReady):
        return Plan.keep(observation.allocation, analysis.reason)
    return policy.plan(observation, analysis, knowledge)


@dataclass(frozen=True)
class Restart:
    """The cost of a change of replicas on a system that stops for it, as Storm does by default."""

    downtime_s: float
    loses: bool = False
    """Tuples that wait, are in service or arrive during the restart are lost. Otherwise they wait."""

    def __post_init__(self) -> None:
        if not 0 <= self.downtime_s < inf:
            raise ValueError(f"downtime_s must be finite and not negative; got {self.downtime_s:g}")


class PolicyOptions(Keys):
    """The options of one policy, by which a pipeline file names it, and its traits."""

    name: str

    reacts: ClassVar[bool] = False
    """It follows utilization or backlog from moment to moment, so that one observation shows little of it."""
    plans_for_requirements: ClassVar[bool] = True
    """It looks at the requirements of the pipeline."""
    knobs: ClassVar[tuple[Knob, ...]] = ("share", "replicas")
    """The resources that it changes."""
    follows_inputs: ClassVar[bool] = False
    """It measures the time until everything that came of an input is done, for which tasks take notes."""

    @property
    def kept_iats(self) -> int:
        """How many of the last IATs the monitor has to keep."""
        return KEPT_IATS

    @property
    def recorded_every(self) -> int:
        """Of how many tuples one is recorded at an operator."""
        return 1

    @property
    def restart(self) -> Restart | None:
        """The restart that every change of replicas causes; None if replicas come from a pool."""
        return None

    @property
    def sees_requirements(self) -> bool:
        """Its decisions depend on the requirements."""
        return self.plans_for_requirements

    @property
    def splits_queues(self) -> bool:
        """Between its decisions, long queues are split over more tasks."""
        return False

    @property
    def forecast_s(self) -> float | None:
        """The length of the forecasts that it decides by; None if it makes none."""
        return None

    @property
    def replicas_asked(self) -> int:
        """The number of replicas that the options ask for by themselves."""
        return 1

    def check(self, pipeline: Pipeline) -> None:
        """Raise ConfigError if the options do not suit a pipeline."""

    def without_rules(self) -> Self:
        """The same options without the planning rules that lead to a target step by step."""
        return self


class SlowKeys(PolicyOptions):
    """The option of every policy that is too slow for bursts."""

    two_level: bool = Field(
        default=False,
        description="between its decisions, look every second, and split a long queue over more tasks",
    )

    @property
    def sees_requirements(self) -> bool:
        """On two levels every policy does: a queue is split by how soon its tuples are due."""
        return self.plans_for_requirements or self.two_level

    @property
    def splits_queues(self) -> bool:
        """On two levels."""
        return self.two_level


class RuleKeys(SlowKeys):
    """The planning rules: how far one round may move an allocation."""

    one_level_down: bool = Field(default=True, description="a share falls by one level per round at most")
    hold_down_s: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="time after a change in which nothing is lowered, s"
    )

    def without_rules(self) -> Self:
        """The same options, with every target reached in one step."""
        return self.model_copy(update={"one_level_down": False, "hold_down_s": 0.0})


def _in_tenths(interval_s: float) -> float:
    if abs(10 * interval_s - round(10 * interval_s)) > 1e-6 or interval_s < 0.1:
        raise ValueError(f"must be a multiple of 0.1; got {interval_s:g}")
    return interval_s


Interval = Annotated[Positive, Field(ge=0.01)]
"""Seconds between two rounds. Readings of shorter intervals say nothing, and a round takes milliseconds itself."""

Tenths = Annotated[Positive, AfterValidator(_in_tenths)]
"""Seconds in multiples of 0.1, because arrivals are counted in tenths of a second."""
