"""A pipeline under a policy in virtual time: a session around the simulator."""

from __future__ import annotations

from dataclasses import dataclass, field

from mead.loop import Engine, Mode
from mead.policies import Policy, PolicyOptions
from mead.session import NegotiatedEngine, Observer, Pool, Session, most_within
from mead.simulator.conditions import Conditions
from mead.simulator.metrics import FaultyMetrics, MonitoredSimulation
from mead.simulator.simulation import Simulation
from mead.values import Allocation, Pipeline, Round
from mead.workload.trace import Trace, TraceError

MOST_ROUNDS = 3_000_000
"""The most rounds of a run in virtual time: a month at one per second."""


@dataclass(frozen=True, eq=False)
class SimulatedRun:
    """A run in virtual time. The simulation has been drained: every tuple that arrived has left."""

    policy: str
    pipeline: Pipeline
    duration_s: float
    """The time of arrivals, in which the policy was in control."""
    simulation: Simulation = field(repr=False)
    rounds: list[Round] = field(repr=False)


def simulate(
    session: Session,
    trace: Trace,
    *,
    seed: int,
    conditions: Conditions | None = None,
    metrics: FaultyMetrics | None = None,
    start: Allocation | None = None,
    processors: int | None = None,
) -> SimulatedRun:
    """Run a session for as long as tuples of the trace arrive.

    The run begins with all resources, or with ``start``. With ``processors`` there are only that many, and each
    replica takes one.
    """
    pipeline, options = session.facts.pipeline, session.options
    _check_rounds(trace.duration_s, session.policy.interval_s)
    if processors is not None and start is None:
        start = most_within(pipeline, processors)
    simulation = Simulation(
        pipeline,
        trace,
        seed,
        allocation=start,
        conditions=conditions or Conditions(restart=None if options is None else options.restart),
        kept_iats=session.kept_iats,
        recorded_every=1 if options is None else options.recorded_every,
    )
    engine: Engine = simulation if metrics is None else MonitoredSimulation(simulation, metrics)
    if processors is not None:
        engine = NegotiatedEngine(engine, Pool(processors), simulation.in_force)
    rounds = Rounds()
    session.observers.append(rounds)
    knowledge = simulation.conditions.knowledge(pipeline)
    session.simulate(engine, knowledge, trace.duration_s, simulation.in_force)
    simulation.advance(max(simulation.now_s, trace.duration_s))
    simulation.drain()
    return SimulatedRun(session.policy.name, pipeline, trace.duration_s, simulation, rounds.all)


def _check_rounds(duration_s: float, interval_s: float) -> None:
    """Refuse a run that would take hours because of one long gap, or of a mistaken unit."""
    rounds = duration_s / interval_s
    if rounds > MOST_ROUNDS:
        raise TraceError(
            f"it lasts {duration_s:g} s, which takes {rounds:,.0f} rounds of {interval_s:g} s; at most {MOST_ROUNDS:,} "
            "are simulated. Check the unit and the gaps of the trace, simulate a part of it (--duration), or set "
            "interval_s of the policy"
        )


def run(
    pipeline: Pipeline,
    trace: Trace,
    policy: PolicyOptions | Policy,
    *,
    seed: int,
    mode: Mode = Mode.ACT,
    conditions: Conditions | None = None,
    metrics: FaultyMetrics | None = None,
    start: Allocation | None = None,
    processors: int | None = None,
) -> SimulatedRun:
    """Let a policy control a pipeline in a session without history; see `simulate`."""
    return simulate(
        Session(pipeline, policy, mode=mode),
        trace,
        seed=seed,
        conditions=conditions,
        metrics=metrics,
        start=start,
        processors=processors,
    )


class Rounds(Observer):
    """Keeps every round of a session."""

    def __init__(self) -> None:
        self.all: list[Round] = []

    def round(self, this: Round) -> None:
        """Keep one."""
        self.all.append(this)
