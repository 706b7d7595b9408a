"""The scheduler of DRS (Fu et al. 2017, section IV-B): whether to re-allocate, and to what.

Problem 6 asks for the shortest sojourn time on ``k_max`` processors, problem 8 for the fewest processors that keep
``t_max_s``. The paper names three cases of problem 8: (i) shortage, (ii) over-provision, (iii) enough but badly placed.
It does not say what happens if model and measurement contradict each other. Here:

- a shortage that the model does not see leads to a better placement of the processors in use, or to nothing;
- processors are only removed down to the number that the model needs for ``t_max_s``;
- an operator that cannot keep up is a shortage, even before the response time shows it;
- a target that only the calibration puts out of reach is searched for without it, with at least one more processor, if
  more tuples wait than the model expects: after a backlog, the measured time shows how long tuples have waited;
- the gates, which micro-batches take with any number of processors, are subtracted from target and measurement before
  these are compared with the model;
- a target that cannot be met changes nothing, unless a queue grows without end. Then all processors are used;
- a re-allocation stops everything for ``downtime_s``. Its cost is the time that this adds to the inputs of the next
  ``T_ra``, or of as long as the last re-allocation is ago: a situation that has lasted is expected to last. Processors
  are added or moved if that shortens the times by more, and removed if the times still keep the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from mead.policies.drs.facts import Action, Budget, Cost, Needed, Placed, Postponed, Reachable, Sojourn
from mead.policies.drs.model import OpenNetwork
from mead.policies.drs.search import (
    InsufficientProcessors,
    Limits,
    Placement,
    TmaxUnreachable,
    assign_processors,
    assign_too_few,
    min_processors,
)
from mead.policies.reasons import Remark
from mead.values import Fact, Note

SAME = 1e-9
"""Sojourn times whose relative difference is smaller are equal."""


@dataclass(frozen=True)
class Goal:
    """The goal: problem 6 with ``k_max`` alone, problem 8 with ``t_max_s``."""

    k_max: int | None = None
    """Processors to use; with ``t_max_s`` those of the pool, which are the most that may be asked for."""
    t_max_s: float | None = None
    t_min_s: float = 0.0
    """Below this response time there are more processors than needed."""
    t_ra_s: float = 0.0
    """Least time between two re-allocations; infinite for advice that is never followed."""
    calibrated: bool = False
    """Search with ``t_max_s / u``, where u is the measured over the modelled time."""
    downtime_s: float = 0.0
    """The time for which a re-allocation stops everything."""

    def __post_init__(self) -> None:
        if self.k_max is None and self.t_max_s is None:
            raise ValueError("a goal is k_max processors or a sojourn time of t_max_s")


@dataclass(frozen=True)
class Situation:
    """The measurements that a decision is made on."""

    network: OpenNetwork
    processors: tuple[int, ...]
    measured_s: float | None
    since_s: float
    """Time since the last re-allocation."""
    limits: Limits | None = None
    gates_s: float = 0.0
    """The part of the measured time that no processor shortens: the least that micro-batches on the way take."""
    backlogged: bool = True
    """More tuples wait than the model expects; assumed if they were not counted."""

    @property
    def total(self) -> int:
        """Processors in use."""
        return sum(self.processors)

    @property
    def model_s(self) -> float:
        """The modelled time of the processors in use, without the gates; infinite if a queue grows without end."""
        return self.network.sojourn_s(self.processors)


@dataclass(frozen=True)
class Scheduling:
    """The action, the placement, and the case that led to them."""

    action: Action
    placement: Placement
    case: str
    """The case of the paper, or the obstacle."""
    facts: tuple[Fact, ...]


def decide(goal: Goal, now: Situation) -> Scheduling:
    """The decision of one period; a re-allocation that comes too early is postponed."""
    wanted = _best_placement(goal.k_max, now) if goal.t_max_s is None else _fewest(goal, goal.t_max_s, now)
    if wanted.action == "none":
        return wanted
    if (cost := _cost(goal, now, wanted)) is not None and not cost.worth:
        return _none(now, "cost", *wanted.facts, cost)
    if now.since_s < goal.t_ra_s:
        return _none(now, "T_ra", *wanted.facts, Postponed(wanted.placement.processors, now.since_s, goal.t_ra_s))
    return wanted


def _cost(goal: Goal, now: Situation, wanted: Scheduling) -> Cost | None:
    """Cost and gain of a re-allocation; None if it costs nothing, or has to be made at any cost."""
    best, horizon_s = wanted.placement, max(goal.t_ra_s, now.since_s)
    if goal.downtime_s == 0 or not (isfinite(now.model_s) and isfinite(best.sojourn_s)):
        return None
    cost_s = now.network.pause_s(best.processors, goal.downtime_s, horizon_s)
    # With flat maps the model adds up more time than passes, and gains are as much too long.
    measured_s = now.model_s if now.measured_s is None else now.measured_s - now.gates_s
    scale = min(1.0, max(measured_s, 0.0) / now.model_s) if now.model_s > 0 else 1.0
    if wanted.action == "scale_in":
        if goal.t_max_s is None:
            return None
        gain_s = goal.t_max_s - now.gates_s - scale * best.sojourn_s
    else:
        gain_s = scale * (now.model_s - best.sojourn_s)
    return Cost(best.processors, goal.downtime_s, cost_s, gain_s, horizon_s)


def _best_placement(k_max: int | None, now: Situation) -> Scheduling:
    """Problem 6: the best placement of ``k_max`` processors, or of those in use."""
    k_max = now.total if k_max is None else k_max
    try:
        best = assign_processors(now.network, k_max, now.limits)
    except InsufficientProcessors as refusal:
        return _use_all(k_max, now, "AssignProcessors", Budget(k_max), Note(str(refusal)))
    kind: Action = "scale_out" if best.total > now.total else "scale_in" if best.total < now.total else "rebalance"
    return _move(now, kind, best, "AssignProcessors", (Budget(k_max),))


def _fewest(goal: Goal, t_max_s: float, now: Situation) -> Scheduling:
    """Problem 8: cases (i) to (iii)."""
    model_s = now.model_s
    if now.measured_s is None and isfinite(model_s):
        return _none(now, "no_response", Remark.NO_RESPONSES)
    measured_s = inf if now.measured_s is None else now.measured_s
    ratio = max(1.0, (measured_s - now.gates_s) / model_s) if goal.calibrated and 0 < model_s < inf else 1.0
    shown = Sojourn(now.measured_s, model_s, now.gates_s, t_max_s, goal.t_min_s, ratio if goal.calibrated else None)
    short, ample = measured_s > t_max_s or not isfinite(model_s), measured_s < goal.t_min_s
    if not (short or ample):
        return _rebalance(now, "optimal", shown)
    try:
        need = _need(goal, t_max_s, now, ratio)
    except (TmaxUnreachable, InsufficientProcessors) as refusal:
        facts = (shown, Note(str(refusal)))
        more = _uncalibrated(goal, t_max_s, now, facts) if short and ratio > 1.0 and now.backlogged else None
        return more or _out_of_reach(goal, now, refusal, facts)
    if short and need.total > now.total:
        return _move(now, "scale_out", need, "shortage", (shown,))
    if ample and need.total < now.total:
        return _move(now, "scale_in", need, "over-provision", (shown,))
    return _rebalance(now, "model_disagrees" if short else "optimal", shown, Needed(need.total))


def _need(goal: Goal, t_max_s: float, now: Situation, ratio: float = 1.0) -> Placement:
    """The fewest processors that keep the target, from which the gates are subtracted first."""
    if 0 < now.gates_s >= t_max_s:
        raise TmaxUnreachable(
            "lower_bound",
            f"micro-batches on the way take {now.gates_s:.6g} s with any number of replicas; a target of "
            f"{t_max_s:.6g} s is out of reach",
        )
    return min_processors(now.network, (t_max_s - now.gates_s) / ratio, goal.k_max, now.limits)


def _rebalance(now: Situation, otherwise: str, *facts: Fact) -> Scheduling:
    """Case (iii): the same number of processors, placed better if that is possible."""
    try:
        best = assign_processors(now.network, now.total, now.limits)
    except InsufficientProcessors as refusal:
        return _none(now, "insufficient", *facts, Note(str(refusal)))
    return _move(now, "rebalance", best, "badly placed", facts, otherwise)


def _uncalibrated(goal: Goal, t_max_s: float, now: Situation, facts: tuple[Fact, ...]) -> Scheduling | None:
    """The answer to a shortage whose calibrated target is out of reach.

    It is the need of ``t_max_s`` itself, and at least one more.

    None if that is out of reach as well, or there are no more processors.
    """
    try:
        need = _need(goal, t_max_s, now)
    except (TmaxUnreachable, InsufficientProcessors):
        return None
    if need.total <= now.total < _pool(goal, now):
        need = assign_processors(now.network, now.total + 1, now.limits)
    if need.total <= now.total:
        return None
    return _move(now, "scale_out", need, "shortage", (*facts, Reachable(t_max_s)))


def _out_of_reach(
    goal: Goal, now: Situation, refusal: TmaxUnreachable | InsufficientProcessors, facts: tuple[Fact, ...]
) -> Scheduling:
    """No placement meets the target. Change nothing, unless a queue grows without end: then use all processors."""
    if isfinite(now.model_s):
        idle = () if now.backlogged else (Remark.NO_BACKLOG,)
        return _none(now, getattr(refusal, "reason", "insufficient"), *facts, *idle)
    k_max = _pool(goal, now)
    try:
        best = assign_processors(now.network, k_max, now.limits)
    except InsufficientProcessors as too_few:
        return _use_all(k_max, now, "shortage", *facts, Note(str(too_few)))
    return _move(now, "scale_out", best, "shortage", facts)


def _use_all(k_max: int, now: Situation, case: str, *facts: Fact) -> Scheduling:
    """Too few processors to keep up: use all of them, if that is more than now."""
    best = assign_too_few(now.network, k_max, now.limits)
    if not now.total < best.total <= k_max:
        return _none(now, "insufficient", *facts)
    return Scheduling("scale_out", best, case, (*facts, Placed(best.processors)))


def _pool(goal: Goal, now: Situation) -> int:
    """The most processors that may be used; without any limit, those in use."""
    pool = sum(now.limits.most) if now.limits else None
    return min((k for k in (goal.k_max, pool) if k is not None), default=now.total)


def _move(
    now: Situation, action: Action, best: Placement, case: str, facts: tuple[Fact, ...], otherwise: str = "optimal"
) -> Scheduling:
    """Decide for placement ``best``, unless the one in force is as good."""
    if best.total == now.total and (best.processors == now.processors or best.sojourn_s >= now.model_s * (1 - SAME)):
        return _none(now, otherwise, *facts)
    return Scheduling(action, best, case, (*facts, Placed(best.processors, best.sojourn_s + now.gates_s)))


def _none(now: Situation, case: str, *facts: Fact) -> Scheduling:
    return Scheduling("none", Placement(now.processors, now.model_s), case, facts)
