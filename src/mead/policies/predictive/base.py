"""What the predictive policies share: windows of IATs, the worst case over all models of them, a search, a plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field

from mead.arrays import FloatArray
from mead.keys import Positive
from mead.policies.base import KEPT_IATS, RuleKeys, Tuples
from mead.policies.predictive.candidates import weighed
from mead.policies.predictive.predictions import against, enough, mean_s, predictions, remembered, worst
from mead.policies.predictive.rate_margin import higher_rate
from mead.policies.predictive.search import Predictor, closest, exact, heuristic, trimmed
from mead.policies.predictive.trust import Trust, no_less
from mead.policies.steps import Steps, kept, unusable
from mead.queueing import NetworkSolution, distinct
from mead.values import Allocation, Grounds, Knowledge, Observation, Pipeline, Plan

Model = TypeVar("Model")

LEAST_TO_PREDICT = 200
"""IATs that it takes to predict. With fewer, neither burstiness nor rate is known well enough to lower anything."""


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
    def kept_iats(self) -> int:
        """The longest window."""
        return max(KEPT_IATS, *self.windows)


@dataclass(frozen=True)
class Analysis(Generic[Model]):
    """The models of all windows, and what they were made from in words; or why there are none."""

    models: tuple[Model, ...]
    basis: str = ""
    unknown: str = ""


class Predictive(ABC, Generic[Model]):
    """Predicts the response times of candidate allocations and takes the cheapest that meets all requirements.

    A policy of this family says what it makes of a window of IATs, and what that predicts for an allocation.
    """

    kind: str
    """What its models are called."""

    def __init__(self, options: PredictiveOptions, name: str) -> None:
        self.name, self.options, self.interval_s = name, options, options.interval_s
        self._steps, self._trust = Steps(options), Trust()

    @abstractmethod
    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> Sequence[Model]:
        """The models of one window. ``size`` is the size that was asked for; the window may hold fewer IATs."""

    @abstractmethod
    def predict(self, pipeline: Pipeline, allocation: Allocation, models: Sequence[Model]) -> Sequence[NetworkSolution]:
        """The response times that each of the models predicts."""

    @abstractmethod
    def described(self, model: Model) -> str:
        """The numbers of a model, in a few words, for whoever asks how a decision was made."""

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Analysis[Model]:
        """The models of every window."""
        unknown = unusable(observation, knowledge.pipeline)
        if unknown:
            return Analysis((), unknown=unknown)
        self._trust.learn(observation)
        iats_s = observation.iats_s
        if iats_s.size < LEAST_TO_PREDICT:
            return Analysis((), unknown=f"{iats_s.size} IATs are too few to predict from (at least {LEAST_TO_PREDICT})")
        if not iats_s.any():
            return Analysis((), unknown=f"{iats_s.size} IATs of 0 s have no rate to predict from")
        sizes = distinct(self.options.windows, iats_s.size)
        windows = [iats_s[-size:] for size in sizes]
        faster = [1.0] * len(windows)
        if self.options.cautious:
            faster = [higher_rate(window, knowledge.pipeline.requirements) for window in windows]
        models = [
            model
            for size, window, factor in zip(sizes, windows, faster, strict=True)
            for model in self.models_of(window / factor, size, observation)
        ]
        used = " and ".join(str(window.size) for window in windows)
        margin = f", rates {' and '.join(f'{f - 1:.0%}' for f in faster)} up" if self.options.cautious else ""
        return Analysis(tuple(models), f"{len(models)} {self.kind} of the last {used} IATs{margin}")

    def plan(self, observation: Observation, analysis: Analysis[Model], knowledge: Knowledge) -> Plan:
        """The cheapest allocation that meets every requirement, or the one that comes closest."""
        if analysis.unknown:
            return kept(observation, knowledge.pipeline, analysis.unknown)
        pipeline, now = knowledge.pipeline, observation.allocation
        solutions: dict[Allocation, NetworkSolution] = {}
        predict = remembered(lambda allocation: worst(self.predict(pipeline, allocation, analysis.models)), solutions)
        tighter = self._trust.tightened(pipeline) if self.options.careful else pipeline
        target, because = self._careful_target(pipeline, tighter, predict)
        because = f"{because} ({analysis.basis})"
        met = enough(predict(target), pipeline.requirements)
        plan = self._steps.to(target, observation, pipeline, because, lambda a: predictions(predict(a)), enough=met)
        required = dict.fromkeys(r.path for r in pipeline.requirements)
        expected = {a: {path: mean_s(predict(a).paths[path]) for path in required} for a in (now, plan.allocation)}
        self._trust.expect(expected)
        grounds = Grounds(
            tuple(self.described(model) for model in analysis.models),
            weighed(solutions, pipeline, target, now, plan.allocation),
            max((self._trust.caution(path) for path in required), default=1.0) if self.options.careful else 1.0,
        )
        return replace(plan, grounds=grounds, kept_mean_s=expected[now])

    def _careful_target(self, pipeline: Pipeline, tighter: Pipeline, predict: Predictor) -> tuple[Allocation, str]:
        """No less than what a trusting planner would give, and no less than the tighter bounds need."""
        target, because = self._target(pipeline, predict)
        if tighter is pipeline:
            return target, because
        careful = no_less(self._target(tighter, predict)[0], target)
        bounds = ", ".join(f"{r.statistic} of {r.path} {r.bound_s:.3g} s" for r in tighter.requirements)
        caution = f"predictions were exceeded lately, so that bounds are taken tighter ({bounds})"
        if careful == target:
            return target, f"{because}; {caution}, which needs no more"
        found = against(predict(careful), pipeline.requirements)
        return careful, f"{caution}: predicted {found}; with trust, {target} would do"

    def _target(self, pipeline: Pipeline, predict: Predictor) -> tuple[Allocation, str]:
        requirements = pipeline.requirements
        target = (heuristic if self.options.search == "heuristic" else exact)(pipeline, predict)
        if enough(predict(target), requirements):
            found = against(predict(target), requirements) or "nothing is required"
            return target, f"it is the cheapest found to meet all requirements: predicted {found}"
        most = closest(pipeline, predict)
        if not enough(predict(most), requirements):
            found = against(predict(most), requirements)
            return most, f"NO ALLOCATION MEETS ALL REQUIREMENTS; {most} comes closest: predicted {found}"
        # The heuristic of Fig. 5 gave up on a requirement that can be met.
        target = trimmed(pipeline, predict)
        found = against(predict(target), requirements)
        return target, f"the heuristic gave up, and this meets all requirements: predicted {found}"
