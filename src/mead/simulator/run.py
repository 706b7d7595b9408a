"""One policy on one workload in virtual time: the control loop around the simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time

from mead.clock import VirtualClock
from mead.loop import ControlLoop, Engine, Mode
from mead.policies import KEPT_IATS, Policy
from mead.session.negotiation import NegotiatedEngine, Pool, most_within
from mead.simulator.conditions import Conditions
from mead.simulator.metrics import FaultyMetrics, MonitoredSimulation
from mead.simulator.simulation import Simulation
from mead.values import Allocation, Knowledge, Pipeline, Round
from mead.workload import Trace


@dataclass(frozen=True, eq=False)
class Run:
    """What happened. The simulation has been drained: every tuple that arrived has left."""

    policy: str
    pipeline: Pipeline
    duration_s: float
    """The time of arrivals, in which the policy was in control."""
    simulation: Simulation = field(repr=False)
    rounds: list[Round] = field(repr=False)


def run(
    pipeline: Pipeline,
    trace: Trace,
    policy: Policy,
    *,
    seed: int,
    conditions: Conditions | None = None,
    metrics: FaultyMetrics | None = None,
    mode: Mode = Mode.ACT,
    kept_iats: int = KEPT_IATS,
    recorded_every: int = 1,
    start: Allocation | None = None,
    processors: int | None = None,
    every_end: bool = False,
    progress: Callable[[Round], None] = lambda _: None,
) -> Run:
    """Let a policy control a pipeline for as long as tuples of the trace arrive, from all resources or ``start`` on.

    With ``processors``, there are only that many, and each replica takes one: whoever asks for more gets what is left.
    """
    if processors is not None and start is None:
        start = most_within(pipeline, processors)
    simulation = Simulation(
        pipeline,
        trace,
        seed,
        allocation=start,
        conditions=conditions,
        kept_iats=kept_iats,
        recorded_every=recorded_every,
        every_end=every_end,
    )
    engine: Engine = simulation if metrics is None else MonitoredSimulation(simulation, metrics)
    if processors is not None:
        engine = NegotiatedEngine(engine, Pool(processors), simulation.in_force)
    delays_s = [simulation.conditions.share_delay_s]
    if any(operator.max_replicas > operator.min_replicas for operator in pipeline.operators):
        delays_s.append(simulation.conditions.replicas_delay_s)
    knowledge = Knowledge(pipeline, max(delays_s), share_delay_s=simulation.conditions.share_delay_s)
    rounds: list[Round] = []

    def record(this: Round) -> None:
        rounds.append(this)
        progress(this)

    loop = ControlLoop(
        engine,
        policy,
        knowledge,
        VirtualClock(),
        mode=mode,
        start=simulation.in_force,
        record=record,
        cpu_s=process_time,
    )
    loop.run(trace.duration_s)
    simulation.advance(max(simulation.now_s, trace.duration_s))
    simulation.drain()
    return Run(policy.name, pipeline, trace.duration_s, simulation, rounds)
