"""M/G/1: knows the rate of the arrivals, ignores their burstiness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mead.arrays import FloatArray
from mead.policies.predictive.base import Predictive, PredictiveOptions
from mead.policies.predictive.map_network import ArrivalModel, solve_pipeline
from mead.policies.predictive.stations import solve_operators
from mead.policies.registry import register
from mead.queueing import MAP, Arrivals, NetworkSolution, QueueSolution, gigk, m_ph_1
from mead.queueing import Operator as Station
from mead.values import Allocation, Observation, Pipeline


class MG1Options(PredictiveOptions):
    """Models every operator as an M/G/1 queue: by the arrival rate, without burstiness."""

    name: Literal["mg1"] = "mg1"


@register(MG1Options)
class MG1(Predictive[float]):
    """Every operator an M/PH/1 queue, mean and percentiles exact; several replicas by DRS's M/G/k.

    A micro-batch operator is the batch server under Poisson arrivals.
    """

    kind = "rates"

    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> list[float]:  # noqa: ARG002
        """The rate per second."""
        return [iats_s.size / float(iats_s.sum())]

    def describe(self, model: float) -> str:
        """The rate."""
        return f"Poisson arrivals, {model:.4g}/s"

    def predict(self, pipeline: Pipeline, allocation: Allocation, models: Sequence[float]) -> list[NetworkSolution]:
        """As if the arrivals were Poisson everywhere."""
        if any(operator.batches for operator in pipeline.operators):
            return solve_pipeline(pipeline, allocation, [ArrivalModel(MAP.poisson(rate)) for rate in models], self.name)
        return [solve_operators(pipeline, allocation, Arrivals(rate, 1.0), _poisson) for rate in models]


def _poisson(arrivals: Arrivals, station: Station) -> QueueSolution:
    service = station.service
    if station.servers == 1:
        return m_ph_1(arrivals.rate_per_s, service)
    return gigk(arrivals.rate_per_s, 1.0, service.mean_s, service.scv, station.servers)
