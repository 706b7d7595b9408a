"""The predictive policies: model windows, predict for candidates, search the cheapest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import Field

from mead.arrays import FloatArray
from mead.policies.base import KEPT_IATS, Interval, NotReady, RuleKeys, Tuples, not_ready
from mead.policies.predictive.candidates import list_candidates
from mead.policies.predictive.predictions import (
    mean_s,
    meets_all,
    memoize,
    overloads,
    predictions,
    response_s,
    worst_solution,
)
from mead.policies.predictive.rate_margin import higher_rate
from mead.policies.predictive.search import Predictor, exact_search, heuristic_search, most_that_helps, trim
from mead.policies.predictive.trust import Trust, maximum
from mead.policies.reasons import (
    FewArrivals,
    Models,
    NoRate,
    OutOfReach,
    Overload,
    Predicted,
    Remark,
    TighterBounds,
)
from mead.policies.rules import StepPlanner
from mead.queueing import NetworkSolution, distinct
from mead.values import Allocation, Cause, Fact, Grounds, Knowledge, Observation, Pipeline, Plan, Reason

Model = TypeVar("Model")

LEAST_TO_PREDICT = 200
"""IATs that a prediction takes. With fewer, neither burstiness nor rate is known well enough to lower anything."""


class PredictiveOptions(RuleKeys):
    """The options of all policies that predict the response time of every candidate and take the cheapest."""

    interval_s: Interval = Field(default=60.0, description="time between two decisions, s")
    windows: Annotated[tuple[Tuples, ...], Field(min_length=1)] = Field(
        default=(50_000, 25_000), description="numbers of the last IATs to look at; the worst prediction counts"
    )
    search: Literal["heuristic", "exact"] = Field(
        default="heuristic", description="the heuristic of the paper (Fig. 5), or the cheapest of all allocations"
    )
    cautious: bool = Field(
        default=False,
        description="predict for the highest rate that is compatible with a window, not for its mean rate",
    )
    careful: bool = Field(
        default=True,
        description="tighten bounds up to four times while predictions are exceeded",
    )

    @property
    def kept_iats(self) -> int:
        """The longest window."""
        return max(KEPT_IATS, *self.windows)


@dataclass(frozen=True)
class Analysis(Generic[Model]):
    """The models of all windows."""

    models: tuple[Model, ...]
    basis: Models


class Predictive(ABC, Generic[Model]):
    """Predicts the response times of candidate allocations and takes the cheapest that meets all requirements.

    A policy of this family makes models of a window of IATs, and predicts with them for an allocation.
    """

    kind: str
    """The name of its models."""

    def __init__(self, options: PredictiveOptions) -> None:
        self.name, self.options, self.interval_s = options.name, options, options.interval_s
        self._planner, self._trust = StepPlanner(options), Trust()

    @abstractmethod
    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> Sequence[Model]:
        """The models of one window. ``size`` is the size that was asked for; the window may hold fewer IATs."""

    @abstractmethod
    def predict(self, pipeline: Pipeline, allocation: Allocation, models: Sequence[Model]) -> Sequence[NetworkSolution]:
        """The response times that each of the models predicts."""

    @abstractmethod
    def describe(self, model: Model) -> str:
        """The numbers of a model in a few words, for the explanation of a decision."""

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Analysis[Model] | NotReady:
        """Learn from the last prediction, then model every window."""
        if unready := not_ready(observation, knowledge.pipeline):
            return unready
        self._trust.learn(observation)
        iats_s = observation.iats_s
        if iats_s.size < LEAST_TO_PREDICT:
            return NotReady(Reason(Cause.TOO_FEW, (FewArrivals(iats_s.size, LEAST_TO_PREDICT),)))
        sizes = distinct(self.options.windows, iats_s.size)
        windows = [iats_s[-size:] for size in sizes]
        if stopped := [window.size for window in windows if not window.any()]:
            return NotReady(Reason(Cause.TOO_FEW, (NoRate(max(stopped)),)))
        rates = [1.0] * len(windows)
        if self.options.cautious:
            rates = [higher_rate(window, knowledge.pipeline.requirements) for window in windows]
        models = tuple(
            model
            for size, window, rate in zip(sizes, windows, rates, strict=True)
            for model in self.models_of(window / rate, size, observation)
        )
        margins = tuple(rate - 1 for rate in rates) if self.options.cautious else ()
        return Analysis(models, Models(len(models), self.kind, tuple(window.size for window in windows), margins))

    def plan(self, observation: Observation, analysis: Analysis[Model], knowledge: Knowledge) -> Plan:
        """The cheapest allocation that meets every requirement, or the one that comes closest."""
        pipeline, now = knowledge.pipeline, observation.allocation
        solutions: dict[Allocation, NetworkSolution] = {}
        predict = memoize(
            lambda allocation: worst_solution(self.predict(pipeline, allocation, analysis.models)), solutions
        )
        target, found = self._trusted_target(pipeline, predict)
        facts = (*found, *_compare(predict(target), predict(now), pipeline), analysis.basis)
        met = meets_all(predict(target), pipeline.requirements)
        plan = self._planner.plan(target, observation, pipeline, facts, lambda a: predictions(predict(a)), met=met)
        required = dict.fromkeys(r.path for r in pipeline.requirements)
        expected = {a: {path: mean_s(predict(a).paths[path]) for path in required} for a in (now, plan.allocation)}
        self._trust.expect(expected)
        grounds = Grounds(
            tuple(self.describe(model) for model in analysis.models),
            list_candidates(solutions, pipeline, target, now, plan.allocation),
            max((self._trust.caution(path) for path in required), default=1.0) if self.options.careful else 1.0,
        )
        return replace(plan, grounds=grounds, kept_mean_s=expected[now])

    def _trusted_target(self, pipeline: Pipeline, predict: Predictor) -> tuple[Allocation, tuple[Fact, ...]]:
        """The target under the required bounds, and no less than bounds tightened by trust need."""
        target, fact = self._target(pipeline, predict)
        tighter = self._trust.tighten(pipeline) if self.options.careful else pipeline
        if tighter is pipeline:
            return target, (fact,)
        safe = maximum(self._target(tighter, predict)[0], target)
        if safe == target:
            return target, (fact, TighterBounds(tighter.requirements, None))
        return safe, (TighterBounds(tighter.requirements, target),)

    def _target(self, pipeline: Pipeline, predict: Predictor) -> tuple[Allocation, Fact]:
        requirements = pipeline.requirements
        search = heuristic_search if self.options.search == "heuristic" else exact_search
        target = search(pipeline, predict)
        if meets_all(predict(target), requirements):
            return target, Remark.CHEAPEST
        most = most_that_helps(pipeline, predict)
        if not meets_all(predict(most), requirements):
            return most, OutOfReach(most)
        # The heuristic of Fig. 5 gave up on a requirement that can be met.
        return trim(pipeline, predict), Remark.GAVE_UP


def _compare(target: NetworkSolution, now: NetworkSolution, pipeline: Pipeline) -> list[Fact]:
    """Predictions beside the bounds, for a target and for the allocation in force.

    Overloaded operators are named.
    """
    facts: list[Fact] = []
    for requirement in pipeline.requirements:
        path = target.paths[requirement.path]
        found_s, kept_s = (response_s(one.paths[requirement.path], requirement.percent) for one in (target, now))
        facts.append(
            Predicted(
                requirement,
                found_s if isfinite(found_s) else None,
                path.utilization,
                kept_s if isfinite(kept_s) and kept_s != found_s else None,
            )
        )
    return [*facts, *(Overload(name, utilization) for name, utilization in overloads(target).items())]
