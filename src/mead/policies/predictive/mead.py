"""The policy `mead`: MEAD as it was published (Russo Russo et al. 2021)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from mead.arrays import FloatArray
from mead.policies.predictive.base import PredictiveOptions
from mead.policies.predictive.map import SEED, MapNetworks
from mead.policies.predictive.map_network import ArrivalModel
from mead.policies.registry import register
from mead.queueing import fit_kpc
from mead.values import Observation


class MeadOptions(PredictiveOptions):
    """MEAD as published: the best MAPs that KPC finds for each window; the worst of them counts."""

    name: Literal["mead"] = "mead"
    best: Annotated[int, Field(ge=1, le=20)] = Field(default=5, description="most MAPs of every window")
    max_states: Annotated[int, Field(ge=2, le=32)] = Field(default=16, description="most states of a MAP")
    careful: bool = Field(default=False, description="tighten bounds up to four times while predictions are exceeded")


@register(MeadOptions)
class Mead(MapNetworks):
    """The distinct optima of one KPC search per window, by moments and correlations alone.

    It replays nothing, leaves nothing of a window out, has no margin on the rate, and by default learns nothing from
    its predictions.
    """

    def __init__(self, options: MeadOptions) -> None:
        super().__init__(options)
        self.best, self.max_states = options.best, options.max_states

    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> list[ArrivalModel]:  # noqa: ARG002
        """The best few MAPs of a window. Every round starts the search anew, from the same random points."""
        rng = np.random.default_rng(SEED)
        fit = fit_kpc(iats_s, best=self.best, max_states=self.max_states, rng=rng, whole=True)
        return [ArrivalModel(model.map) for model in fit.models]
