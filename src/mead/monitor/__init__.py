"""From raw readings to what the models need: arrivals, response times in sketches, service demands, overheads."""

from __future__ import annotations

from mead.monitor.arrivals import STAMP_ERROR_US, Arrivals
from mead.monitor.demand import DemandEstimator
from mead.monitor.overhead import OverheadEstimator
from mead.monitor.plausibility import implausible
from mead.monitor.responses import BatchResponses, PathMonitor, monitors
from mead.monitor.sketch import FACTOR, LEAST_S, ResponseSketch

__all__ = [
    "FACTOR",
    "LEAST_S",
    "STAMP_ERROR_US",
    "Arrivals",
    "BatchResponses",
    "DemandEstimator",
    "OverheadEstimator",
    "PathMonitor",
    "ResponseSketch",
    "implausible",
    "monitors",
]
