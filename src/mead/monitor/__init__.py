"""Estimates from raw readings: arrivals, response times, demands and overheads."""

from __future__ import annotations

from mead.monitor.arrivals import STAMP_ERROR_US, Arrivals
from mead.monitor.estimates import CostEstimates
from mead.monitor.plausibility import implausible
from mead.monitor.responses import BatchResponses, PathMonitor, monitors
from mead.monitor.sketch import FACTOR, LEAST_S, ResponseSketch
from mead.monitor.trees import TreeMonitor

__all__ = [
    "FACTOR",
    "LEAST_S",
    "STAMP_ERROR_US",
    "Arrivals",
    "BatchResponses",
    "CostEstimates",
    "PathMonitor",
    "ResponseSketch",
    "TreeMonitor",
    "implausible",
    "monitors",
]
