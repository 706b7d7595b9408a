"""A live run once more in virtual time: the same arrivals, with the demands and overheads that the run has learned.

With the allocations of the run it says how well the model of micro-batches describes Spark. With others it says what
these would have brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mead.arrays import FloatArray
from mead.session.result import LiveResult
from mead.simulator import Simulation
from mead.values import Allocation, Pipeline
from mead.workload import Trace

SEED = 0


def twin(result: LiveResult, arrivals: Path, timeline: Sequence[tuple[float, Allocation]]) -> Mapping[str, FloatArray]:
    """Response times by path under these allocations, each from its time on.

    ``arrivals`` is a file of the run, of which a second passed in one.
    """
    stamps_us = np.load(arrivals, allow_pickle=False)[result.first : result.first + result.tuples]
    trace = Trace.from_timestamps_us(stamps_us - stamps_us[0])
    simulation = Simulation(as_learned(result), trace, SEED)
    for time_s, allocation in timeline:
        simulation.advance(min(time_s, trace.duration_s))
        simulation.apply(allocation)
    simulation.advance(trace.duration_s)
    simulation.drain()
    return {path: simulation.responses(path).response_s for path in result.pipeline.paths}


def as_learned(result: LiveResult) -> Pipeline:
    """The pipeline with what the run has learned of it."""
    return result.pipeline.with_demands(result.demands_s, result.overheads_s)
