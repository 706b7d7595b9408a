"""The virtual-time engine: a pipeline under a recorded or generated trace, tuple by tuple, exactly."""

from __future__ import annotations

from mead.simulator.conditions import Conditions
from mead.simulator.draws import demands_s
from mead.simulator.grouping import Grouping
from mead.simulator.machine import Counters
from mead.simulator.metrics import FaultyMetrics
from mead.simulator.simulated_run import SimulatedRun, run, simulate
from mead.simulator.simulation import Responses, Simulation
from mead.simulator.timeline import Timeline

__all__ = [
    "Conditions",
    "Counters",
    "FaultyMetrics",
    "Grouping",
    "Responses",
    "SimulatedRun",
    "Simulation",
    "Timeline",
    "demands_s",
    "run",
    "simulate",
]
