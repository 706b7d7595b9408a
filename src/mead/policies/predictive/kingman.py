"""Kingman's GI/G/1: knows rate and variance of the arrivals, ignores their correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mead.arrays import FloatArray
from mead.policies.predictive.base import Predictive, PredictiveOptions
from mead.policies.predictive.map_network import ArrivalModel, solve_pipeline
from mead.policies.predictive.stations import solve_operators
from mead.policies.registry import register
from mead.queueing import MAP, MODELS, PH, Arrivals, NetworkSolution, scv
from mead.values import Allocation, Observation, Pipeline

LEAST_SCV = 0.01
"""More regular arrivals are taken as this regular: a renewal process of two moments has one phase per 1 / SCV."""


class KingmanOptions(PredictiveOptions):
    """Models every operator as a GI/G/1 queue (Kingman): by the variance of IATs, without their correlation."""

    name: Literal["kingman"] = "kingman"


@register(KingmanOptions)
class Kingman(Predictive[Arrivals]):
    """Every operator as a GI/G/1 queue, by Kingman's formula.

    Several replicas are a GI/G/k queue as in DRS, which is the same for one.

    A micro-batch operator is the batch server under independent IATs of the same mean and variance.
    """

    kind = "rates and variances"

    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> list[Arrivals]:  # noqa: ARG002
        """Rate and squared coefficient of variation of the IATs."""
        return [Arrivals(iats_s.size / float(iats_s.sum()), scv(iats_s))]

    def describe(self, model: Arrivals) -> str:
        """Rate and variability."""
        return f"independent IATs, {model.rate_per_s:.4g}/s, SCV {model.scv:.3g}"

    def predict(self, pipeline: Pipeline, allocation: Allocation, models: Sequence[Arrivals]) -> list[NetworkSolution]:
        """As if every IAT were independent of the one before."""
        if any(operator.batches for operator in pipeline.operators):
            return solve_pipeline(pipeline, allocation, [ArrivalModel(_renewal(model)) for model in models], self.name)
        return [solve_operators(pipeline, allocation, model, MODELS["gigk"]) for model in models]


def _renewal(arrivals: Arrivals) -> MAP:
    return MAP.renewal(PH.with_moments(1 / arrivals.rate_per_s, max(arrivals.scv, LEAST_SCV)))
