"""A forecast and queues as in PA-SPS, on a system that has to restart for every change."""

from __future__ import annotations

from math import inf

from mead.policies.options import DabsOptions
from mead.policies.pasps.policy import Outlook, PaSps
from mead.values import Because, Knowledge, Observation, Plan


class Dabs(PaSps):
    """A stand-in for DABS-Storm (Kombi et al., TLDKS 2019), with which the PA-SPS paper compares itself.

    What is known of it: a regression forecasts the input, pending events count, and every change of replicas restarts
    the topology. Its formulas are not in the paper, so those of PA-SPS stand in for them. It raises replicas as soon
    as they are needed, and lowers them only ``hold_down_s`` after the last change, for every restart costs. While a
    restart lasts it waits. The downtime itself is up to the engine (``Conditions.restart``).
    """

    def __init__(self, options: DabsOptions) -> None:
        super().__init__(options)
        self.downtime_s = options.downtime_s
        self._up_s = -inf

    def plan(self, observation: Observation, analysis: Outlook | str, knowledge: Knowledge) -> Plan:
        """The plan of PA-SPS, or none while the restart after the last change takes."""
        if observation.time_s < self._up_s:
            return Plan.keep(observation.allocation, f"the restart takes until {self._up_s:g} s", Because.UNDER_WAY)
        plan = super().plan(observation, analysis, knowledge)
        if plan.allocation != observation.allocation:
            self._up_s = observation.time_s + self.downtime_s
        return plan
