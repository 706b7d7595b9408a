"""The conditions of a simulation.

Delays, wrong demands, interference, groupings, queues, time-outs and restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from mead.config import PipelineFile
from mead.policies import PolicyOptions, Restart
from mead.simulator.grouping import Grouping
from mead.values import Knowledge, Pipeline


@dataclass(frozen=True)
class Conditions:
    """Deviations of a simulated system from its description. By default there are none.

    >>> noisy = Conditions(share_delay_s=1.0, interference={"matcher": [(600.0, 0.8), (900.0, 1.0)]})
    >>> noisy.interference["matcher"][0]  # at ten minutes, the matcher becomes a fifth slower
    (600.0, 0.8)
    """

    share_delay_s: float = 0.0
    """Time from the order to change a share to its effect."""
    replicas_delay_s: float = 0.0
    """Time from the order to change the number of replicas to its effect."""
    demand_factors: Mapping[str, float] = field(default_factory=dict)
    """By operator, its true demand over the declared one."""
    interference: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By operator, pairs of a time and the factor on its speed from then on, as another load would slow it.

    The operator is charged for its full share, so that a tuple costs more CPU seconds. A neighbour that takes cache,
    memory bandwidth or the other half of a core has this effect.
    """

    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    """By operator with a queue per replica, the grouping. Other operators have one queue for all replicas."""
    queue_size: int | None = None
    """The most tuples that wait in one queue; a full queue loses those that arrive. None for no limit."""
    timeout_s: float = inf
    """Age since arrival at the source from which on no server takes a tuple: it is dropped without work."""
    restart: Restart | None = None
    """The restart that every change of replicas causes; None if replicas come from a pool."""

    def __post_init__(self) -> None:
        for name in ("share_delay_s", "replicas_delay_s"):
            if not 0 <= (delay_s := getattr(self, name)) < inf:
                raise ValueError(f"{name} must be finite and not negative; got {delay_s:g}")
        if self.queue_size is not None and self.queue_size < 1:
            raise ValueError(f"queue_size must be at least 1; got {self.queue_size}")
        if not self.timeout_s > 0:
            raise ValueError(f"timeout_s must be above 0; got {self.timeout_s:g}")
        for operator, factor in self.demand_factors.items():
            _check_factor(f"the demand factor of {operator}", factor)
        for operator, steps in self.interference.items():
            for time_s, factor in steps:
                _check_factor(f"the interference at {operator} from {time_s:g} s on", factor)
                if not 0 <= time_s < inf:
                    raise ValueError(f"interference at {operator} must begin at a time from 0 s on; got {time_s:g} s")

    @classmethod
    def of(cls, file: PipelineFile, options: PolicyOptions) -> Conditions:
        """The conditions that a pipeline file and the options of a policy describe."""
        known = file.knowledge
        # Of equal replicas, Algorithm 1 gives all the same number of rows of a micro-batch, as the simulation does.
        groupings = {
            keys.name: Grouping.of(keys.grouping) for keys in file.keys.operators if keys.grouping and not keys.batch
        }
        return cls(known.shares_after_s, known.actuation_delay_s, groupings=groupings, restart=options.restart)

    def knowledge(self, pipeline: Pipeline) -> Knowledge:
        """The pipeline and its delays, as a policy knows them under these conditions."""
        fixed = all(operator.max_replicas == operator.min_replicas for operator in pipeline.operators)
        longest_s = self.share_delay_s if fixed else max(self.share_delay_s, self.replicas_delay_s)
        return Knowledge(pipeline, longest_s, share_delay_s=self.share_delay_s)

    def check_for(self, pipeline: Pipeline) -> None:
        """Refuse operators that the pipeline does not have, and time-outs of micro-batches."""
        check_names("the conditions name", {*self.demand_factors, *self.interference, *self.groupings}, pipeline)
        batched = next((operator.name for operator in pipeline.operators if operator.batches), None)
        if batched is not None and self.timeout_s < inf:
            raise ValueError(f"operator {batched!r} works in micro-batches; a time-out is for tuples one by one")


def check_names(what: str, names: Iterable[str], pipeline: Pipeline) -> None:
    """Refuse operators that the pipeline does not have."""
    known = [operator.name for operator in pipeline.operators]
    for name in names:
        if name not in known:
            raise ValueError(f"{what} an operator {name!r}; those of {pipeline.name} are {', '.join(known)}")


def _check_factor(what: str, factor: float) -> None:
    if not 0 < factor < inf:
        raise ValueError(f"{what} must be above 0 and finite; got {factor:g}")
