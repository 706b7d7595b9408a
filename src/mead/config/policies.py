"""Every option of every policy: name, unit, default, meaning. The pipeline file and the reference come from here."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from mead.config.keys import Keys, Positive, wrong_key

Tuples = Annotated[int, Field(ge=100, le=10_000_000)]
Fraction = Annotated[float, Field(gt=0, le=1)]

CALM_CHANGES_PER_HOUR = 500.0
"""One in seven seconds."""


def _in_tenths(interval_s: float) -> float:
    """Arrivals are counted in tenths of a second."""
    if abs(10 * interval_s - round(10 * interval_s)) > 1e-6 or interval_s < 0.1:
        raise ValueError(f"must be a multiple of 0.1; got {interval_s:g}")
    return interval_s


class RuleKeys(Keys):
    """How far one round may move an allocation, whatever the policy."""

    one_level_down: bool = Field(default=True, description="a share falls by one level per round at most")
    hold_down_s: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="so long after a change nothing is lowered, s"
    )


class StaticOptions(Keys):
    """One allocation for ever."""

    name: Literal["static"] = "static"
    interval_s: Positive = Field(default=1.0, description="time between two looks at the metrics, s")
    share: Positive | None = Field(
        default=None, description="cores of every operator: its lowest level from this up; default its highest"
    )


class ThresholdOptions(RuleKeys):
    """One level up above a CPU utilization, one level down below another."""

    name: Literal["threshold"] = "threshold"
    interval_s: Positive = Field(default=10.0, description="time between two decisions, s")
    high: Fraction = Field(default=0.7, description="utilization above which an operator gets a level more")
    low: Fraction = Field(default=0.5, description="utilization below which an operator gets a level less")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise wrong_key("low", f"must be below high, which is {self.high:g}; got {self.low:g}")
        return self


class PredictiveOptions(RuleKeys):
    """What the policies have in common that predict the response time of every candidate and take the cheapest."""

    interval_s: Positive = Field(default=60.0, description="time between two decisions, s")
    windows: Annotated[tuple[Tuples, ...], Field(min_length=1)] = Field(
        default=(50_000, 25_000), description="how many of the last IATs to look at; the worst prediction counts"
    )
    search: Literal["heuristic", "exact"] = Field(
        default="heuristic", description="the paper's Fig. 5, or the cheapest of all allocations"
    )
    cautious: bool = Field(
        default=False,
        description="predict for the highest rate that a window is compatible with, not for its mean rate",
    )

    @property
    def most_iats(self) -> int:
        """How many of the last IATs it looks at."""
        return max(self.windows)


class MG1Options(PredictiveOptions):
    """Every operator an M/G/1 queue: knows the rate, and nothing of burstiness."""

    name: Literal["mg1"] = "mg1"


class KingmanOptions(PredictiveOptions):
    """Every operator a GI/G/1 queue after Kingman: knows the variance of IATs, and nothing of their correlation."""

    name: Literal["kingman"] = "kingman"


class MapOptions(PredictiveOptions):
    """MEAD: MAPs fitted to several windows, the worst of the best few counts."""

    name: Literal["map"] = "map"
    best: Annotated[int, Field(ge=1, le=20)] = Field(default=5, description="how many MAPs of every window")
    cautious: bool = Field(
        default=True, description="predict for the highest rate that a window is compatible with, not for its mean rate"
    )


class ReplayOptions(PredictiveOptions):
    """The window itself, sent through the queues at every candidate allocation."""

    name: Literal["replay"] = "replay"


class DS2Options(RuleKeys):
    """From the rates alone, as Flink's autoscaler does."""

    name: Literal["ds2"] = "ds2"
    interval_s: Positive = Field(default=60.0, description="time between two decisions, s")
    target_utilization: Fraction = Field(default=0.7, description="how busy an operator should be")
    boundary: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.3, description="how far the utilization may be off before anything changes"
    )
    catch_up_s: Positive = Field(default=300.0, description="time in which a backlog should be gone, s")


class AdaptiveOptions(Keys):
    """Our own: a rule for the backlog every second, its prices chosen by looking ahead through the closed loop."""

    name: Literal["adaptive"] = "adaptive"
    interval_s: Annotated[Positive, AfterValidator(_in_tenths)] = Field(
        default=1.0, description="time between two looks at the backlog, s; a multiple of 0.1"
    )
    replan_s: Positive = Field(default=15.0, description="time between two choices of the rule's prices, s")
    ahead: Literal["replay", "map", "both"] = Field(
        default="replay",
        description="what prices are tried on: the last ten minutes, ten minutes of the fitted MAP, or both",
    )
    window: Tuples = Field(default=50_000, description="how many of the last IATs a MAP is fitted to")
    calm: bool = Field(default=False, description="change less often, for engines where a change costs something")

    @property
    def most_iats(self) -> int:
        """How many of the last IATs it looks at."""
        return self.window

    @property
    def changes_per_hour(self) -> float | None:
        """How many changes there may be; None for as many as are of use."""
        return CALM_CHANGES_PER_HOUR if self.calm else None


PolicyOptions = Annotated[
    StaticOptions
    | ThresholdOptions
    | MG1Options
    | KingmanOptions
    | MapOptions
    | ReplayOptions
    | DS2Options
    | AdaptiveOptions,
    Field(discriminator="name"),
]
