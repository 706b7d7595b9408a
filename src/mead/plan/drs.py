"""DRS: replicas from a network of queues (Fu et al., "DRS: Auto-Scaling for Real-Time Stream Analytics", ToN 2017)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf, isfinite

from mead.config.policies import DRSOptions
from mead.knowledge.allocation import Allocation, Resources
from mead.knowledge.knowledge import Knowledge
from mead.knowledge.observation import Observation
from mead.knowledge.pipeline import Pipeline
from mead.knowledge.plan import Plan, Prediction
from mead.models.network.graph import PATH_SEPARATOR
from mead.monitor.sampling import Measurements, Measurer
from mead.monitor.smoothing import AlphaWeighted, Window
from mead.plan.drs_model import Model, OpenNetwork, Station
from mead.plan.drs_schedule import Decision, Goal, Situation, decide
from mead.plan.drs_search import Limits
from mead.plan.steps import moved, unusable

OVER_PROVISION = 0.45
"""T_min over T_max where it is not given: 450 ms and 1000 ms in the paper's Fig. 9."""


class DRS:
    """A processor is a replica at the highest share of its operator.

    The planning rules of other policies, one level down per round and a hold-down, do not apply: a placement is the
    best one as a whole, and T_ra keeps re-allocations apart. The start of a run counts as one.
    """

    def __init__(self, options: DRSOptions) -> None:
        self.name: str = options.name
        self.interval_s = options.interval_s
        self.options = options
        smoothing = partial(Window, options.window) if options.alpha is None else partial(AlphaWeighted, options.alpha)
        self._measurer = Measurer(smoothing, options.sample_every)
        self._reallocated_s = -inf
        self._seen: Allocation | None = None
        self._ordered: Allocation | None = None
        self._ordered_s = -inf

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Measurements | str:
        """The smoothed measurements, or why there are none."""
        if because := unusable(observation, knowledge.pipeline):
            return because
        self._notice(observation)
        found = self._measurer.pull(observation, knowledge.pipeline)
        return "nothing has arrived yet" if found is None else found

    def plan(self, observation: Observation, analysis: Measurements | str, knowledge: Knowledge) -> Plan:
        """One of the scheduler's cases."""
        if isinstance(analysis, str):
            return Plan.keep(observation.allocation, analysis)
        pipeline, now = knowledge.pipeline, observation.allocation
        since_s = observation.time_s - self._ordered_s
        if self._ordered is not None and self._ordered != now and since_s < knowledge.actuation_delay_s:
            return Plan(self._ordered, self._ordered, f"keep, because what was ordered {since_s:g} s ago is under way")
        situation = self._situation(observation, analysis, pipeline)
        decision = decide(self.goal(pipeline), situation)
        because = f"{decision.reason}: {decision.detail}; {analysis.external_per_s:.4g} tuples/s from outside"
        if decision.action == "none":
            return Plan(now, now, f"keep, because {because}", _predicted(pipeline, situation, decision))
        target = Allocation.of(
            {
                o.name: Resources(o.shares[-1], replicas)
                for o, replicas in zip(pipeline.operators, decision.placement.processors, strict=True)
            }
        )
        self._ordered, self._ordered_s = target, observation.time_s
        what = f"{decision.action.replace('_', ' ')}: {moved(now, target)}"
        return Plan(target, target, f"{what}, because {because}", _predicted(pipeline, situation, decision))

    def goal(self, pipeline: Pipeline) -> Goal:
        """From the options; if they name none, the strictest requirement, and without one all replicas."""
        options = self.options
        t_max_s = options.t_max_s
        if t_max_s is None and options.k_max is None:
            t_max_s = min((requirement.bound_s for requirement in pipeline.requirements), default=None)
        k_max = options.k_max
        if k_max is None and t_max_s is None:
            k_max = sum(operator.max_replicas for operator in pipeline.operators)
        t_min_s = options.t_min_s
        if t_min_s is None:
            t_min_s = OVER_PROVISION * (t_max_s or 0.0)
        return Goal(k_max, t_max_s, t_min_s, options.t_ra_s, calibrated=options.calibrated)

    def _notice(self, observation: Observation) -> None:
        """A re-allocation is one that is seen: in advise mode none is, and the start of a run is one.

        It is dated back to its order. What was measured before it says nothing about the response time behind it.
        """
        now = observation.allocation
        if self._seen is None:
            self._reallocated_s = observation.time_s - observation.interval_s
        elif now != self._seen:
            self._reallocated_s = self._ordered_s if now == self._ordered else observation.time_s
            self._measurer.forget_responses()
        self._seen = now

    def _situation(self, observation: Observation, measured: Measurements, pipeline: Pipeline) -> Situation:
        processors = tuple(observation.allocation[o.name].replicas for o in pipeline.operators)
        model = Model(self.options.model)
        network = network_of(measured, model)
        if not isfinite(network.sojourn_s(processors)):
            # Behind an operator that cannot keep up arrives less than will, once it can: the traffic equations know.
            network = network_of(measured, model, pipeline.visits)
        return Situation(
            network,
            processors,
            measured.response_s,
            observation.time_s - self._reallocated_s,
            Limits(
                tuple(o.min_replicas for o in pipeline.operators), tuple(o.max_replicas for o in pipeline.operators)
            ),
        )


def network_of(measured: Measurements, model: Model, visits: Mapping[str, float] | None = None) -> OpenNetwork:
    """What has been measured, as a network; with ``visits``, no operator gets less than it is visited."""
    stations = tuple(
        Station(
            max(one.rate_per_s, measured.external_per_s * visits[name]) if visits else one.rate_per_s,
            1 / one.service_s,
            one.arrival_scv,
            one.service_scv,
        )
        for name, one in measured.operators.items()
    )
    return OpenNetwork(measured.external_per_s, stations, model)


def _predicted(pipeline: Pipeline, situation: Situation, decision: Decision) -> dict[str, Prediction]:
    """Along every path, the times at its operators; with loops a path does not tell how often each is visited."""
    if pipeline.returns:
        return {}
    times_s = situation.network.sojourns_s(decision.placement.processors)
    at = dict(zip((operator.name for operator in pipeline.operators), times_s, strict=True))
    return {path: _prediction([at[name] for name in path.split(PATH_SEPARATOR)]) for path in pipeline.paths}


def _prediction(times_s: Sequence[float]) -> Prediction:
    total_s = sum(times_s)
    return Prediction(total_s if isfinite(total_s) else None, stable=isfinite(total_s))
