"""Values of the control loop: pipeline, requirement, observation, plan, round."""

from __future__ import annotations

from mead.values.allocation import Allocation, Resources
from mead.values.capacity import Capacity, CutToFit, cut
from mead.values.grounds import Candidate, Grounds
from mead.values.knowledge import Knowledge
from mead.values.observation import (
    COUNT_BIN_S,
    NOTHING_SAMPLED,
    InputReading,
    Observation,
    OperatorReading,
    PathReading,
    SampledTimes,
)
from mead.values.pipeline import DEFAULT_SHARES, Batches, InvalidPipelineError, Operator, Pipeline
from mead.values.plan import Plan, Prediction
from mead.values.reason import Cause, Fact, Move, Note, Reason
from mead.values.requirement import STEP_S, WINDOW_S, Requirement, late_bound_s
from mead.values.round import Round
from mead.values.surprise import surprising, times_predicted

__all__ = [
    "COUNT_BIN_S",
    "DEFAULT_SHARES",
    "NOTHING_SAMPLED",
    "STEP_S",
    "WINDOW_S",
    "Allocation",
    "Batches",
    "Candidate",
    "Capacity",
    "Cause",
    "CutToFit",
    "Fact",
    "Grounds",
    "InputReading",
    "InvalidPipelineError",
    "Knowledge",
    "Move",
    "Note",
    "Observation",
    "Operator",
    "OperatorReading",
    "PathReading",
    "Pipeline",
    "Plan",
    "Prediction",
    "Reason",
    "Requirement",
    "Resources",
    "Round",
    "SampledTimes",
    "cut",
    "late_bound_s",
    "surprising",
    "times_predicted",
]
