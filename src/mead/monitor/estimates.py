"""Demands and overheads of all operators of a pipeline, learned from its observations."""

from __future__ import annotations

from collections.abc import Mapping

from mead.monitor.demand import DemandEstimator
from mead.monitor.overhead import OverheadEstimator
from mead.values import Allocation, Observation, Pipeline


class CostEstimates:
    """The learned costs of every operator; the declared ones until enough has been observed."""

    def __init__(self, pipeline: Pipeline) -> None:
        operators = pipeline.operators
        self._demands = {o.name: DemandEstimator(o.demand_s) for o in operators}
        self._overheads = {o.name: OverheadEstimator(o.batches.overhead_s) for o in operators if o.batches}
        self._held: Allocation | None = None
        """The allocation of the last observation."""
        self.demands_s: Mapping[str, float] = {}
        self.overheads_s: Mapping[str, float] = {}
        self._sum_up()

    def add(self, observation: Observation) -> None:
        """Learn from a plausible observation."""
        for name, reading in observation.operators.items():
            demand, held = self._demands[name], observation.allocation[name]
            demand.add(observation.time_s, reading.completed, reading.busy_s)
            # After a change of the share, micro-batches end that began under the share before.
            if name in self._overheads and self._held is not None and self._held[name] == held:
                work_s = reading.completed * demand.demand_s / held.cores
                self._overheads[name].add(reading.batches, reading.serving_s, work_s)
        self._held = observation.allocation
        self._sum_up()

    def _sum_up(self) -> None:
        self.demands_s = {name: one.demand_s for name, one in self._demands.items()}
        self.overheads_s = {name: one.overhead_s for name, one in self._overheads.items()}
