"""A system of the PA-SPS paper on one of its scenarios: a run, interval by interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from experiments.pasps.metrics import Intervals, Metrics
from experiments.pasps.scenarios import DURATION_S, Scenario
from mead.arrays import FloatArray
from mead.config import choose_policy
from mead.policies import Policy, PolicyOptions, make_policy
from mead.policies.pasps.policy import Outlook, allocate
from mead.queueing import replicas_needed, whole_replicas
from mead.simulator import Conditions, Counters, Grouping, SimulatedRun, run
from mead.values import Knowledge, Observation, Pipeline, Plan

INTERVAL_S = 30.0
"""The paper's td: the interval of decisions and metrics."""

QUEUE_SIZE = 100_000
"""The paper's q_size, of every queue here."""

TIMEOUT_S = 30.0
"""The paper's t_out. The operators of the authors' adaptive application drop a tuple of that age, without work. Those
of the application with a fixed number of replicas do not; its mean latency in Table 3 is 197 s."""

GroupingName: TypeAlias = Literal["shared", "storm", "load_aware", "load_aware_30s"]
GROUPINGS: Mapping[GroupingName, Grouping | None] = {
    "shared": None,
    "storm": Grouping("round_robin"),
    "load_aware": Grouping("least_utilised", interval_s=1.0),
    "load_aware_30s": Grouping("least_utilised", interval_s=INTERVAL_S),
}
"""One queue for all replicas; a queue each with Storm's shuffle, or with Algorithm 1 of the paper. Its loads are
measured every second, as in the authors' program, or every interval, as the paper has it."""

ADAPTIVE = ("pasps", "psps")
"""Policies that stand for the authors' adaptive application."""


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
    counters: Counters = field(repr=False)

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


def grouping_of(system: str) -> GroupingName:
    """The grouping that the paper's tables have for a system."""
    return "load_aware" if options_of(system).name in ADAPTIVE else "storm"


def conditions_of(system: str, pipeline: Pipeline, grouping: GroupingName) -> Conditions:
    """The engine under a system: queues, time-outs, restarts."""
    options, chosen = options_of(system), GROUPINGS[grouping]
    return Conditions(
        groupings={} if chosen is None else {operator.name: chosen for operator in pipeline.operators},
        queue_size=QUEUE_SIZE,
        timeout_s=TIMEOUT_S if options.name in ADAPTIVE else inf,
        restart=options.restart,
    )


def system_run(
    scenario: Scenario,
    system: str,
    seed: int,
    duration_s: int = DURATION_S,
    grouping: GroupingName | None = None,
) -> SystemRun:
    """Let a system process a scenario; with the grouping of the paper's tables, unless one is given."""
    recording = RecordingPolicy(make_policy(options_of(system)))
    trace = scenario.trace(seed, duration_s)
    conditions = conditions_of(system, scenario.pipeline, grouping or grouping_of(system))
    done = run(scenario.pipeline, trace, recording, seed=seed, conditions=conditions)
    count = int(done.duration_s / INTERVAL_S + 0.05)  # a stream ends with its last arrival, before its time is over
    received = np.histogram(trace.times_s, _bounds_s(count))[0].astype(float)
    processed, latency_s = _departures(done, count)
    foreseen = _foreseen(recording.outlooks, scenario.pipeline, received)
    replicas = _replicas(done, count)
    intervals = Intervals(received, processed, latency_s, replicas, *foreseen, busy_cores=_busy_cores(done))
    return SystemRun(scenario, system, seed, intervals, done.simulation.counters)


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


def _busy_cores(done: SimulatedRun) -> float:
    """Cores that worked on tuples, up to the last round."""
    readings = [one.observation for one in done.rounds if one.observation is not None]
    busy_s = sum(operator.busy_s for reading in readings for operator in reading.operators.values())
    return busy_s / readings[-1].time_s


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
