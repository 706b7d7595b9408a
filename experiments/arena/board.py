"""Rank the policies of the arena, overall and by workload.

A policy that always uses all resources meets most requirements, but saves nothing. So a policy is *dependable* if it
meets nearly all requirements that any policy met, and dependable policies are ranked by cores. The others follow,
ranked by requirements met. If no policy met a requirement, none is dependable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, TypeAlias

from experiments.arena.contest import OURS, Score

DEPENDABLE = 0.95
"""A dependable policy meets at least this part of the requirements that any policy met."""

Case: TypeAlias = tuple[str, str, int]
"""Workload, requirement and seed."""

Bounds: TypeAlias = Mapping[Case, float | None]
"""Cores that no schedule can undercut; None if no schedule meets the requirement."""


@dataclass(frozen=True)
class Standing:
    """One policy, over all of its runs or over those on one workload."""

    policy: str
    rank: int
    dependable: bool
    met: int
    possible: int
    """Number of runs whose requirement some policy met."""
    cores: float
    over_bound: float | None
    """Cores above the bound, relative to it; None without a bound."""
    broken_windows: float
    worst_minute: float
    """Response time of the worst minute over the required bound, mean of all runs."""
    changes_per_h: float
    replica_changes_per_h: float
    replicas: float
    lost: int
    own_load: float

    def as_json(self) -> dict[str, Any]:
        """One entry of a board."""
        return asdict(self)


@dataclass(frozen=True)
class WorkloadBoard:
    """The standings on one workload."""

    workload: str
    standings: tuple[Standing, ...]

    @property
    def winner(self) -> Standing:
        """The first."""
        return self.standings[0]

    @property
    def ours(self) -> Standing | None:
        """The standing of our own policy, if it took part."""
        return next((one for one in self.standings if one.policy == OURS), None)

    @property
    def remark(self) -> str:
        """The place of our policy, and what it lacks if it is not first."""
        ours, first = self.ours, self.winner
        if ours is None:
            return ""
        if not first.met:
            return "no policy meets a requirement"
        if ours is first:
            return "ours"
        if not ours.dependable and ours.met < first.met:
            return f"{OURS} is number {ours.rank}: it meets {ours.met} of {ours.possible}"
        return f"{OURS} is number {ours.rank}: {ours.cores / first.cores - 1:+.1%} cores"


def board(scores: Sequence[Score], bounds: Bounds) -> tuple[Standing, ...]:
    """The policies, the best first.

    >>> def line(policy, met, cores):
    ...     return Score("synt", "mean=1", policy, 1, met, 0.5, 1.0, cores, 1.0, 0.0, 0.5, 0.0, 0.0, 0, 0.0)
    >>> rows = [line("all", True, 4.0), line("ours", True, 1.5), line("none", False, 1.0)]
    >>> [one.policy for one in board(rows, {})]
    ['ours', 'all', 'none']
    """
    possible = {_case(one) for one in scores if one.met}
    found = [_standing(policy, own, possible, bounds) for policy, own in _grouped(scores, lambda one: one.policy)]
    found.sort(key=lambda one: (not one.dependable, one.cores if one.dependable else -one.met, one.cores))
    return tuple(Standing(**asdict(one) | {"rank": rank}) for rank, one in enumerate(found, start=1))


def by_workload(scores: Sequence[Score], bounds: Bounds) -> list[WorkloadBoard]:
    """A board for every workload on its own."""
    return [WorkloadBoard(name, board(own, bounds)) for name, own in _grouped(scores, lambda one: one.workload)]


def _case(one: Score) -> Case:
    return one.workload, one.requirement, one.seed


def _standing(policy: str, own: Sequence[Score], possible: set[Case], bounds: Bounds) -> Standing:
    met = sum(one.met for one in own)
    beside = [(one.cores, bounds.get(_case(one))) for one in own]
    bounded = [cores / bound for cores, bound in beside if bound]
    return Standing(
        policy,
        rank=0,
        dependable=met >= DEPENDABLE * len(possible) > 0,
        met=met,
        possible=len(possible),
        cores=fmean(one.cores for one in own),
        over_bound=fmean(bounded) - 1 if bounded else None,
        broken_windows=fmean(one.broken_windows for one in own),
        worst_minute=fmean(one.worst_minute_s / one.bound_s for one in own),
        changes_per_h=fmean(one.changes_per_h for one in own),
        replica_changes_per_h=fmean(one.replica_changes_per_h for one in own),
        replicas=fmean(one.replicas for one in own),
        lost=sum(one.lost for one in own),
        own_load=fmean(one.own_load for one in own),
    )


def _grouped(scores: Iterable[Score], key: Callable[[Score], str]) -> list[tuple[str, list[Score]]]:
    groups: dict[str, list[Score]] = {}
    for one in scores:
        groups.setdefault(key(one), []).append(one)
    return list(groups.items())
