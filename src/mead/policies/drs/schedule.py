"""The scheduler of DRS (Fu et al. 2017, section IV-B): whether to re-allocate, and to what.

Problem 6 asks for the shortest sojourn time on ``k_max`` processors, problem 8 for the fewest processors that keep
``t_max_s``. The paper names three cases of problem 8: (i) shortage, (ii) over-provision, (iii) enough but badly placed.
It leaves open what happens if model and measurement contradict each other; the rules here are ours:

- a shortage that the model does not see leads to a better placement of what there is, or to nothing;
- processors are only taken away down to what the model needs for ``t_max_s``;
- an operator that cannot keep up is a shortage, even before the response time shows it;
- a target that only the calibration puts out of reach is searched for without it, with one processor more at least, if
  more tuples wait than the model expects:
  after a backlog the measured time says how long tuples have waited, not how long they would;
- what micro-batches take whatever the processors (the gates) comes off target and measurement alike, before they are
  compared with the model;
- a target that cannot be met changes nothing, unless some queue grows without end. Then all processors are used, even
  if they are too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Literal, TypeAlias

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

Action: TypeAlias = Literal["none", "scale_out", "scale_in", "rebalance"]

SAME = 1e-9
"""Sojourn times that differ by less, relatively, are equal: no reason to move anything."""


@dataclass(frozen=True)
class Goal:
    """What is asked for: problem 6 with ``k_max`` alone, problem 8 with ``t_max_s``."""

    k_max: int | None = None
    """Processors to use; with ``t_max_s`` those of the pool, which are the most that may be asked for."""
    t_max_s: float | None = None
    t_min_s: float = 0.0
    """Below this response time there are more processors than needed."""
    t_ra_s: float = 0.0
    """Least time between two re-allocations; infinite for advice that is never followed."""
    calibrated: bool = False
    """Search with ``t_max_s / u``, where u says how many times longer than the model the measured time is."""

    def __post_init__(self) -> None:
        if self.k_max is None and self.t_max_s is None:
            raise ValueError("a goal is k_max processors or a sojourn time of t_max_s")


@dataclass(frozen=True)
class Situation:
    """What has been measured."""

    network: OpenNetwork
    processors: tuple[int, ...]
    measured_s: float | None
    since_s: float
    """Time since the last re-allocation."""
    limits: Limits | None = None
    gates_s: float = 0.0
    """Part of the measured time that no processor shortens: what micro-batches on the way take at least."""
    backlogged: bool = True
    """Whether more tuples wait than the model expects. Taken to be so where nobody has counted."""

    @property
    def total(self) -> int:
        """Processors in use."""
        return sum(self.processors)

    @property
    def model_s(self) -> float:
        """What the model says of the processors in use, without the gates; infinite if some queue grows without end."""
        return self.network.sojourn_s(self.processors)


@dataclass(frozen=True)
class Decision:
    """What to do, and in which case of the paper."""

    action: Action
    placement: Placement
    reason: str
    """One word for why: the case, or what stands in the way."""
    detail: str
    """The numbers behind it."""


def decide(goal: Goal, now: Situation) -> Decision:
    """The decision of one period; a re-allocation that comes too early is put off."""
    wanted = _most_of(goal.k_max, now) if goal.t_max_s is None else _fewest(goal, goal.t_max_s, now)
    if wanted.action != "none" and now.since_s < goal.t_ra_s:
        waits = f"{wanted.detail}; {wanted.placement} has to wait: only {now.since_s:.0f} s of T_ra {goal.t_ra_s:g} s"
        return _none(now, "T_ra", f"{waits} since the last re-allocation")
    return wanted


def _most_of(k_max: int | None, now: Situation) -> Decision:
    """Problem 6: the best placement of ``k_max`` processors, or of those in use."""
    k_max = now.total if k_max is None else k_max
    try:
        best = assign_processors(now.network, k_max, now.limits)
    except InsufficientProcessors as refusal:
        return _all_of(k_max, now, "AssignProcessors", f"K_max {k_max}; {refusal}")
    kind: Action = "scale_out" if best.total > now.total else "scale_in" if best.total < now.total else "rebalance"
    return _move(now, kind, best, "AssignProcessors", f"K_max {k_max}")


def _fewest(goal: Goal, t_max_s: float, now: Situation) -> Decision:
    """Problem 8: cases (i) to (iii)."""
    model_s = now.model_s
    if now.measured_s is None and isfinite(model_s):
        return _none(now, "no_response", "nothing has left a path yet")
    measured_s = inf if now.measured_s is None else now.measured_s
    ratio = max(1.0, (measured_s - now.gates_s) / model_s) if goal.calibrated and 0 < model_s < inf else 1.0
    seen = "nothing has left a path yet" if now.measured_s is None else f"measured {measured_s:.4g} s"
    gates = f" ({now.gates_s:.4g} s of it micro-batches, whatever the replicas)" if now.gates_s else ""
    shown = f"{seen}, model {model_s + now.gates_s:.4g} s{gates}, T_max {t_max_s:g} s, T_min {goal.t_min_s:.4g} s"
    shown += f", ratio {ratio:.3g}" if goal.calibrated else ""
    short, ample = measured_s > t_max_s or not isfinite(model_s), measured_s < goal.t_min_s
    if not (short or ample):
        return _rebalance(now, "optimal", f"within bounds: {shown}")
    case = "shortage" if short else "over-provision"
    try:
        need = _need(goal, t_max_s, now, ratio)
    except (TmaxUnreachable, InsufficientProcessors) as refusal:
        detail = f"{case}: {shown}; {refusal}"
        more = _uncalibrated(goal, t_max_s, now, detail) if short and ratio > 1.0 and now.backlogged else None
        return more or _out_of_reach(goal, now, refusal, detail)
    if short and need.total > now.total:
        return _move(now, "scale_out", need, "shortage", shown)
    if ample and need.total < now.total:
        return _move(now, "scale_in", need, "over-provision", shown)
    return _rebalance(now, "model_disagrees" if short else "optimal", f"{case}: {shown}; needed are {need.total}")


def _need(goal: Goal, t_max_s: float, now: Situation, ratio: float = 1.0) -> Placement:
    """The fewest processors that keep the target; the gates, which they cannot shorten, come off it first."""
    if 0 < now.gates_s >= t_max_s:
        raise TmaxUnreachable(
            "lower_bound",
            f"micro-batches on the way take {now.gates_s:.6g} s whatever the replicas; a target of {t_max_s:.6g} s is "
            "out of reach",
        )
    return min_processors(now.network, (t_max_s - now.gates_s) / ratio, goal.k_max, now.limits)


def _rebalance(now: Situation, otherwise: str, detail: str) -> Decision:
    """Case (iii): the same number of processors, placed better if that is possible."""
    try:
        best = assign_processors(now.network, now.total, now.limits)
    except InsufficientProcessors as refusal:
        return _none(now, "insufficient", f"{detail}; {refusal}")
    return _move(now, "rebalance", best, "badly placed", detail, otherwise)


def _uncalibrated(goal: Goal, t_max_s: float, now: Situation, detail: str) -> Decision | None:
    """A shortage whose calibrated target is out of reach: what ``t_max_s`` itself needs, and one more at least.

    None if that is out of reach as well, or there are no more.
    """
    try:
        need = _need(goal, t_max_s, now)
    except (TmaxUnreachable, InsufficientProcessors):
        return None
    if need.total <= now.total < _pool(goal, now):
        need = assign_processors(now.network, now.total + 1, now.limits)
    if need.total <= now.total:
        return None
    return _move(now, "scale_out", need, "shortage", f"{detail}; without the ratio {t_max_s:g} s is within reach")


def _out_of_reach(
    goal: Goal, now: Situation, refusal: TmaxUnreachable | InsufficientProcessors, detail: str
) -> Decision:
    """No placement meets the target. Change nothing, unless some queue grows without end: then use all there are."""
    if isfinite(now.model_s):
        idle = "" if now.backlogged else "; no more tuples wait than the model expects, so that replicas would idle"
        return _none(now, getattr(refusal, "reason", "insufficient"), f"{detail}{idle}")
    k_max = _pool(goal, now)
    try:
        best = assign_processors(now.network, k_max, now.limits)
    except InsufficientProcessors as too_few:
        return _all_of(k_max, now, "shortage", f"{detail}; {too_few}")
    return _move(now, "scale_out", best, "shortage", detail)


def _all_of(k_max: int, now: Situation, case: str, detail: str) -> Decision:
    """Too few to keep up: use them all nevertheless, if that is more than now."""
    best = assign_too_few(now.network, k_max, now.limits)
    if not now.total < best.total <= k_max:
        return _none(now, "insufficient", detail)
    return Decision("scale_out", best, case, f"{detail}; {best} is all that may be used")


def _pool(goal: Goal, now: Situation) -> int:
    """The most processors that may be used; where nobody says, those in use."""
    pool = sum(now.limits.most) if now.limits else None
    return min((k for k in (goal.k_max, pool) if k is not None), default=now.total)


def _move(
    now: Situation, action: Action, best: Placement, case: str, detail: str, otherwise: str = "optimal"
) -> Decision:
    """Decide for placement ``best``, unless the one in force is as good."""
    if best.total == now.total and (best.processors == now.processors or best.sojourn_s >= now.model_s * (1 - SAME)):
        return _none(now, otherwise, detail)
    return Decision(action, best, case, f"{detail}; {best} should bring {best.sojourn_s + now.gates_s:.4g} s")


def _none(now: Situation, reason: str, detail: str) -> Decision:
    return Decision("none", Placement(now.processors, now.model_s), reason, detail)
