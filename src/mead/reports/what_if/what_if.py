"""The choice of each policy at the end of a trace, and the cost of other bounds.

The last part of the trace runs through the simulator at the highest levels, and the policies get the observation at
its end. A policy that plans answers with an allocation. A policy that only reacts controls the last part of the trace,
and answers with its average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from mead.policies import KEPT_IATS, PolicyOptions, decide, make_policy
from mead.policies.predictive.predictions import memoize
from mead.policies.predictive.replay_network import Draws, WindowReplay
from mead.queueing import PATH_SEPARATOR, BatchServer, InvalidNetworkError, overloaded
from mead.reports.judge import Verdict, all_met, statistic_s
from mead.reports.what_if.frontier import FrontierPoint, find_frontier
from mead.simulator import Conditions, Simulation, run
from mead.values import Allocation, Knowledge, Observation, Operator, Pipeline, Prediction, Requirement
from mead.workload import Trace

TAIL_S, MOST_TUPLES = 600.0, 500_000
"""The part of the trace that is used: ten minutes or this many tuples, but at least all kept IATs."""

MOST_EXACT = 5_000
"""With more allocations than this, the paper's heuristic finds the frontier."""


@dataclass(frozen=True)
class Choice:
    """The answer of one policy."""

    policy: str
    allocation: Allocation | None
    """None if the policy only reacts, or cannot answer."""
    cores: Mapping[str, float]
    """Cores by operator; time averages if the policy only reacts. Empty if it cannot answer."""
    predicted: Mapping[str, Prediction]
    """Predictions of its own model by path; empty if it has none."""
    simulated: Mapping[str, Prediction]
    """Simulated response times of the last part of the trace, by path."""
    met: bool | None
    """Whether the simulated response times meet every requirement; None if it cannot answer."""
    reason: str
    """The reason of the policy, or why it cannot answer."""
    kept: bool = False
    """Whether the policy keeps the current allocation."""


@dataclass(frozen=True)
class WhatIf:
    """The answers of all policies about one moment."""

    pipeline: Pipeline
    tail: Trace
    """The last part of the trace, on which all answers are based."""
    choices: tuple[Choice, ...]
    frontier: tuple[FrontierPoint, ...]
    search: str
    """How the frontier was found, or why there is none."""


def what_if(
    knowledge: Knowledge,
    trace: Trace,
    policies: Iterable[PolicyOptions],
    *,
    seed: int,
    progress: Callable[[str], None] = lambda _: None,
) -> WhatIf:
    """Ask every policy, and find the frontier."""
    asked = tuple(policies)
    kept = max((options.kept_iats for options in asked), default=KEPT_IATS)
    pipeline, last = knowledge.pipeline, tail(trace, kept)
    choices = []
    for options in asked:
        progress(options.name)
        choices.append(_choice(knowledge, last, options, seed))
    progress("frontier")
    points, search = _frontier(pipeline, last)
    return WhatIf(pipeline, last, tuple(choices), points, search)


def tail(trace: Trace, kept_iats: int = KEPT_IATS) -> Trace:
    """The last part of a trace, on which all answers are based."""
    times_s = trace.times_s
    kept_s = float(times_s[max(0, times_s.size - 1 - kept_iats)])
    most_s = float(times_s[max(0, times_s.size - MOST_TUPLES)])
    end_s = float(times_s[-1])
    return trace.between(min(kept_s, max(end_s - TAIL_S, most_s)), end_s)


def _choice(knowledge: Knowledge, last: Trace, options: PolicyOptions, seed: int) -> Choice:
    try:
        if options.reacts:
            return _reaction(knowledge, last, options, seed)
        return _plan(knowledge, last, options, seed)
    except InvalidNetworkError as error:  # the policy has no model of this pipeline
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - the others can still answer
        reason = _failure(error)
    return Choice(options.name, None, {}, {}, {}, met=None, reason=reason)


def _failure(error: Exception) -> str:
    return f"its model failed ({type(error).__name__}: {' '.join(str(error).split())})"


def _plan(knowledge: Knowledge, last: Trace, options: PolicyOptions, seed: int) -> Choice:
    """The answer of a policy that plans, without the rules that limit its steps."""
    policy = make_policy(options.without_rules())
    observation = _observation(knowledge.pipeline, last, policy.interval_s, seed, options.kept_iats)
    plan = decide(policy, observation, knowledge)
    simulation = Simulation(knowledge.pipeline, last, seed, allocation=plan.target)
    simulation.drain()
    simulated = _simulated(simulation, _overloaded_paths(knowledge.pipeline, plan.target, last.rate_per_s))
    return Choice(
        options.name,
        plan.target,
        {name: resources.cores for name, resources in plan.target.items()},
        plan.predicted,
        simulated,
        met=_met(simulation, knowledge.pipeline, simulated),
        reason=str(plan.reason),
        kept=plan.allocation == observation.allocation,
    )


def _observation(pipeline: Pipeline, last: Trace, interval_s: float, seed: int, kept_iats: int) -> Observation:
    """The observation at the end of the trace, ``interval_s`` after the one before."""
    simulation = Simulation(pipeline, last, seed, kept_iats=kept_iats)
    simulation.observe(max(0.0, last.duration_s - interval_s))
    return simulation.observe(last.duration_s)


def _reaction(knowledge: Knowledge, last: Trace, options: PolicyOptions, seed: int) -> Choice:
    """The answer of a policy that reacts: its average over the last part of the trace."""
    conditions = Conditions(knowledge.shares_after_s, knowledge.actuation_delay_s, restart=options.restart)
    result = run(knowledge.pipeline, last, options, seed=seed, conditions=conditions)
    decided = [this.plan for this in result.rounds if this.plan is not None]
    timeline = result.simulation.timeline
    hopeless = _overloaded_paths(knowledge.pipeline, knowledge.pipeline.most, last.rate_per_s)
    simulated = _simulated(result.simulation, hopeless)
    return Choice(
        options.name,
        None,
        {o.name: timeline.mean_cores(o.name, last.duration_s) for o in knowledge.pipeline.operators},
        decided[-1].predicted if decided else {},
        simulated,
        met=_met(result.simulation, knowledge.pipeline, simulated),
        reason=f"it reacts to the load; this is its average over the last {last.duration_s:.0f} s",
    )


def _simulated(simulation: Simulation, overloaded_paths: set[str]) -> dict[str, Prediction]:
    return {path: _response(simulation, path, path not in overloaded_paths) for path in simulation.pipeline.paths}


def _response(simulation: Simulation, path: str, stable: bool) -> Prediction:  # noqa: FBT001 - one of three facts
    response_s = simulation.responses(path).response_s
    if not stable or response_s.size == 0:
        return Prediction(None, None, stable)
    return Prediction(
        float(response_s.mean()), statistic_s(response_s, Requirement(path, bound_s=1.0, percent=95.0)), stable
    )


def _met(simulation: Simulation, pipeline: Pipeline, simulated: Mapping[str, Prediction]) -> bool:
    """Whether every requirement is met and no path is overloaded."""
    verdicts = []
    for requirement in pipeline.requirements:
        response_s = simulation.responses(requirement.path).response_s
        verdicts.append(Verdict(requirement, response_s.size, statistic_s(response_s, requirement)))
    return all(path.stable for path in simulated.values()) and all_met(verdicts) is True


def _overloaded_paths(pipeline: Pipeline, allocation: Allocation, rate_per_s: float) -> set[str]:
    """Paths whose response time would grow for as long as tuples arrive at that rate."""
    too_busy = {
        o.name
        for o in pipeline.operators
        if overloaded(_utilization(o, allocation[o.name].cores, rate_per_s * pipeline.visits[o.name]))
    }
    return {path for path in pipeline.paths if too_busy & set(path.split(PATH_SEPARATOR))}


def _utilization(operator: Operator, cores: float, rate_per_s: float) -> float:
    """The utilization of one operator, with the overhead of its micro-batches."""
    if operator.batches is None:
        return rate_per_s * operator.demand_s / cores
    batches = operator.batches
    server = BatchServer(batches.overhead_s, operator.demand_s, cores, batches.trigger_s, batches.max_tuples)
    return server.utilization(rate_per_s)


def _frontier(pipeline: Pipeline, last: Trace) -> tuple[tuple[FrontierPoint, ...], str]:
    """The frontier by replay of the last IATs, and how it was found."""
    if not pipeline.requirements:
        return (), "the pipeline has no requirements"
    window = WindowReplay(last.iats_s[-KEPT_IATS:], Draws(seed=0))
    predict = memoize(lambda allocation: window.solution(pipeline, allocation))
    try:
        found = find_frontier(pipeline, predict, MOST_EXACT)
    except Exception as error:  # noqa: BLE001 - the policies have answered
        return (), _failure(error)
    search = "exact search" if found.exact else f"the heuristic, since there are {found.allocations:,} allocations"
    return found.points, search
