"""Replicas live on Spark: a load that one task of an operator cannot carry, and who may be let loose on it.

A machine of two cores has no room for several tasks of a whole core each. So a task has a share of 0.4 at most. In its
quiet parts the load below is a bit more than half of what one such task can do, and in its flash crowd what nearly two
can: with three or four it is served in time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.comparison import PolicyContender
from experiments.live.comparison import BATCHES
from experiments.workloads import DEMAND_S, Workload
from mead.values import Pipeline, Requirement
from mead.workload import Steps

SHARES = (0.2, 0.3, 0.4)
"""Shares of a task of the matcher, for policies that also choose shares; the others use the highest."""

QUIET_CORES, CROWD_CORES = 0.22, 0.72
"""What the matcher has to do."""

RAMP = (0.5, 1.0)
"""Parts of the way from quiet to crowd: it takes a step to come, and it is gone at once."""

REPLICA_POLICIES = (
    *("static@replicas=1", "static", "drs@interval_s=5@t_ra_s=10@window=2"),
    *(f"{name}@interval_s=5@sample_s=1" for name in ("pasps", "psps")),
    *("dabs@interval_s=5@sample_s=1@downtime_s=5@hold_down_s=20", "hybrid"),
)
"""A crowd of half a minute is over before an interval of a minute is."""

REPLICA_REQUIREMENTS = ("mean=1.0",)
REPLICA_RUN_S = 90.0


@dataclass(frozen=True, eq=False)
class ReplicatedWorkload(Workload):
    """The log analysis, every operator of which may have several tasks."""

    most_replicas: int = 1

    def pipeline(self, requirement: Requirement) -> Pipeline:
        """Parser and counter keep their one share for each task."""
        plain = super().pipeline(requirement)
        *light, matcher = (replace(o, max_replicas=self.most_replicas) for o in plain.operators)
        return Pipeline(plain.name, [*light, replace(matcher, shares=SHARES)], plain.edges, [requirement])


def flash_crowd(duration_s: float, demand_s: float = DEMAND_S) -> Steps:
    """A third of the time each: quiet, a crowd, quiet again.

    >>> [round(rate) for rate in flash_crowd(90.0).rates_per_s]
    [147, 147, 147, 313, 480, 480, 147, 147, 147]
    """
    middle = (*(QUIET_CORES + part * (CROWD_CORES - QUIET_CORES) for part in RAMP), CROWD_CORES)
    cores = (*[QUIET_CORES] * 3, *middle, *[QUIET_CORES] * 3)
    return Steps(rates_per_s=tuple(busy / demand_s for busy in cores), step_s=duration_s / len(cores))


def master_for(most_replicas: int) -> str | None:
    """A local Spark with a slot for every task that there may be; None for the usual one.

    A task that is held back by its share keeps its slot. With slots for all, no operator waits for those of another,
    and what it may use is up to its share alone.

    >>> master_for(4), master_for(1)
    ('local[15]', None)
    """
    return f"local[{(most_replicas + 1) * len(BATCHES)}]" if most_replicas > 1 else None


def refusal(policy: PolicyContender, most_replicas: int) -> str:
    """Why a policy makes no sense with at most this many replicas of an operator; empty if it does.

    >>> refusal(PolicyContender.of("drs"), 1)
    'drs changes replicas alone, and operators may have one; give --replicas 2 or more'
    >>> refusal(PolicyContender.of("static@replicas=3"), 2)
    'static@replicas=3 is for 3 replicas, and operators may have 2; give --replicas 3 or more'
    """
    options = policy.options
    if most_replicas == 1 and options.knobs == ("replicas",):
        return f"{policy.label} changes replicas alone, and operators may have one; give --replicas 2 or more"
    if (asked := options.replicas_asked) > most_replicas:
        return (
            f"{policy.label} is for {asked} replicas, and operators may have {most_replicas}; "
            f"give --replicas {asked} or more"
        )
    return ""
