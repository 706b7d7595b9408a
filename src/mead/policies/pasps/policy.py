"""PA-SPS: the replicas that a forecast of the arrivals and the queues need.

Wladdimiro et al., JPDC 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mead.arrays import FloatArray
from mead.keys import wrong_key
from mead.policies.base import Interval, Knob, NotReady, RuleKeys, Tenths, not_ready
from mead.policies.reasons import Forecast, Remark, ReplicaNeed
from mead.policies.registry import register
from mead.policies.rules import StepPlanner
from mead.queueing import (
    USUAL_QUANTILE,
    CycleError,
    Link,
    Load,
    Predictor,
    edge_ratios,
    entry_shares,
    expected_loads,
    forecaster,
    replicas_needed,
    whole_replicas,
)
from mead.values import (
    COUNT_BIN_S,
    Allocation,
    Cause,
    Knowledge,
    Observation,
    Operator,
    Pipeline,
    Plan,
    Reason,
    Resources,
)


class ForecastKeys(RuleKeys):
    """The options of all policies that count arrivals in samples and forecast those of the next interval."""

    interval_s: Interval = Field(default=30.0, description="time between two decisions, and length of the forecast, s")
    sample_s: Tenths = Field(default=5.0, description="length of a sample of the arrivals, s; a multiple of 0.1")
    samples: Annotated[int, Field(ge=1, le=6000)] = Field(
        default=12,
        description="number of the last samples that a forecast is made from; 12 in the authors' program. Without "
        "effect on `ewma` and `conformal`, which smooth over the samples of one interval",
    )
    one_level_down: bool = Field(default=False, description="replicas fall by one per round at most")

    plans_for_requirements: ClassVar[bool] = False
    knobs: ClassVar[tuple[Knob, ...]] = ("replicas",)

    @property
    def forecast_s(self) -> float:
        """A forecast covers the time until the next decision."""
        return self.interval_s

    @property
    def method(self) -> tuple[Predictor, float]:
        """The predictor, and the quantile for one that forecasts a quantile."""
        return "basic", USUAL_QUANTILE

    @model_validator(mode="after")
    def _whole_samples(self) -> Self:
        parts = self.interval_s / self.sample_s
        if parts < 1 - 1e-6 or abs(parts - round(parts)) > 1e-6:
            raise wrong_key("interval_s", f"must be a multiple of sample_s, {self.sample_s:g}; got {self.interval_s:g}")
        return self


class PaSpsOptions(ForecastKeys):
    """PA-SPS: takes the replicas from a pool that a forecast of the arrivals and the queues need."""

    name: Literal["pasps"] = "pasps"
    predictor: Predictor = Field(
        default="ann",
        description="forecaster: the five of the paper, `fft-flat` for its FFT without a trend, `ann-repo` for its "
        "network as the authors train it, or one of MEAD; `conformal` forecasts an upper quantile, `auto` takes the "
        "best of late",
    )
    quantile: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=USUAL_QUANTILE, description="part of the forecasts of `conformal` that should not be exceeded"
    )

    @property
    def method(self) -> tuple[Predictor, float]:
        """As the options say."""
        return self.predictor, self.quantile


class PspsOptions(ForecastKeys):
    """PSPS, the predecessor of PA-SPS: forecasts the last interval again."""

    name: Literal["psps"] = "psps"


@dataclass(frozen=True)
class Outlook:
    """The forecast of the next interval."""

    forecast: float
    """Tuples at the source."""
    loads: Mapping[str, Load]
    needed: Mapping[str, float]
    """Replicas by operator, before rounding and bounds (equation 2)."""


@register(PaSpsOptions)
@register(PspsOptions)
class PaSps:
    """Carries the forecast and the queues through the graph.

    Replicas come from a pool that is always ready.

    Requirements do not matter. Every replica has the highest share; only their number changes. Execution times are the
    demands that the loop has learned. Where several operators send to one, the readings do not tell apart what each
    sends: their declared selectivities are scaled alike to the arrivals there.
    """

    def __init__(self, options: ForecastKeys) -> None:
        self.name, self.interval_s = options.name, options.interval_s
        self.predictor, quantile = options.method
        self._bins = round(options.sample_s / COUNT_BIN_S)
        self._horizon = round(options.interval_s / options.sample_s)
        self._forecaster = forecaster(self.predictor, window=options.samples, steps=self._horizon, quantile=quantile)
        self._planner = StepPlanner(options)
        self._seen_s = -inf
        self._ratios: dict[Link, float] = {}
        self._shares: dict[str, float] = {}

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Outlook | NotReady:
        """The load of every operator in the next interval."""
        pipeline = knowledge.pipeline
        if pipeline.returns:
            back = ", ".join(f"{edge.source} to {edge.target}" for edge in pipeline.returns)
            raise CycleError(
                f"{self.name} cannot follow the loop of {pipeline.name} from {back}; "
                "use a policy that solves the traffic equations, such as ds2"
            )
        if unready := not_ready(observation, pipeline):
            return unready
        new = self._samples(observation)
        self._forecaster.observe(new)
        if self._seen_s == -inf and not new.size:
            return NotReady(Reason(Cause.TOO_FEW, (Remark.NO_ARRIVALS,)))
        self._seen_s = observation.time_s
        forecast = self._horizon * max(float(self._forecaster.forecast(self._horizon).mean()), 0.0)
        self._learn_flows(observation, pipeline)
        queues = {name: float(reading.backlog) for name, reading in observation.operators.items()}
        loads = expected_loads(pipeline.order, self._shares, self._ratios, forecast, queues)
        needed = {
            o.name: replicas_needed(loads[o.name].total, o.demand_s / o.shares[-1], self.interval_s)
            for o in pipeline.operators
        }
        return Outlook(forecast, loads, needed)

    def plan(self, observation: Observation, analysis: Outlook, knowledge: Knowledge) -> Plan:
        """As many replicas of every pool as the outlook needs (Algorithm 2)."""
        pipeline, forecast = knowledge.pipeline, Forecast(self.predictor, analysis.forecast, self.interval_s)
        loads, needed = analysis.loads, analysis.needed
        needs = (
            ReplicaNeed(o.name, loads[o.name].received, loads[o.name].queued, needed[o.name], o.max_replicas)
            for o in pipeline.operators
        )
        return self._planner.plan(allocate(analysis, pipeline), observation, pipeline, (forecast, *needs))

    def _samples(self, observation: Observation) -> FloatArray:
        """Arrivals in the samples since the last look; at first in all samples that the readings hold."""
        known = observation.counts.size // self._bins
        since_s = observation.time_s - self._seen_s
        new = known if since_s == inf else min(known, round(since_s / (self._bins * COUNT_BIN_S)))
        if not new:
            return observation.counts[:0]
        return np.asarray(observation.counts[-new * self._bins :].reshape(new, self._bins).sum(axis=1))

    def _learn_flows(self, observation: Observation, pipeline: Pipeline) -> None:
        """Learn the ratios of the edges (equation 6), and the parts of the arrivals that the sources get."""
        processed = {name: float(reading.completed) for name, reading in observation.operators.items()}
        arrived = {name: float(reading.arrived) for name, reading in observation.operators.items()}
        declared = {(e.source, e.target): processed[e.source] * e.selectivity for e in pipeline.edges}
        into: dict[str, float] = {}
        for (_, target), count in declared.items():
            into[target] = into.get(target, 0.0) + count
        sent = {
            link: arrived[link[1]] * count / into[link[1]] if into[link[1]] > 0 else 0.0
            for link, count in declared.items()
        }
        self._ratios = edge_ratios(sent, processed, self._ratios)
        bins = round(observation.interval_s / COUNT_BIN_S)
        source = float(observation.counts[-bins:].sum()) if bins else 0.0
        entered = {name: arrived[name] for name in pipeline.sources}
        self._shares = entry_shares(entered, source, self._shares)


def allocate(outlook: Outlook, pipeline: Pipeline) -> Allocation:
    """The replicas that an outlook needs, within the limits of every operator."""

    def resources(operator: Operator) -> Resources:
        replicas = whole_replicas(outlook.needed[operator.name], operator.max_replicas)
        return Resources(operator.shares[-1], max(replicas, operator.min_replicas))

    return Allocation.of({operator.name: resources(operator) for operator in pipeline.operators})
