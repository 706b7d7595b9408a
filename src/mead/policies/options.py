"""Every option of every policy: name, unit, default, meaning. The pipeline file and the reference come from here."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, Tag, model_validator

from mead.keys import Function, Keys, Positive, wrong_key
from mead.queueing import USUAL_QUANTILE, Predictor

Tuples = Annotated[int, Field(ge=100, le=10_000_000)]
Fraction = Annotated[float, Field(gt=0, le=1)]

KEPT_IATS = 50_000
"""IATs that a monitor keeps in any case: as many as that of the MEAD paper."""

CALM_CHANGES_PER_HOUR = 500.0
"""About one change in seven seconds."""

OWN = "module:Class"
"""What is written in place of a name for a policy that somebody else has written."""


def _in_tenths(interval_s: float) -> float:
    """Refuse what is not a multiple of 0.1 s, because arrivals are counted in tenths of a second."""
    if abs(10 * interval_s - round(10 * interval_s)) > 1e-6 or interval_s < 0.1:
        raise ValueError(f"must be a multiple of 0.1; got {interval_s:g}")
    return interval_s


class SlowKeys(Keys):
    """What every policy can have that is too slow for bursts."""

    two_level: bool = Field(
        default=False,
        description="between its decisions, look every second, and split what waits over more tasks where it is much",
    )


class RuleKeys(SlowKeys):
    """How far one round may move an allocation, whatever the policy."""

    one_level_down: bool = Field(default=True, description="a share falls by one level per round at most")
    hold_down_s: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="so long after a change nothing is lowered, s"
    )


class StaticOptions(SlowKeys):
    """One allocation for ever."""

    name: Literal["static"] = "static"
    interval_s: Positive = Field(default=1.0, description="time between two looks at the metrics, s")
    share: Positive | None = Field(
        default=None, description="cores of every operator: its lowest level from this up; default its highest"
    )
    replicas: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="of every operator, as far as it may have them; default its most"
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
    careful: bool = Field(
        default=True,
        description="plan for tighter bounds, up to four times, while predictions are exceeded",
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


class ForecastKeys(RuleKeys):
    """What the policies have in common that count arrivals in samples and forecast those of the next interval."""

    interval_s: Positive = Field(default=30.0, description="time between two decisions, which the forecast is of, s")
    sample_s: Annotated[Positive, AfterValidator(_in_tenths)] = Field(
        default=5.0, description="length of a sample of the arrivals, s; a multiple of 0.1"
    )
    samples: Annotated[int, Field(ge=1, le=6000)] = Field(
        default=12,
        description="how many of the last samples a forecast is made from; the authors' program has 12. Without effect "
        "on `ewma` and `conformal`, which smooth over as many samples as an interval has",
    )
    one_level_down: bool = Field(default=False, description="replicas fall by one per round at most")

    @model_validator(mode="after")
    def _whole_samples(self) -> Self:
        parts = self.interval_s / self.sample_s
        if parts < 1 - 1e-6 or abs(parts - round(parts)) > 1e-6:
            raise wrong_key("interval_s", f"must be a multiple of sample_s, {self.sample_s:g}; got {self.interval_s:g}")
        return self


class PaSpsOptions(ForecastKeys):
    """PA-SPS: replicas from a pool, as many as a forecast of the arrivals and the queues need."""

    name: Literal["pasps"] = "pasps"
    predictor: Predictor = Field(
        default="ann",
        description="who forecasts: the paper's five, `ann-repo` for its network as the authors train it, or ours; "
        "`conformal` is an upper quantile, `auto` whoever was best of late",
    )
    quantile: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=USUAL_QUANTILE, description="how often `conformal` should not be exceeded"
    )


class PspsOptions(ForecastKeys):
    """PSPS, the system before PA-SPS: the same with the last interval as the forecast of the next."""

    name: Literal["psps"] = "psps"
    predictor: ClassVar[Predictor] = "basic"


class DabsOptions(ForecastKeys):
    """In place of DABS-Storm: a regression forecasts, and every change restarts the pipeline."""

    name: Literal["dabs"] = "dabs"
    predictor: ClassVar[Predictor] = "lr"
    downtime_s: Annotated[float, Field(ge=0)] = Field(
        default=15.0, description="how long a restart takes, s; in virtual time the pipeline is down for so long"
    )
    loses: bool = Field(default=True, description="what waits or arrives during a restart is lost; if not, it waits")
    hold_down_s: Annotated[float, Field(ge=0)] = Field(
        default=120.0, description="so long after a change nothing is lowered, s"
    )

    @model_validator(mode="after")
    def _on_one_level(self) -> Self:
        if self.two_level:
            raise wrong_key("two_level", "is not for this policy: every split would restart the pipeline")
        return self


class DRSOptions(Keys):
    """DRS: replicas from a network of queues, for the shortest time on k_max processors or the fewest for t_max_s."""

    name: Literal["drs"] = "drs"
    interval_s: Positive = Field(default=60.0, description="time between two pulls of metrics and decisions (T_m), s")
    k_max: Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description="replicas of all operators together, or with t_max_s the most; default all that they may have",
    )
    t_max_s: Positive | None = Field(
        default=None, description="sojourn time to keep, s; default the strictest requirement, unless k_max is given"
    )
    t_min_s: Annotated[float, Field(ge=0)] | None = Field(
        default=None,
        description="response time below which replicas are removed, s; default 0.45 of t_max_s, or with micro-batches "
        "what they take and 0.45 of the rest",
    )
    t_ra_s: Annotated[float, Field(ge=0)] = Field(
        default=360.0, description="least time between two re-allocations (T_ra), s"
    )
    model: Literal["mmk", "ggk_ac", "ggk_whitt"] = Field(
        default="mmk", description="M/M/k, GI/G/k (eq. 5), or that with Whitt's refinement"
    )
    calibrated: bool = Field(default=True, description="allow for measured times that are longer than the model's")
    sample_every: Annotated[int, Field(ge=1)] = Field(
        default=1, description="of so many tuples one is recorded (N_m), where the engine records tuples"
    )
    window: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=5, description="measurements are means over so many intervals (w)"
    )
    alpha: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None, description="weight of the past in every measurement, in place of the window; default the window"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.t_min_s is not None and self.t_max_s is not None and self.t_min_s >= self.t_max_s:
            raise wrong_key("t_min_s", f"must be below t_max_s, which is {self.t_max_s:g}; got {self.t_min_s:g}")
        return self


class AdaptiveKeys(Keys):
    """What our own policies have in common."""

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


class AdaptiveOptions(AdaptiveKeys):
    """Our own: a rule for the backlog every second, its prices chosen by looking ahead through the closed loop."""

    name: Literal["adaptive"] = "adaptive"


class HybridOptions(AdaptiveKeys):
    """Our own for both knobs: as `adaptive`, where replicas cost more to hold and to change than shares do."""

    name: Literal["hybrid"] = "hybrid"
    replica_cost_cores: Annotated[float, Field(ge=0)] = Field(
        default=0.05, description="what each replica beyond the least takes beside its share, as if it were CPU, cores"
    )
    replica_change_cost: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="what it costs to start or to stop one replica, core-seconds"
    )
    surge: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.7,
        description="where replicas come later than shares, as many are kept as survive a jump of the arrivals to this "
        "part of what all replicas can do, or to the most of late; 0 for none",
    )


class OwnOptions(Keys):
    """A policy of your own: a class whose arguments are the other keys, in a module beside the pipeline file."""

    model_config = ConfigDict(extra="allow")

    name: Function = Field(default=OWN, description="the class, module:Class")

    @property
    def arguments(self) -> dict[str, Any]:
        """What the class is called with."""
        return dict(self.__pydantic_extra__ or {})


def kind_of(policy: object) -> str | None:
    """Whose options these are: those of a policy that is known by its name, or of one that has to be found.

    >>> kind_of({"name": "map"}), kind_of({"name": "my_policies:Thrifty"}) == OWN
    ('map', True)
    """
    name = policy.get("name") if isinstance(policy, dict) else getattr(policy, "name", None)
    if name is None:
        return None
    return OWN if ":" in str(name) else str(name)


PolicyOptions = Annotated[
    Annotated[StaticOptions, Tag("static")]
    | Annotated[ThresholdOptions, Tag("threshold")]
    | Annotated[MG1Options, Tag("mg1")]
    | Annotated[KingmanOptions, Tag("kingman")]
    | Annotated[MapOptions, Tag("map")]
    | Annotated[ReplayOptions, Tag("replay")]
    | Annotated[DS2Options, Tag("ds2")]
    | Annotated[DRSOptions, Tag("drs")]
    | Annotated[PaSpsOptions, Tag("pasps")]
    | Annotated[PspsOptions, Tag("psps")]
    | Annotated[DabsOptions, Tag("dabs")]
    | Annotated[AdaptiveOptions, Tag("adaptive")]
    | Annotated[HybridOptions, Tag("hybrid")]
    | Annotated[OwnOptions, Tag(OWN)],
    Discriminator(kind_of),
]


def kept_iats_for(options: PolicyOptions) -> int:
    """As many IATs as the longest window of a policy holds, and no fewer than a monitor keeps anyway.

    >>> kept_iats_for(StaticOptions()), kept_iats_for(AdaptiveOptions(window=60_000))
    (50000, 60000)
    """
    return max(KEPT_IATS, options.most_iats if isinstance(options, PredictiveOptions | AdaptiveKeys) else 0)
