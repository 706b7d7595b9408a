"""The two applications of the DRS paper (Fu et al. 2017, section V-A) as pipelines of the simulator.

No rates and no demands are published. Those here are chosen so that DRS decides as it does in the paper: a frame per
second loads extractor, matcher and aggregator with 0.225, 0.304 and 0.0016 processors, and 320 tweets per second load
generator, detector and reporter with 3.7, 9.3 and 1.45. Decisions of the paper that come out are consistent with it;
they are no proof. Times in seconds follow from these loads and can be compared with each other, not with the paper's.

No demands lead to the decisions of Fig. 6 and those of Fig. 9 (``experiments.drs.demands``). The video of Fig. 9 has
its own: 0.24 and 0.4 processors for a frame per second, and work that hardly differs from frame to frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mead.arrays import FloatArray, frozen
from mead.policies.drs.facts import Scheduled
from mead.policies.drs.measurer import Measurer
from mead.policies.drs.model import Model, OpenNetwork
from mead.policies.drs.policy import DRSOptions, network_of
from mead.policies.drs.smoothing import MovingAverage
from mead.queueing import Edge
from mead.simulator import Responses, SimulatedRun, Simulation, run
from mead.values import Allocation, Observation, Operator, Pipeline, Plan, Resources
from mead.workload import Poisson, Steps, Trace

K_MAX = 22
"""Executors of the paper's cluster that are left for operators."""

FEATURES = 60
"""Features per frame."""

MATCHES = 4
"""Features of a frame that reach the aggregator."""

CONTENT_SCV = 4.0
"""SCV of the work on a frame, if its features stay together."""

TWEETS_PER_S = 320.0
LEAST_FPS, MOST_FPS = 1.0, 25.0
"""The frame rate is uniform between these: 13 in the mean."""


def _operator(name: str, demand_s: float, scv: float = 1.0) -> Operator:
    return Operator(name, demand_s, scv=scv, shares=(1.0,), max_replicas=K_MAX)


VIDEO = Pipeline(
    "video logo detection",
    [
        _operator("extractor", 0.225),
        _operator("matcher", 0.304 / FEATURES),
        _operator("aggregator", 0.0016 / MATCHES),
    ],
    [Edge("extractor", "matcher", float(FEATURES)), Edge("matcher", "aggregator", MATCHES / FEATURES)],
)
"""Every feature is a tuple, as in the paper: those of a frame reach the matcher all at once."""

VIDEO_FRAMES = Pipeline(
    "video logo detection, frame by frame",
    [
        _operator("extractor", 0.225),
        _operator("matcher", 0.304, scv=CONTENT_SCV),
        _operator("aggregator", 0.0016),
    ],
    [Edge("extractor", "matcher"), Edge("matcher", "aggregator")],
)
"""The features of a frame stay together. For the model it is the same: eq. 4 depends on loads alone."""

STEADY_SCV = 0.1
"""SCV of the work on a frame in Fig. 9: all frames have the same size."""

VIDEO_FIG9 = Pipeline(
    "video logo detection of Fig. 9",
    [
        _operator("extractor", 0.24, scv=STEADY_SCV),
        _operator("matcher", 0.4, scv=STEADY_SCV),
        _operator("aggregator", 0.0016),
    ],
    [Edge("extractor", "matcher"), Edge("matcher", "aggregator")],
)
"""The demands with which DRS decides as in Fig. 9."""

PATTERNS = Pipeline(
    "frequent pattern detection",
    [
        _operator("generator", 3.7 / TWEETS_PER_S),
        _operator("detector", 9.3 * 0.9 / (10 * TWEETS_PER_S)),
        _operator("reporter", 1.45 * 0.9 / (0.5 * TWEETS_PER_S)),
    ],
    [Edge("generator", "detector", 10.0), Edge("detector", "detector", 0.1), Edge("detector", "reporter", 0.05)],
)
"""Ten candidates for every tweet; of those looked at, a tenth changes others: the detector's loop back to itself."""


def frames(duration_s: float, seed: int) -> Trace:
    """Frames at a rate that is drawn anew every second, uniformly; within a second they are Poisson arrivals."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(LEAST_FPS, MOST_FPS, round(duration_s))
    return Steps(rates_per_s=tuple(rates.tolist()), step_s=1.0).generate(rng)


def tweets(duration_s: float, seed: int) -> Trace:
    """Poisson arrivals, as in the paper."""
    return Poisson(rate_per_s=TWEETS_PER_S, duration_s=duration_s).generate(np.random.default_rng(seed))


def allocation(pipeline: Pipeline, processors: Sequence[int]) -> Allocation:
    """An allocation with this many replicas, each on a core of its own."""
    return Allocation.of({o.name: Resources(1.0, k) for o, k in zip(pipeline.operators, processors, strict=True)})


def as_text(processors: Sequence[int] | Allocation) -> str:
    """An allocation as the paper writes it.

    >>> as_text((10, 11, 1))
    '(10:11:1)'
    """
    if isinstance(processors, Allocation):
        processors = [resources.replicas for resources in processors.values()]
    return f"({':'.join(map(str, processors))})"


@dataclass(frozen=True, eq=False)
class FixedRun:
    """A run at one allocation: total sojourn times of all inputs, and what the measurer saw."""

    completions: Responses
    observation: Observation

    @property
    def mean_s(self) -> float:
        """The mean of the sojourn times."""
        return float(self.completions.response_s.mean())

    @property
    def std_s(self) -> float:
        """Standard deviation of the sojourn times."""
        return float(self.completions.response_s.std())


def run_fixed(pipeline: Pipeline, trace: Trace, processors: Sequence[int], seed: int) -> FixedRun:
    """Simulate one allocation until every tuple has left."""
    simulation = Simulation(pipeline, trace, seed, allocation=allocation(pipeline, processors))
    observation = simulation.observe(trace.duration_s)
    simulation.drain()
    return FixedRun(simulation.completions(), observation)


def measured_network(pipeline: Pipeline, observation: Observation, model: Model = Model.MMK) -> OpenNetwork:
    """The network that DRS measures in an observation."""
    measured = Measurer(lambda: MovingAverage(1)).pull(observation, pipeline)
    if measured is None:
        raise ValueError("nothing has arrived")
    return network_of(measured, pipeline, model)


def run_drs(pipeline: Pipeline, trace: Trace, start: Sequence[int], seed: int, options: DRSOptions) -> SimulatedRun:
    """Simulate DRS from a given allocation on."""
    begin = allocation(pipeline, start)
    return run(pipeline, trace, options, seed=seed, start=begin)


@dataclass(frozen=True)
class Event:
    """A re-allocation."""

    minute: float
    processors: tuple[int, ...]
    action: str
    """Scale out, scale in or rebalance."""

    def __str__(self) -> str:
        return f"{self.minute:g}: {as_text(self.processors)}"


def events(done: SimulatedRun) -> tuple[Event, ...]:
    """The re-allocations of a run."""
    found = []
    for this in done.rounds:
        plan, observation = this.plan, this.observation
        if plan is not None and observation is not None and plan.allocation != observation.allocation:
            processors = tuple(resources.replicas for resources in plan.allocation.values())
            found.append(Event(round(this.time_s / 60, 2), processors, _action(plan)))
    return tuple(found)


def _action(plan: Plan) -> str:
    return next(fact.action for fact in plan.reason.facts if isinstance(fact, Scheduled)).replace("_", " ")


def minute_means_s(done: SimulatedRun) -> FloatArray:
    """Mean sojourn times of the inputs that arrived in every minute; NaN where none did."""
    completions = done.simulation.completions()
    minute = (completions.arrival_s // 60).astype(np.int64)
    count = int(np.ceil(done.duration_s / 60))
    sums = np.bincount(minute, completions.response_s, count)
    inputs = np.bincount(minute, minlength=count)
    return frozen(np.divide(sums, inputs, out=np.full(sums.size, np.nan), where=inputs > 0))
