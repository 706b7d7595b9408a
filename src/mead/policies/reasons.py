"""The facts behind the decisions of the policies, and the words for them.

The facts of DRS are in ``drs/facts.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from mead.values import Allocation, Fact, Requirement, Resources


class Remark(Fact, Enum):
    """Facts without numbers."""

    NO_TRAFFIC = "no tuple arrived, waited or was served since the last readings"
    NO_ARRIVALS = "no arrivals have been counted yet"
    NO_RESPONSES = "no tuple has left a path yet"
    NO_BACKLOG = "no more tuples wait than the model expects, so more replicas would idle"
    CHEAPEST = "this is the cheapest allocation found that meets all requirements"
    GAVE_UP = "the heuristic gave up, and this allocation meets all requirements"

    def __str__(self) -> str:
        return self.value


# -- no decision yet ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoCpu(Fact):
    """An operator without CPU."""

    operator: str

    def __str__(self) -> str:
        return f"{self.operator} has no CPU"


@dataclass(frozen=True)
class FewArrivals(Fact):
    """Fewer IATs than a model needs."""

    iats: int
    least: int

    def __str__(self) -> str:
        return f"{self.iats} IATs are too few to predict from (at least {self.least})"


@dataclass(frozen=True)
class NoRate(Fact):
    """IATs that are all 0."""

    iats: int

    def __str__(self) -> str:
        return f"{self.iats} IATs of 0 s have no rate to predict from"


@dataclass(frozen=True)
class ShortHistory(Fact):
    """Arrivals over less time than a rule is learned from."""

    least_s: float

    def __str__(self) -> str:
        return f"arrivals have been seen for less than {self.least_s:g} s"


@dataclass(frozen=True)
class Restarting(Fact):
    """A restart that is not over."""

    until_s: float

    def __str__(self) -> str:
        return f"the restart takes until {self.until_s:g} s"


@dataclass(frozen=True)
class UnderWay(Fact):
    """An order that has not taken effect."""

    since_s: float

    def __str__(self) -> str:
        return f"the order of {self.since_s:g} s ago is under way"


# -- measured ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fixed(Fact):
    """An allocation that the options fix."""

    share: float | None
    replicas: int | None

    def __str__(self) -> str:
        share = "the highest levels are fixed" if self.share is None else f"a share of {self.share:g} cores is fixed"
        return share if self.replicas is None else f"{share} on {self.replicas} replicas"


@dataclass(frozen=True)
class Utilizations(Fact):
    """CPU time used over CPU time given, by operator, and the thresholds."""

    by_operator: tuple[tuple[str, float], ...]
    low: float
    high: float

    def __str__(self) -> str:
        used = ", ".join(f"{name} {utilization:.2f}" for name, utilization in self.by_operator)
        return f"the utilization is {used} (raised above {self.high:g}, lowered below {self.low:g})"


@dataclass(frozen=True)
class RateNeed(Fact):
    """The load and the capacity of an operator, in tuples per second."""

    operator: str
    input_per_s: float
    catch_up_per_s: float
    capacity_per_s: float

    def __str__(self) -> str:
        catch_up = f" and {self.catch_up_per_s:.3g}/s to catch up" if self.catch_up_per_s else ""
        return f"{self.operator} gets {self.input_per_s:.4g}/s{catch_up}, and can serve {self.capacity_per_s:.4g}/s"


@dataclass(frozen=True)
class TargetUtilization(Fact):
    """How busy operators should be."""

    target: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"the target utilization is {self.target:g} ({self.low:g} to {self.high:g} is tolerated)"


@dataclass(frozen=True)
class Backlog(Fact):
    """The queue of an operator, and the rate at which tuples join it."""

    operator: str
    waiting: int
    arriving_per_s: float | None = None

    def __str__(self) -> str:
        wait = f"{self.waiting} tuples wait at {self.operator}"
        return wait if self.arriving_per_s is None else f"{wait} and {self.arriving_per_s:.0f}/s arrive"


@dataclass(frozen=True)
class ShortQueues(Fact):
    """Queues that the planned allocation clears in time."""

    planned: Allocation

    def __str__(self) -> str:
        return f"{self.planned} clears all queues in time"


@dataclass(frozen=True)
class Planned(Fact):
    """The allocation that the slow level has planned."""

    allocation: Allocation

    def __str__(self) -> str:
        return f"planned is {self.allocation}"


# -- predicted ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Predicted(Fact):
    """A predicted response time and its bound; None for an overloaded path."""

    requirement: Requirement
    response_s: float | None
    utilization: float
    kept_s: float | None = None
    """The prediction if nothing changes; None if that is the same, or overloaded."""

    def __str__(self) -> str:
        asked, bound = self.requirement, f"(bound {self.requirement.bound_s:g} s)"
        what = f"the {asked.statistic} of {asked.path}"
        if self.response_s is None:
            return f"{what} would grow without end {bound}, at a utilization of {self.utilization:.2f}"
        kept = "" if self.kept_s is None else f", and {self.kept_s:.3g} s without the change"
        return f"{what} would be {self.response_s:.3g} s {bound}{kept}"


@dataclass(frozen=True)
class Unchanged(Fact):
    """The mean response time that is predicted if nothing changes; None for an overloaded path."""

    requirement: Requirement
    mean_s: float | None

    def __str__(self) -> str:
        asked = self.requirement
        grown = "grow without end" if self.mean_s is None else f"reach {self.mean_s:.3g} s"
        return f"without the change the mean of {asked.path} would {grown} (bound {asked.bound_s:g} s)"


@dataclass(frozen=True)
class Overload(Fact):
    """An operator that cannot keep up."""

    operator: str
    utilization: float

    def __str__(self) -> str:
        return f"{self.operator} would be overloaded (utilization {self.utilization:.2f})"


@dataclass(frozen=True)
class OutOfReach(Fact):
    """Requirements that no allocation meets; empty for all of them."""

    closest: Allocation
    requirements: tuple[Requirement, ...] = ()

    def __str__(self) -> str:
        broken = " and ".join(map(str, self.requirements)) or "all requirements"
        return f"no allocation meets {broken}, and {self.closest} comes closest"


@dataclass(frozen=True)
class TighterBounds(Fact):
    """Bounds that were tightened because predictions were exceeded."""

    requirements: tuple[Requirement, ...]
    trusted: Allocation | None
    """The allocation that would do otherwise; None if it is the same."""

    def __str__(self) -> str:
        bounds = ", ".join(f"{r.statistic} of {r.path} {r.bound_s:.3g} s" for r in self.requirements)
        need = "needs no more" if self.trusted is None else f"needs more than {self.trusted}"
        return f"predictions were exceeded lately, so bounds are tightened ({bounds}), which {need}"


@dataclass(frozen=True)
class Models(Fact):
    """The models that predictions come from."""

    count: int
    kind: str
    windows: tuple[int, ...]
    """The IATs that each window holds."""
    margins: tuple[float, ...] = ()
    """By window, the part by which its rate is raised; empty if it is not."""

    def __str__(self) -> str:
        raised = f", rates raised by {' and '.join(f'{margin:.0%}' for margin in self.margins)}" if self.margins else ""
        return (
            f"predicted from {self.count} {self.kind} of the last {' and '.join(map(str, self.windows))} IATs{raised}"
        )


# -- forecast (PA-SPS) -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forecast(Fact):
    """Arrivals that a predictor expects in the next interval."""

    predictor: str
    tuples: float
    interval_s: float

    def __str__(self) -> str:
        return f"{self.predictor} forecasts {self.tuples:.0f} tuples in the next {self.interval_s:g} s"


@dataclass(frozen=True)
class ReplicaNeed(Fact):
    """The replicas that an operator needs for what it will receive and what is queued."""

    operator: str
    received: float
    queued: float
    needed: float
    most: int

    def __str__(self) -> str:
        load = f"{self.received:.0f} tuples and {self.queued:.0f} queued"
        return f"{self.operator} needs {self.needed:.2f} of {self.most} replicas for {load}"


# -- priced (adaptive, hybrid) -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Allowances(Fact):
    """The part of every requirement's allowance that the rules use, and the cores that they take."""

    used: tuple[tuple[Requirement, float], ...]
    cores: float

    def __str__(self) -> str:
        parts = " and ".join(f"{used:.0%} of the allowance of {requirement}" for requirement, used in self.used)
        return f"the rules would use {parts or 'no allowance'}, with {self.cores:.2f} cores"


@dataclass(frozen=True)
class Exceeded(Fact):
    """Predictions that came out too low."""

    times: float

    def __str__(self) -> str:
        return f"predictions were exceeded {self.times:.2g}-fold lately, so less is allowed"


@dataclass(frozen=True)
class KnobChoice(Fact):
    """The knob that a decision turns at an operator, and what the best use of the other knob would cost."""

    operator: str
    before: Resources
    after: Resources
    alternative: Resources | None
    """None if there is none, because all replicas are kept ready."""
    extra_cost: float = 0.0
    """Core-seconds that the alternative costs more now; negative if it is cheaper until replicas can be there."""
    ready: int | None = None
    """Replicas that are kept ready for a jump of the arrivals; None for no more than the least."""

    @property
    def knob(self) -> Literal["replicas", "share", "none"]:
        """The knob that is turned; replicas if both are."""
        if self.after.replicas != self.before.replicas:
            return "replicas"
        return "share" if self.after.share != self.before.share else "none"

    def __str__(self) -> str:
        ready = "" if self.ready is None else f"; at least {self.ready} replicas are kept ready for a jump"
        turned = {"replicas": "replicas change", "share": "only the share changes", "none": "nothing changes"}
        words = f"at {self.operator} {turned[self.knob]}"
        if self.alternative is None:
            return f"{words}{ready}"
        if self.extra_cost < 0:
            return f"{words}: {self.alternative} is cheaper now, but not once replicas can be there{ready}"
        return f"{words}: {self.alternative} would cost {self.extra_cost:.2g} core-seconds more{ready}"
