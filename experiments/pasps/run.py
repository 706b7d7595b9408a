"""A system of the PA-SPS paper on one of its scenarios: a run, interval by interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.pasps.metrics import Intervals, Metrics
from experiments.pasps.scenarios import DURATION_S, Scenario
from mead.arrays import FloatArray
from mead.config import choose_policy
from mead.policies import Policy, PolicyOptions, make_policy
from mead.policies.pasps.policy import Outlook, allocate
from mead.queueing import replicas_needed, whole_replicas
from mead.simulator import Conditions, SimulatedRun, run
from mead.values import Knowledge, Observation, Pipeline, Plan

INTERVAL_S = 30.0
"""The paper's td: the interval of decisions and metrics."""


class RecordingPolicy:
    """A policy whose forecasts are recorded."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.name, self.interval_s = policy, policy.name, policy.interval_s
        self.outlooks: dict[float, Outlook] = {}

    def analyze(self, observation: Observation, knowledge: Knowledge) -> Any:
        """Analyze, and record the forecast."""
        analysis = self.policy.analyze(observation, knowledge)
        if isinstance(analysis, Outlook):
            self.outlooks[observation.time_s] = analysis
        return analysis

    def plan(self, observation: Observation, analysis: Any, knowledge: Knowledge) -> Plan:
        """Plan."""
        return self.policy.plan(observation, analysis, knowledge)


@dataclass(frozen=True, eq=False)
class SystemRun:
    """A run of one system."""

    scenario: Scenario
    system: str
    seed: int
    intervals: Intervals = field(repr=False)

    @property
    def metrics(self) -> Metrics:
        """The metrics of the whole run."""
        return Metrics.of(self.intervals, self.scenario.r_over)


def options_of(system: str) -> PolicyOptions:
    """The options of a system by its name, such as ``pasps@predictor=lr`` or ``static@replicas=4``.

    Forecasts must be for the interval of the metrics.
    """
    name, *settings = system.split("@")
    options = choose_policy(None, name, settings)
    if options.forecast_s not in (None, INTERVAL_S):
        raise ValueError(f"{system}: the tables are of intervals of {INTERVAL_S:g} s; leave interval_s out")
    return options


def system_run(scenario: Scenario, system: str, seed: int, duration_s: int = DURATION_S) -> SystemRun:
    """Let a system process a scenario."""
    options = options_of(system)
    recording = RecordingPolicy(make_policy(options))
    trace = scenario.trace(seed, duration_s)
    done = run(scenario.pipeline, trace, recording, seed=seed, conditions=Conditions(restart=options.restart))
    count = int(done.duration_s / INTERVAL_S + 0.05)  # a stream ends with its last arrival, before its time is over
    received = np.histogram(trace.times_s, _bounds_s(count))[0].astype(float)
    processed, latency_s = _departures(done, count)
    foreseen = _foreseen(recording.outlooks, scenario.pipeline, received)
    return SystemRun(
        scenario, system, seed, Intervals(received, processed, latency_s, _replicas(done, count), *foreseen)
    )


def _bounds_s(count: int) -> FloatArray:
    return np.asarray(INTERVAL_S * np.arange(count + 1), dtype=np.float64)


def _departures(done: SimulatedRun, count: int) -> tuple[FloatArray, FloatArray]:
    """Inputs that left in every interval, and how long they had taken.

    What leaves the sinks of a graph that splits and filters is not what came; it is scaled by the tuples that one
    input brings there.
    """
    pipeline = done.pipeline
    sinks = {path.split(">")[-1] for path in pipeline.paths}
    per_input = sum(pipeline.visits[name] for name in sinks)
    responses = [done.simulation.responses(path) for path in pipeline.paths]
    response_s = np.concatenate([one.response_s for one in responses])
    left_s = np.concatenate([one.arrival_s for one in responses]) + response_s
    left = np.histogram(left_s, _bounds_s(count))[0]
    sums_s = np.histogram(left_s, _bounds_s(count), weights=response_s)[0]
    with np.errstate(invalid="ignore"):
        return np.asarray(left / per_input, dtype=np.float64), np.asarray(sums_s / left, dtype=np.float64)


def _replicas(done: SimulatedRun, count: int) -> FloatArray:
    """Active replicas in the middle of every interval; changes come at its start."""
    timeline = done.simulation.timeline
    places = np.searchsorted(timeline.times_s, _bounds_s(count)[:-1] + INTERVAL_S / 2) - 1
    totals = [sum(resources.replicas for resources in allocation.values()) for allocation in timeline.allocations]
    return np.array([totals[place] for place in places], dtype=np.float64)


def _foreseen(
    outlooks: Mapping[float, Outlook], pipeline: Pipeline, received: FloatArray
) -> tuple[FloatArray | None, FloatArray | None, FloatArray | None]:
    """Inputs foreseen, replicas needed and replicas asked for, by interval; None without forecasts."""
    if not outlooks:
        return None, None, None
    inputs, needed, asked = (np.full(received.size, np.nan) for _ in range(3))
    for time_s, outlook in outlooks.items():
        interval = round(time_s / INTERVAL_S)
        if interval < received.size:
            inputs[interval] = outlook.forecast
            needed[interval] = _needed(outlook, pipeline, received[interval])
            asked[interval] = sum(resources.replicas for resources in allocate(outlook, pipeline).values())
    return inputs, needed, asked


def _needed(outlook: Outlook, pipeline: Pipeline, received: float) -> int:
    """Replicas that the outlook would ask for, had it known the arrivals."""
    total = 0
    for operator in pipeline.operators:
        load = outlook.loads[operator.name]
        tuples = received * load.share + load.queued
        total += whole_replicas(replicas_needed(tuples, operator.demand_s, INTERVAL_S), operator.max_replicas)
    return total
