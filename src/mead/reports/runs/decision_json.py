"""The parts of a decision, as all JSON documents have them."""

from __future__ import annotations

from typing import Any

from mead.values import Allocation, Prediction


def allocation_json(allocation: Allocation) -> dict[str, Any]:
    """Share and replicas by operator."""
    return {name: {"share": given.share, "replicas": given.replicas} for name, given in allocation.items()}


def prediction_json(prediction: Prediction) -> dict[str, Any]:
    """What is known of a path's response time; an overloaded one has none."""
    known = {"mean_s": prediction.mean_s, "p95_s": prediction.p95_s}
    return {"stable": prediction.stable, **{name: value for name, value in known.items() if value is not None}}
