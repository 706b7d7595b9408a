"""The facts behind the decisions of DRS, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mead.policies.reasons import Remark
from mead.values import Allocation, Fact

Action: TypeAlias = Literal["none", "scale_out", "scale_in", "rebalance"]


@dataclass(frozen=True)
class Scheduled(Fact):
    """The action of DRS, and the case of its scheduler."""

    action: Action
    case: str

    def __str__(self) -> str:
        return CASES.get(self.case, self.case)


CASES = {
    "optimal": "the placement is optimal",
    "model_disagrees": "the model sees no shortage",
    "no_response": "there is no response time to go by",
    "T_ra": "a re-allocation would come too soon",
    "cost": "a re-allocation would cost more than it brings",
    "lower_bound": "the target is out of reach",
    "Kcap": "the target needs more processors than there are",
    "insufficient": "there are too few processors to keep up",
    "shortage": "processors are short",
    "over-provision": "there are more processors than needed",
    "badly placed": "the processors are badly placed",
    "AssignProcessors": "this is the best placement",
}
"""The cases of the scheduler of DRS."""


@dataclass(frozen=True)
class Budget(Fact):
    """The processors that may be placed."""

    k_max: int

    def __str__(self) -> str:
        return f"K_max {self.k_max}"


@dataclass(frozen=True)
class Room(Fact):
    """The replicas that the processors of the machine or cluster hold."""

    replicas: int
    processors: int

    def __str__(self) -> str:
        return f"no more than {self.replicas} replicas fit on {self.processors} processors"


@dataclass(frozen=True)
class Sojourn(Fact):
    """Measured and modelled response time beside the targets of DRS."""

    measured_s: float | None
    model_s: float
    gates_s: float
    """The part that micro-batches take with any number of replicas."""
    t_max_s: float
    t_min_s: float
    ratio: float | None
    """Measured over modelled; None if the model is not calibrated."""

    def __str__(self) -> str:
        measured = str(Remark.NO_RESPONSES) if self.measured_s is None else f"measured {self.measured_s:.4g} s"
        gates = f" ({self.gates_s:.4g} s of it micro-batches)" if self.gates_s else ""
        ratio = "" if self.ratio is None else f", ratio {self.ratio:.3g}"
        targets = f"T_max {self.t_max_s:g} s, T_min {self.t_min_s:.4g} s"
        return f"{measured}, model {self.model_s + self.gates_s:.4g} s{gates}, {targets}{ratio}"


@dataclass(frozen=True)
class Needed(Fact):
    """The processors that the target needs."""

    processors: int

    def __str__(self) -> str:
        return f"{self.processors} processors are needed"


@dataclass(frozen=True)
class Reachable(Fact):
    """A target that is within reach without calibration."""

    t_max_s: float

    def __str__(self) -> str:
        return f"without the ratio {self.t_max_s:g} s is within reach"


@dataclass(frozen=True)
class Placed(Fact):
    """Processors by operator, and the response time that they should bring; None if they are too few."""

    processors: tuple[int, ...]
    response_s: float | None = None

    def __str__(self) -> str:
        if self.response_s is None:
            return f"{_placement(self.processors)} is all that may be used"
        return f"{_placement(self.processors)} should bring {self.response_s:.4g} s"


@dataclass(frozen=True)
class Postponed(Fact):
    """A placement that comes too soon after the last."""

    processors: tuple[int, ...]
    since_s: float
    t_ra_s: float

    def __str__(self) -> str:
        waits = f"{_placement(self.processors)} has to wait"
        return f"{waits}: only {self.since_s:.0f} s of T_ra {self.t_ra_s:g} s have passed since the last re-allocation"


@dataclass(frozen=True)
class Cost(Fact):
    """The cost of a re-allocation beside its gain, both as mean times of the inputs of the time to come."""

    processors: tuple[int, ...]
    downtime_s: float
    cost_s: float
    gain_s: float
    """How much shorter the time becomes; how far it stays below the target, if processors are removed."""
    horizon_s: float

    @property
    def worth(self) -> bool:
        """Whether the re-allocation brings more than it costs."""
        return self.gain_s > self.cost_s

    def __str__(self) -> str:
        standstill = f"a standstill of {self.downtime_s:g} s adds {self.cost_s:.3g} s to the inputs of the next"
        return f"{standstill} {self.horizon_s:.0f} s, and {_placement(self.processors)} has {self.gain_s:.3g} s to gain"


@dataclass(frozen=True)
class ExternalRate(Fact):
    """Arrivals from outside."""

    per_s: float

    def __str__(self) -> str:
        return f"{self.per_s:.4g} tuples/s arrive from outside"


@dataclass(frozen=True)
class OrderArrived(Fact):
    """An order that has come into force, at least in part."""

    since_s: float
    in_force: Allocation
    ordered: Allocation

    def __str__(self) -> str:
        part = "" if self.in_force == self.ordered else f" in part, {self.in_force} of {self.ordered}"
        return f"the order of {self.since_s:g} s ago has taken effect{part}"


def _placement(processors: tuple[int, ...]) -> str:
    return f"({':'.join(map(str, processors))})"
