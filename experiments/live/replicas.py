"""A live workload for policies that change replicas: a flash crowd above what one task can serve.

A machine of two cores has no room for several tasks of a whole core each, so a task has a share of 0.4 at most. The
quiet load is a bit more than half of what one such task can do, and the flash crowd nearly what two can do. Three or
four tasks serve it in time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.comparison import PolicyContender
from experiments.live.comparison import BATCHES
from experiments.workloads import DEMAND_S, Workload
from mead.values import Pipeline, Requirement
from mead.workload import Steps

SHARES = (0.2, 0.3, 0.4)
"""Shares of a task of the matcher. Policies that do not choose shares use the highest."""

QUIET_CORES, CROWD_CORES = 0.22, 0.72
"""Load of the matcher."""

RAMP = (0.5, 1.0)
"""Steps from quiet to crowd; the crowd ends at once."""

REPLICA_POLICIES = (
    *("static@replicas=1", "static", "drs@interval_s=5@t_ra_s=10@window=2"),
    *(f"{name}@interval_s=5@sample_s=1" for name in ("pasps", "psps")),
    *("dabs@interval_s=5@sample_s=1@downtime_s=5@hold_down_s=20", "hybrid"),
)
"""Short intervals, because the crowd lasts only half a minute."""

REPLICA_REQUIREMENTS = ("mean=1.0",)
REPLICA_RUN_S = 90.0


@dataclass(frozen=True, eq=False)
class ReplicatedWorkload(Workload):
    """The log analysis with several tasks per operator."""

    most_replicas: int = 1

    def pipeline(self, requirement: Requirement) -> Pipeline:
        """The pipeline under that requirement; tasks of parser and counter keep their one share."""
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
    """The master URL of a local Spark with a slot for every task; None for the default.

    A throttled task keeps its slot. With slots for all tasks, no operator waits for the slots of another.

    >>> master_for(4), master_for(1)
    ('local[15]', None)
    """
    return f"local[{(most_replicas + 1) * len(BATCHES)}]" if most_replicas > 1 else None


def refusal(policy: PolicyContender, most_replicas: int) -> str:
    """The reason why a policy cannot run with this many replicas; empty if it can.

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
