"""The current state of a run as a question to the models: the initial values of the sliders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mead.arrays import FloatArray
from mead.queueing import idc, spans_of
from mead.reports.frames import Frame
from mead.reports.live import Board
from mead.values import WINDOW_S, Allocation, Pipeline, Resources
from mead.web.answers import FITTED_IATS, LEAST_FITTED
from mead.web.question import DISPERSIONS, RATES_PER_S, Question

RATE_S = 60.0
"""The current rate is that of the last minute."""


def current_question(board: Board) -> Question:
    """The current rate, burstiness and allocation, with the required bounds."""
    frames = board.recent(RATE_S)
    rates = [frame.rate_per_s for frame in frames if frame.rate_per_s is not None]
    return Question(
        rate_per_s=_within(sum(rates) / len(rates) if rates else 1.0, RATES_PER_S),
        idc=_within(dispersion(board.arrivals, board.recent(WINDOW_S), board.facts.pipeline.order[0]), DISPERSIONS),
        bound_factor=1.0,
        allocation=_in_force(board.facts.pipeline, frames),
    )


def dispersion(iats_s: FloatArray, frames: Sequence[Frame], source: str) -> float:
    """A quick estimate of the index of dispersion of counts.

    With enough arrivals, the highest index over all spans; otherwise the index of the counts by round.
    """
    last = iats_s[-FITTED_IATS:]
    spans_s = spans_of(last.size, float(last.sum())) if last.size >= LEAST_FITTED else []
    if spans_s:
        return float(idc(last, spans_s).max())
    counts = np.array([frame.operators[source].arrived or 0 for frame in frames], dtype=float)
    return float(counts.var() / counts.mean()) if counts.size > 1 and counts.any() else 1.0


def _within(value: float, bounds: tuple[float, float]) -> float:
    return min(max(value, bounds[0]), bounds[1])


def _in_force(pipeline: Pipeline, frames: Sequence[Frame]) -> Allocation:
    """The allocation in force; the highest level of an operator whose level is unknown."""
    allocation = pipeline.most
    for name, held in frames[-1].operators.items() if frames else ():
        if held.share in pipeline.operator(name).shares and held.replicas is not None:
            allocation = allocation.with_(name, Resources(held.share, held.replicas))
    return allocation
