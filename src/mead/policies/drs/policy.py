"""DRS: replicas from a network of queues.

Fu et al., "DRS: Auto-Scaling for Real-Time Stream Analytics", ToN 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import inf, isfinite
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from mead.keys import ConfigError, Positive, wrong_key
from mead.policies.base import Interval, Knob, NotReady, PolicyOptions, Restart, not_ready
from mead.policies.drs.facts import ExternalRate, OrderArrived, Room, Scheduled
from mead.policies.drs.measurer import Measurements, Measurer
from mead.policies.drs.model import Model, OpenNetwork, Station
from mead.policies.drs.schedule import Goal, Situation, decide
from mead.policies.drs.search import Limits
from mead.policies.drs.smoothing import AlphaWeighted, MovingAverage
from mead.policies.reasons import Remark, UnderWay
from mead.policies.registry import register
from mead.queueing import PATH_SEPARATOR
from mead.values import (
    Allocation,
    Capacity,
    Cause,
    Knowledge,
    Move,
    Observation,
    Pipeline,
    Plan,
    Prediction,
    Reason,
    Resources,
)

OVER_PROVISION = 0.45
"""T_min over T_max where it is not given: 450 ms and 1000 ms in the paper's Fig. 9."""

MANY = 2.0
"""An operator with more than this many times the tuples that the model expects there has a backlog. A micro-batch holds
up to twice its mean just before it begins."""

STAYS = {
    "optimal": Cause.ENOUGH,
    "model_disagrees": Cause.ENOUGH,
    "no_response": Cause.TOO_FEW,
    "T_ra": Cause.RULES,
    "cost": Cause.RULES,
}
"""The cause of a plan that moves nothing, by the scheduler's case; any other case means a goal out of reach."""


class DRSOptions(PolicyOptions):
    """DRS: places replicas by a network of queues.

    It seeks the shortest time with k_max, or the fewest replicas for t_max_s.
    """

    name: Literal["drs"] = "drs"
    interval_s: Interval = Field(default=60.0, description="time between two pulls of metrics and decisions (T_m), s")
    k_max: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="replicas of all operators together, with t_max_s the most; default the sum of their limits",
    )
    t_max_s: Positive | None = Field(
        default=None, description="sojourn time to keep, s; default the strictest requirement, unless k_max is given"
    )
    t_min_s: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="response time below which replicas are removed, s; default 0.45 of t_max_s; with micro-batches, "
        "their time and 0.45 of the rest",
    )
    t_ra_s: Annotated[float, Field(ge=0)] = Field(
        default=360.0, description="least time between two re-allocations (T_ra), s"
    )
    downtime_s: Annotated[float, Field(ge=0)] = Field(
        default=0.0,
        description="time for which a re-allocation stops everything, s; a re-allocation has to bring more than that "
        "costs, and in virtual time the pipeline stands still for it",
    )
    model: Literal["mmk", "ggk_ac", "ggk_whitt"] = Field(
        default="mmk", description="M/M/k, GI/G/k (eq. 5), or that with Whitt's refinement"
    )
    calibrated: bool = Field(default=True, description="correct the model by the ratio of measured to modelled times")
    sample_every: Annotated[int, Field(ge=1)] = Field(
        default=1, description="one of this many tuples is recorded (N_m), if the engine records tuples"
    )
    window: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5, description="intervals that measurements are averaged over (w)"
    )
    alpha: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None, description="weight of the past in every measurement, in place of the window; default the window"
    )

    knobs: ClassVar[tuple[Knob, ...]] = ("replicas",)
    follows_inputs: ClassVar[bool] = True

    @property
    def recorded_every(self) -> int:
        """N_m."""
        return self.sample_every

    @property
    def restart(self) -> Restart | None:
        """The standstill of a re-allocation. No tuple is lost."""
        return Restart(self.downtime_s) if self.downtime_s else None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.t_min_s is not None and self.t_max_s is not None and self.t_min_s >= self.t_max_s:
            raise wrong_key("t_min_s", f"must be below t_max_s, which is {self.t_max_s:g}; got {self.t_min_s:g}")
        return self

    def target_s(self, pipeline: Pipeline) -> float | None:
        """T_max: the option, or the strictest requirement; None if ``k_max`` is the goal."""
        if self.t_max_s is not None or self.k_max is not None:
            return self.t_max_s
        return min((requirement.bound_s for requirement in pipeline.requirements), default=None)

    def check(self, pipeline: Pipeline) -> None:
        """Refuse a T_min that is not below the T_max of the requirements."""
        t_max_s = self.target_s(pipeline)
        if self.t_min_s is not None and t_max_s is not None and self.t_min_s >= t_max_s:
            raise ConfigError(
                f"must be below the strictest requirement, which is {t_max_s:g} s; got {self.t_min_s:g}",
                ("policy", "t_min_s"),
            )


@register(DRSOptions)
class DRS:
    """Places processors: replicas at the highest share of their operator.

    The planning rules of other policies do not apply: a placement is the best one as a whole, and T_ra keeps
    re-allocations apart. The start of a run counts as one.
    """

    negotiates = True

    def __init__(self, options: DRSOptions) -> None:
        self.name: str = options.name
        self.interval_s = options.interval_s
        self.options = options
        smoothing = (
            partial(MovingAverage, options.window) if options.alpha is None else partial(AlphaWeighted, options.alpha)
        )
        self._measurer = Measurer(smoothing, options.sample_every)
        self._reallocated_s = -inf
        self._seen: Allocation | None = None
        self._ordered: Allocation | None = None
        self._ordered_s = -inf
        self._arrived: tuple[OrderArrived, ...] = ()

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Measurements | NotReady:
        """The smoothed measurements."""
        if unready := not_ready(observation, knowledge.pipeline):
            return unready
        self._notice(observation)
        measured = self._measurer.pull(observation, knowledge.pipeline)
        return NotReady(Reason(Cause.TOO_FEW, (Remark.NO_ARRIVALS,))) if measured is None else measured

    def plan(self, observation: Observation, analysis: Measurements, knowledge: Knowledge) -> Plan:
        """One of the scheduler's cases."""
        pipeline, now = knowledge.pipeline, observation.allocation
        since_s = observation.time_s - self._ordered_s
        if self._ordered is not None and self._ordered != now and since_s < knowledge.actuation_delay_s:
            return Plan.keep(self._ordered, Reason(Cause.UNDER_WAY, (UnderWay(since_s),)))
        situation = self._situation(observation, analysis, knowledge)
        goal = self.goal(pipeline, situation.gates_s, knowledge.capacity)
        decision = decide(goal, situation)
        placed = decision.placement.processors
        target, cause = now, STAYS.get(decision.case, Cause.IMPOSSIBLE)
        if decision.action != "none":
            target = Allocation.of(
                {o.name: Resources(o.shares[-1], count) for o, count in zip(pipeline.operators, placed, strict=True)}
            )
            self._ordered, self._ordered_s, cause = target, observation.time_s, Cause.of(now, target)
        scheduled = Scheduled(decision.action, decision.case)
        facts = (scheduled, *decision.facts, *self._room(knowledge, goal), ExternalRate(analysis.external_per_s))
        facts = (*facts, *self._arrived)
        return Plan(
            target,
            target,
            Reason(cause, facts, Move(now, target)),
            _predicted(pipeline, situation, placed),
            kept_mean_s={
                path: one.mean_s for path, one in _predicted(pipeline, situation, situation.processors).items()
            },
        )

    def goal(self, pipeline: Pipeline, gates_s: float = 0.0, capacity: Capacity | None = None) -> Goal:
        """The goal of the options; by default the strictest requirement, and without one all replicas.

        ``gates_s`` is the time that micro-batches take with any number of replicas. The ``capacity`` limits ``k_max``.
        """
        options = self.options
        t_max_s, k_max = options.target_s(pipeline), options.k_max
        if k_max is None and t_max_s is None:
            k_max = sum(operator.max_replicas for operator in pipeline.operators)
        if capacity is not None:
            room = capacity.replicas(pipeline)
            k_max = room if k_max is None else min(k_max, room)
        t_min_s = options.t_min_s
        if t_min_s is None:
            t_min_s = _over_provision_s(t_max_s or 0.0, gates_s)
        return Goal(k_max, t_max_s, t_min_s, options.t_ra_s, options.calibrated, options.downtime_s)

    def _room(self, knowledge: Knowledge, goal: Goal) -> tuple[Room, ...]:
        """The replicas that the processors hold, if more may be used otherwise."""
        asked = self.options.k_max or sum(operator.max_replicas for operator in knowledge.pipeline.operators)
        if knowledge.capacity is None or goal.k_max is None or goal.k_max >= asked:
            return ()
        return (Room(goal.k_max, knowledge.capacity.processors),)

    def _notice(self, observation: Observation) -> None:
        """Date the last re-allocation. Only one that readings show counts, and the start of a run.

        It is dated back to its order. Measurements from before it do not describe the response time after it.
        Processors that were granted later than they were ordered are seen here too.
        """
        now, before = observation.allocation, self._seen
        self._seen, self._arrived = now, ()
        if before is None:
            self._reallocated_s = observation.time_s - observation.interval_s
        elif now != before:
            self._reallocated_s = self._ordered_s if now == self._ordered else observation.time_s
            if self._ordered is not None:
                since_s = observation.time_s - self._ordered_s
                self._arrived = (OrderArrived(since_s, now, self._ordered),)
            self._measurer.forget_responses()

    def _situation(self, observation: Observation, measured: Measurements, knowledge: Knowledge) -> Situation:
        pipeline, capacity = knowledge.pipeline, knowledge.capacity
        most = {o.name: o.max_replicas for o in pipeline.operators} if capacity is None else capacity.most(pipeline)
        processors = tuple(observation.allocation[o.name].replicas for o in pipeline.operators)
        model = Model(self.options.model)
        network = network_of(measured, pipeline, model)
        if not isfinite(network.sojourn_s(processors)):
            # Behind an operator that cannot keep up, less arrives than will once it can: use the traffic equations.
            network = network_of(measured, pipeline, model, as_visited=True)
        gates = {o.name: station.gate_s for o, station in zip(pipeline.operators, network.stations, strict=True)}
        return Situation(
            network,
            processors,
            measured.response_s,
            observation.time_s - self._reallocated_s,
            Limits(tuple(o.min_replicas for o in pipeline.operators), tuple(most.values())),
            max(sum(gates[name] for name in path.split(PATH_SEPARATOR)) for path in pipeline.judged_paths),
            _backlogged(observation, pipeline, network, processors),
        )


def network_of(measured: Measurements, pipeline: Pipeline, model: Model, *, as_visited: bool = False) -> OpenNetwork:
    """The measurements as a network; with ``as_visited``, no operator gets less than by the traffic equations.

    Micro-batches have the overhead that the loop has learned.
    """
    stations = []
    for operator in pipeline.operators:
        one = measured.operators[operator.name]
        least_per_s = measured.external_per_s * pipeline.visits[operator.name] if as_visited else 0.0
        rate_per_s = max(one.rate_per_s, least_per_s)
        stations.append(Station(rate_per_s, 1 / one.service_s, one.arrival_scv, one.service_scv, operator.batches))
    return OpenNetwork(measured.external_per_s, tuple(stations), model)


def _over_provision_s(t_max_s: float, gates_s: float) -> float:
    """T_min where it is not given: nothing is faster than the gates, so it is a part of what lies above them.

    >>> round(_over_provision_s(1.0, 0.0), 3), round(_over_provision_s(1.0, 0.4), 3)
    (0.45, 0.67)
    """
    above_s = t_max_s - gates_s if gates_s < t_max_s else t_max_s
    return t_max_s - (1 - OVER_PROVISION) * above_s


def _backlogged(observation: Observation, pipeline: Pipeline, network: OpenNetwork, processors: Sequence[int]) -> bool:
    """Whether some operator holds many more tuples than Little's law predicts.

    That is its rate times the predicted time there.
    """
    times_s = network.sojourns_s(processors)
    expected = [s.rate_per_s * (s.gate_s + time_s) for s, time_s in zip(network.stations, times_s, strict=True)]
    backlogs = [observation.operators[operator.name].backlog for operator in pipeline.operators]
    return any(backlog > MANY * (1 + usual) for backlog, usual in zip(backlogs, expected, strict=True))


def _predicted(pipeline: Pipeline, situation: Situation, processors: Sequence[int]) -> dict[str, Prediction]:
    """By path, the sum of the times at its operators; empty with loops, as visits are not known by path."""
    if pipeline.returns:
        return {}
    stations, times_s = situation.network.stations, situation.network.sojourns_s(processors)
    at = {
        operator.name: station.gate_s + time_s
        for operator, station, time_s in zip(pipeline.operators, stations, times_s, strict=True)
    }
    return {path: _prediction([at[name] for name in path.split(PATH_SEPARATOR)]) for path in pipeline.paths}


def _prediction(times_s: Sequence[float]) -> Prediction:
    total_s = sum(times_s)
    return Prediction(total_s if isfinite(total_s) else None, stable=isfinite(total_s))
