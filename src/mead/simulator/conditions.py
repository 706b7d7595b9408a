"""What the world does to a simulated pipeline besides sending tuples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from mead.config.pipeline_file import PipelineFile
from mead.policies import PolicyOptions, Restart
from mead.simulator.grouping import Grouping
from mead.values import Knowledge, Pipeline


@dataclass(frozen=True)
class Conditions:
    """Everything that can be other than planned. By default nothing is.

    >>> noisy = Conditions(share_delay_s=1.0, interference={"matcher": [(600.0, 0.8), (900.0, 1.0)]})
    >>> noisy.interference["matcher"][0]  # at ten minutes, the matcher becomes a fifth slower
    (600.0, 0.8)
    """

    share_delay_s: float = 0.0
    """Time from the order to change a share to its effect."""
    replicas_delay_s: float = 0.0
    """Time from the order to change the number of replicas to its effect."""
    demand_factors: Mapping[str, float] = field(default_factory=dict)
    """By operator: its true demand, over the one that the pipeline declares."""
    interference: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    """By operator, pairs of a time and the factor on its speed from then on: another load slows it.

    The operator is charged for its share all the same, so that a tuple costs it more CPU seconds: that is what a
    neighbour does that takes away cache, memory bandwidth or the other half of a core.
    """

    groupings: Mapping[str, Grouping] = field(default_factory=dict)
    """By operator with a queue per replica: which replica gets a tuple. Others have one queue for all replicas."""
    restart: Restart | None = None
    """What comes with every change of replicas; None where replicas come from a pool that is always ready."""

    def __post_init__(self) -> None:
        for name in ("share_delay_s", "replicas_delay_s"):
            if not 0 <= (delay_s := getattr(self, name)) < inf:
                raise ValueError(f"{name} must be finite and not negative; got {delay_s:g}")
        for operator, factor in self.demand_factors.items():
            _check_factor(f"the demand factor of {operator}", factor)
        for operator, steps in self.interference.items():
            for time_s, factor in steps:
                _check_factor(f"the interference at {operator} from {time_s:g} s on", factor)
                if not 0 <= time_s < inf:
                    raise ValueError(f"interference at {operator} must begin at a time from 0 s on; got {time_s:g} s")

    @classmethod
    def of(cls, file: PipelineFile, options: PolicyOptions) -> Conditions:
        """What a pipeline file says of the world, and what the system of a policy needs."""
        known = file.knowledge
        groupings = {keys.name: Grouping.of(keys.grouping) for keys in file.keys.operators if keys.grouping}
        return cls(known.shares_after_s, known.actuation_delay_s, groupings=groupings, restart=options.restart)

    def knowledge(self, pipeline: Pipeline) -> Knowledge:
        """What a policy may know of the pipeline and of the delays under these conditions."""
        fixed = all(operator.max_replicas == operator.min_replicas for operator in pipeline.operators)
        longest_s = self.share_delay_s if fixed else max(self.share_delay_s, self.replicas_delay_s)
        return Knowledge(pipeline, longest_s, share_delay_s=self.share_delay_s)

    def check_names(self, pipeline: Pipeline) -> None:
        """Refuse operators that the pipeline does not have."""
        check_names("the conditions name", {*self.demand_factors, *self.interference, *self.groupings}, pipeline)


def check_names(what: str, names: Iterable[str], pipeline: Pipeline) -> None:
    """Refuse operators that the pipeline does not have."""
    known = [operator.name for operator in pipeline.operators]
    for name in names:
        if name not in known:
            raise ValueError(f"{what} an operator {name!r}; those of {pipeline.name} are {', '.join(known)}")


def _check_factor(what: str, factor: float) -> None:
    if not 0 < factor < inf:
        raise ValueError(f"{what} must be above 0 and finite; got {factor:g}")
