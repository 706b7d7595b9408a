"""PA-SPS: as many replicas as a forecast of the arrivals and the queues need (Wladdimiro et al., JPDC 2024)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from mead.arrays import FloatArray
from mead.keys import Positive, wrong_key
from mead.policies.base import Knob, RuleKeys, Tenths
from mead.policies.registry import register
from mead.policies.steps import Steps, kept, unusable
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
from mead.values import COUNT_BIN_S, Allocation, Knowledge, Observation, Operator, Pipeline, Plan, Resources


class ForecastKeys(RuleKeys):
    """What the policies have in common that count arrivals in samples and forecast those of the next interval."""

    interval_s: Positive = Field(default=30.0, description="time between two decisions, which the forecast is of, s")
    sample_s: Tenths = Field(default=5.0, description="length of a sample of the arrivals, s; a multiple of 0.1")
    samples: Annotated[int, Field(ge=1, le=6000)] = Field(
        default=12,
        description="how many of the last samples a forecast is made from; the authors' program has 12. Without effect "
        "on `ewma` and `conformal`, which smooth over as many samples as an interval has",
    )
    one_level_down: bool = Field(default=False, description="replicas fall by one per round at most")

    plans_for_requirements: ClassVar[bool] = False
    knobs: ClassVar[tuple[Knob, ...]] = ("replicas",)

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

    @property
    def method(self) -> tuple[Predictor, float]:
        """As the options say."""
        return self.predictor, self.quantile


class PspsOptions(ForecastKeys):
    """PSPS, the system before PA-SPS: the same with the last interval as the forecast of the next."""

    name: Literal["psps"] = "psps"


@dataclass(frozen=True)
class Outlook:
    """The next interval, as it is foreseen."""

    forecast: float
    """Tuples at the source."""
    loads: Mapping[str, Load]
    needed: Mapping[str, float]
    """Replicas by operator, before rounding and bounds (equation 2)."""


@register(PaSpsOptions)
@register(PspsOptions)
class PaSps:
    """Replicas from a pool that is always ready: the forecast is carried through the graph, queues with it.

    It knows no requirement. Every replica has the highest share; the number of replicas is all that changes. Execution
    times are the demands that the loop has learned. Where several operators send to one, what each sends is not told
    apart by the readings: their declared selectivities are scaled alike to what has arrived.
    """

    def __init__(self, options: ForecastKeys) -> None:
        self.name, self.interval_s = options.name, options.interval_s
        self.predictor, quantile = options.method
        self._bins = round(options.sample_s / COUNT_BIN_S)
        self._horizon = round(options.interval_s / options.sample_s)
        self._forecaster = forecaster(self.predictor, window=options.samples, steps=self._horizon, quantile=quantile)
        self._steps = Steps(options)
        self._seen_s = -inf
        self._ratios: dict[Link, float] = {}
        self._shares: dict[str, float] = {}

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Outlook | str:
        """What every operator will have to do, or why that is not known."""
        pipeline = knowledge.pipeline
        if pipeline.returns:
            back = ", ".join(f"{edge.source} to {edge.target}" for edge in pipeline.returns)
            raise CycleError(
                f"PA-SPS follows tuples from operator to operator and knows no way back; {pipeline.name} leads from "
                f"{back}. Use a policy that solves the traffic equations, such as ds2"
            )
        if unknown := unusable(observation, pipeline):
            return unknown
        new = self._samples(observation)
        self._forecaster.observe(new)
        if self._seen_s == -inf and not new.size:
            return "the arrivals of the first few seconds are not counted yet"
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

    def plan(self, observation: Observation, analysis: Outlook | str, knowledge: Knowledge) -> Plan:
        """As many replicas of every pool as the outlook needs (Algorithm 2)."""
        if isinstance(analysis, str):
            return kept(observation, knowledge.pipeline, analysis)
        target = asked_for(analysis, knowledge.pipeline)
        return self._steps.to(target, observation, knowledge.pipeline, self._because(analysis, knowledge.pipeline))

    def _because(self, outlook: Outlook, pipeline: Pipeline) -> str:
        needs = ", ".join(
            f"{o.name} with {outlook.loads[o.name].received:.0f} + {outlook.loads[o.name].queued:.0f} queued needs "
            f"{outlook.needed[o.name]:.2f} of {o.max_replicas} replicas"
            for o in pipeline.operators
        )
        return f"{self.predictor} foresees {outlook.forecast:.0f} tuples in the next {self.interval_s:g} s; {needs}"

    def _samples(self, observation: Observation) -> FloatArray:
        """Arrivals in the samples that have ended since the last look; at first all that the readings go back to."""
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


def asked_for(outlook: Outlook, pipeline: Pipeline) -> Allocation:
    """The replicas that an outlook calls for, of what every operator may have."""

    def resources(operator: Operator) -> Resources:
        replicas = whole_replicas(outlook.needed[operator.name], operator.max_replicas)
        return Resources(operator.shares[-1], max(replicas, operator.min_replicas))

    return Allocation.of({operator.name: resources(operator) for operator in pipeline.operators})
