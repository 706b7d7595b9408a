"""Replay: send the window itself through the pipeline at every candidate allocation.

There is no model of arrivals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mead.arrays import FloatArray
from mead.policies.predictive.base import Predictive, PredictiveOptions
from mead.policies.predictive.replay_network import Draws, WindowReplay
from mead.policies.registry import register
from mead.queueing import NetworkSolution
from mead.values import Allocation, Observation, Pipeline

SEED = 0
"""Every round draws the same service times, so that only the arrivals make a difference."""


class ReplayOptions(PredictiveOptions):
    """Replays the window of arrivals through the queues at every candidate allocation."""

    name: Literal["replay"] = "replay"


@register(ReplayOptions)
class Replay(Predictive[WindowReplay]):
    """Replays the last windows under another allocation, starting with empty queues."""

    kind = "replays"

    def __init__(self, options: ReplayOptions) -> None:
        super().__init__(options)
        self._draws = Draws(SEED)

    def models_of(self, iats_s: FloatArray, size: int, observation: Observation) -> list[WindowReplay]:  # noqa: ARG002
        """The window as it is."""
        return [WindowReplay(iats_s, self._draws)]

    def describe(self, model: WindowReplay) -> str:
        """How long the window is, and its rate."""
        iats_s = model.iats_s
        return f"the last {iats_s.size} IATs as they were, {iats_s.size / float(iats_s.sum()):.4g}/s"

    def predict(
        self, pipeline: Pipeline, allocation: Allocation, models: Sequence[WindowReplay]
    ) -> list[NetworkSolution]:
        """The response times that the tuples of each window would have had."""
        return [window.solution(pipeline, allocation) for window in models]
