"""The policy `map`: MEAD with MAPs calibrated on the queue, and a margin on the rate.

The policy `mead` is the published one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from mead.arrays import FloatArray
from mead.policies.predictive.base import Predictive, PredictiveOptions
from mead.policies.predictive.map_network import ArrivalModel, solve_pipeline
from mead.policies.registry import register
from mead.queueing import NetworkSolution, WindowFit, fit_calibrated
from mead.values import Allocation, Observation, Pipeline

SEED = 0
"""Seed of the service times that a fit replays. All rounds draw the same: only the arrivals make a difference."""


class MapOptions(PredictiveOptions):
    """MEAD with our fitter: MAPs calibrated on the queue, and a margin on the rate; the worst of them counts."""

    name: Literal["map"] = "map"
    best: Annotated[int, Field(ge=1, le=20)] = Field(default=5, description="number of MAPs of every window")
    cautious: bool = Field(
        default=True, description="predict for the highest rate that is compatible with a window, not for its mean rate"
    )


class MapNetworks(Predictive[ArrivalModel]):
    """The pipeline as a network of MAP/PH/1 queues, the micro-batch ones as MAP batch servers.

    The paper's worst case: a requirement is met if it is under every one of the best MAPs of every window.
    """

    kind = "MAPs"

    def describe(self, model: ArrivalModel) -> str:
        """States, rate, variability and burstiness of a MAP."""
        arrivals = model.arrivals
        bursts = f"SCV {arrivals.scv:.3g}, index of dispersion {arrivals.idc_limit:.3g} in the long run"
        return f"MAP of {arrivals.states} states, {arrivals.rate_per_s:.4g}/s, {bursts}"

    def predict(
        self, pipeline: Pipeline, allocation: Allocation, models: Sequence[ArrivalModel]
    ) -> list[NetworkSolution]:
        """The network under each MAP."""
        return solve_pipeline(pipeline, allocation, models, self.name)


@register(MapOptions)
class Map(MapNetworks):
    """The best MAPs of each window by the queue that they predict."""

    def __init__(self, options: MapOptions) -> None:
        super().__init__(options)
        self.best = options.best
        self._fits: dict[int, tuple[float, WindowFit]] = {}

    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> list[ArrivalModel]:
        """The best few MAPs of a window."""
        fitted_s, previous = self._fits.get(size, (0.0, None))
        # Once more than half of a window is replaced, time scales differ: a search from its old fit ends too early.
        if observation.time_s - fitted_s > float(iats_s.sum()) / 2:
            previous = None
        fit = fit_calibrated(iats_s, best=self.best, seed=SEED, previous=previous)
        self._fits[size] = observation.time_s, fit
        return [ArrivalModel(model.map) for model in fit.models]
